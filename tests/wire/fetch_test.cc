// Fetch: whole batches, limits, long polls, sessions, topic ids, and the errors of wrong offsets and epochs (kafka.md's
// traps 4, 5, 22).
#include <chrono>

#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/fetch.h"
#include "services/kafka/messages/metadata.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

using kafka::FetchRequest;
using kafka::FetchResponse;

// Longer than any receive waits: who waits it out fails.
constexpr std::int32_t kForEverMs = 600'000;

class Fetch : public WireTest {
 protected:
  static FetchRequest ask_for(std::vector<std::pair<std::string_view, std::int32_t>> partitions, Offset offset = 0) {
    FetchRequest request{.max_bytes = 50 << 20};
    for (const auto& [topic, partition] : partitions) {
      if (request.topics.empty() || request.topics.back().topic != topic) request.topics.push_back({.topic = topic});
      request.topics.back().partitions.push_back(
          {.partition = partition, .fetch_offset = offset, .partition_max_bytes = 1 << 20});
    }
    return request;
  }
  static std::size_t records_size(const FetchResponse::PartitionData& data) {
    return data.records.bytes.value_or(Bytes{}).size();
  }
};

TEST_F(Fetch, InsideABatchReturnsTheWholeBatch) {
  const std::string topic = fresh("inside");
  make_topic(client, topic);
  const std::string sent = batch_of({"a", "b", "c", "d"});
  ASSERT_EQ(produce(client, topic, sent).error, ErrorCode::NONE);
  ASSERT_EQ(produce(client, topic, batch_of({"e"})).error, ErrorCode::NONE);
  for (Offset offset = 0; offset < 4; ++offset) {
    const Fetched fetched = fetch(client, topic, offset);
    EXPECT_EQ(fetched.high_watermark, 5);
    EXPECT_EQ(values_of(fetched.records), (std::vector<std::string>{"a", "b", "c", "d", "e"})) << offset;
  }
  EXPECT_EQ(values_of(fetch(client, topic, 4).records), std::vector<std::string>{"e"});
  EXPECT_EQ(fetch(client, topic, 5).records, "");
}

// KIP-74: or a record larger than the limit would stop a consumer for ever.
TEST_F(Fetch, TheFirstBatchComesWholeWhateverTheLimits) {
  const std::string topic = fresh("limits");
  make_topic(client, topic);
  const std::string batch = batch_of({std::string(10'000, 'x')});
  for (int i = 0; i < 3; ++i) ASSERT_EQ(produce(client, topic, batch).error, ErrorCode::NONE);
  for (const std::int32_t limit : {0, 1, 100, 9'999}) {
    EXPECT_EQ(fetch(client, topic, 0, {.max_bytes = limit}).records.size(), batch.size()) << limit;
    EXPECT_EQ(fetch(client, topic, 1, {.partition_max_bytes = limit}).records.size(), batch.size()) << limit;
  }
  const auto two = fetch(client, topic, 0, {.partition_max_bytes = static_cast<std::int32_t>(2 * batch.size())});
  EXPECT_EQ(two.records.size(), 2 * batch.size());
  // Negative limits are as good as none.
  EXPECT_EQ(fetch(client, topic, 0, {.max_bytes = -5, .partition_max_bytes = -5}).records.size(), batch.size());
}

TEST_F(Fetch, LaterPartitionsGetOnlyWhatIsLeft) {
  const std::string topic = fresh("shared-limit");
  make_topic(client, topic, 4);
  const std::string batch = batch_of({std::string(1'000, 'x')});
  for (std::int32_t p = 1; p < 4; ++p) {
    for (int i = 0; i < 3; ++i) ASSERT_EQ(produce(client, topic, batch, p).error, ErrorCode::NONE);
  }
  FetchRequest request = ask_for({{topic, 0}, {topic, 1}, {topic, 2}, {topic, 3}});
  request.max_bytes = static_cast<std::int32_t>(4 * batch.size() + 10);
  const auto answer = client.call<FetchResponse>(request, kFetchVersion);
  ASSERT_EQ(answer->responses.size(), 1u);
  const auto& partitions = answer->responses[0].partitions;
  ASSERT_EQ(partitions.size(), 4u);
  EXPECT_EQ(records_size(partitions[0]), 0u);
  EXPECT_EQ(records_size(partitions[1]), 3 * batch.size());
  EXPECT_GE(records_size(partitions[2]), batch.size());
  EXPECT_LT(records_size(partitions[2]), 2 * batch.size());
  EXPECT_EQ(records_size(partitions[3]), 0u);
  // One above the limit comes whole if it is the first with records; the others then get nothing.
  request.max_bytes = 1;
  const auto least = client.call<FetchResponse>(request, kFetchVersion);
  ASSERT_EQ(least->responses[0].partitions.size(), 4u);
  EXPECT_EQ(records_size(least->responses[0].partitions[1]), batch.size());
  EXPECT_EQ(records_size(least->responses[0].partitions[2]) + records_size(least->responses[0].partitions[3]), 0u);
}

TEST_F(Fetch, OffsetsOutsideTheLogAreOutOfRange) {
  const std::string topic = fresh("range");
  make_topic(client, topic);
  ASSERT_EQ(produce(client, topic, batch_of({"a", "b"})).error, ErrorCode::NONE);
  EXPECT_EQ(fetch(client, topic, 2).error, ErrorCode::NONE);
  for (const Offset offset : {Offset{3}, Offset{-1}, Offset{-2}, Offset{1} << 40, kafka::kInt64Max}) {
    const Fetched fetched = fetch(client, topic, offset, {.max_wait_ms = kForEverMs, .min_bytes = 1});
    EXPECT_EQ(fetched.error, ErrorCode::OFFSET_OUT_OF_RANGE) << offset;
    EXPECT_EQ(fetched.records, "");
  }
}

TEST_F(Fetch, UnknownPartitionsAndEpochsAreErrorsOfThePartition) {
  const std::string topic = fresh("errors");
  make_topic(client, topic);
  EXPECT_EQ(fetch(client, "nobody-made-this", 0).error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(fetch(client, topic, 0, {.partition = 1}).error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(fetch(client, topic, 0, {.partition = -1}).error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(fetch(client, topic, 0, {.leader_epoch = 0}).error, ErrorCode::NONE);
  EXPECT_EQ(fetch(client, topic, 0, {.leader_epoch = 1000}).error, ErrorCode::UNKNOWN_LEADER_EPOCH);
}

TEST_F(Fetch, VersionsBefore13NameTopicsAndTheOldestServedWorks) {
  const std::string topic = fresh("old");
  make_topic(client, topic);
  const std::string batch = batch_of({"a"});
  ASSERT_EQ(produce(client, topic, batch).error, ErrorCode::NONE);
  for (std::int16_t version = 4; version <= 12; ++version) {
    EXPECT_EQ(values_of(fetch(client, topic, 0, {.version = version}).records), std::vector<std::string>{"a"})
        << version;
  }
}

// -- Long polls ----------------------------------------------------------------------------------------------------

TEST_F(Fetch, WithoutMinBytesIsAnsweredAtOnce) {
  const std::string topic = fresh("poll-none");
  make_topic(client, topic);
  const Fetched fetched = fetch(client, topic, 0, {.max_wait_ms = kForEverMs, .min_bytes = 0});
  EXPECT_EQ(fetched.error, ErrorCode::NONE);
  EXPECT_EQ(fetched.high_watermark, 0);
}

TEST_F(Fetch, OfNoPartitionIsAnsweredAtOnce) {
  FetchRequest request{.max_wait_ms = kForEverMs, .min_bytes = 1};
  EXPECT_TRUE(client.call<FetchResponse>(request, kFetchVersion)->responses.empty());
}

TEST_F(Fetch, IsAnsweredEmptyWhenItsTimeIsOver) {
  const std::string topic = fresh("poll-time");
  make_topic(client, topic);
  constexpr std::int32_t kWaitMs = 150;
  const auto start = std::chrono::steady_clock::now();
  const Fetched fetched = fetch(client, topic, 0, {.max_wait_ms = kWaitMs, .min_bytes = 1});
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(kWaitMs));
  EXPECT_EQ(fetched.error, ErrorCode::NONE);
  EXPECT_EQ(fetched.records, "");
}

TEST_F(Fetch, NewRecordsWakeIt) {
  const std::string topic = fresh("poll-wake");
  make_topic(client, topic, 3);
  FetchRequest request = ask_for({{topic, 0}, {topic, 1}, {topic, 2}});
  request.max_wait_ms = kForEverMs;
  request.min_bytes = 1;
  const std::int32_t id = client.ask(request, kFetchVersion);
  Client producer(node().port());
  ASSERT_EQ(produce(producer, topic, batch_of({"wake"}), 1).error, ErrorCode::NONE);
  const auto answer = client.hear<FetchResponse>(kFetchVersion, id);
  ASSERT_EQ(answer->responses.size(), 1u);
  ASSERT_EQ(answer->responses[0].partitions.size(), 3u);
  EXPECT_EQ(values_of(as_text(*answer->responses[0].partitions[1].records.bytes)), std::vector<std::string>{"wake"});
}

TEST_F(Fetch, WaitsUntilThereAreMinBytes) {
  const std::string topic = fresh("poll-min");
  make_topic(client, topic);
  const std::string batch = batch_of({std::string(1'000, 'x')});
  FetchRequest request = ask_for({{topic, 0}});
  request.max_wait_ms = kForEverMs;
  request.min_bytes = static_cast<std::int32_t>(3 * batch.size());
  const std::int32_t id = client.ask(request, kFetchVersion);
  Client producer(node().port());
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(produce(producer, topic, batch).error, ErrorCode::NONE);
    EXPECT_EQ(log_end(producer, topic), i + 1);
    EXPECT_TRUE(client.is_silent());
  }
  ASSERT_EQ(produce(producer, topic, batch).error, ErrorCode::NONE);
  const auto answer = client.hear<FetchResponse>(kFetchVersion, id);
  ASSERT_EQ(answer->responses.size(), 1u);
  EXPECT_EQ(records_size(answer->responses[0].partitions[0]), 3 * batch.size());
}

TEST_F(Fetch, AnErrorInOnePartitionEndsTheWait) {
  const std::string topic = fresh("poll-error");
  make_topic(client, topic);
  FetchRequest request = ask_for({{topic, 0}, {topic, 7}});
  request.max_wait_ms = kForEverMs;
  request.min_bytes = 1;
  const auto answer = client.call<FetchResponse>(request, kFetchVersion);
  ASSERT_EQ(answer->responses.size(), 1u);
  EXPECT_EQ(answer->responses[0].partitions[0].error_code, 0);
  EXPECT_EQ(answer->responses[0].partitions[1].error_code, kafka::wire(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
}

TEST_F(Fetch, TheDeletionOfItsTopicEndsTheWait) {
  const std::string topic = fresh("poll-delete");
  make_topic(client, topic);
  FetchRequest request = ask_for({{topic, 0}});
  request.max_wait_ms = kForEverMs;
  request.min_bytes = 1;
  const std::int32_t id = client.ask(request, kFetchVersion);
  Client admin(node().port());
  const auto deleted = admin.call<kafka::DeleteTopicsResponse>(
      kafka::DeleteTopicsRequest{.topic_names = {topic}, .timeout_ms = 30'000}, 5);
  ASSERT_EQ(deleted->responses.at(0).error_code, 0);
  const auto answer = client.hear<FetchResponse>(kFetchVersion, id);
  ASSERT_EQ(answer->responses.size(), 1u);
  const auto error = static_cast<ErrorCode>(answer->responses[0].partitions[0].error_code);
  EXPECT_TRUE(error == ErrorCode::NOT_LEADER_OR_FOLLOWER || error == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
      << kafka::error_name(error);
}

TEST_F(Fetch, WhoGoesAwayWhileWaitingLeavesNothingBehind) {
  const std::string topic = fresh("poll-gone");
  make_topic(client, topic);
  const std::uint64_t connections = node().counter("broker", "connections");
  const std::uint64_t waited = node().counter("broker", "fetch_requests_that_waited");
  FetchRequest request = ask_for({{topic, 0}});
  request.max_wait_ms = 1'000;
  request.min_bytes = 1;
  constexpr std::uint64_t kClients = 20;
  {
    std::vector<std::unique_ptr<Client>> clients;
    for (std::uint64_t i = 0; i < kClients; ++i) {
      clients.push_back(std::make_unique<Client>(node().port()));
      clients.back()->ask(request, kFetchVersion);
    }
    EXPECT_TRUE(
        eventually([&] { return node().counter("broker", "fetch_requests_that_waited") == waited + kClients; }));
  }
  EXPECT_TRUE(eventually([&] { return node().counter("broker", "connections") <= connections; }));
  EXPECT_EQ(produce(client, topic, batch_of({"after"})).error, ErrorCode::NONE);
}

// -- Sessions (KIP-227) --------------------------------------------------------------------------------------------

TEST_F(Fetch, ASessionTellsOnlyWhatIsNew) {
  const std::string topic = fresh("session");
  make_topic(client, topic, 3);
  FetchRequest first = ask_for({{topic, 0}, {topic, 1}, {topic, 2}});
  first.session_epoch = 0;
  const auto full = client.call<FetchResponse>(first, kFetchVersion);
  const std::int32_t session = full->session_id;
  ASSERT_GT(session, 0);
  ASSERT_EQ(full->responses.size(), 1u);
  EXPECT_EQ(full->responses[0].partitions.size(), 3u);

  FetchRequest next{.session_id = session, .session_epoch = 1};
  const auto nothing = client.call<FetchResponse>(next, kFetchVersion);
  EXPECT_EQ(nothing->session_id, session);
  EXPECT_TRUE(nothing->responses.empty());

  ASSERT_EQ(produce(client, topic, batch_of({"new"}), 2).error, ErrorCode::NONE);
  next.session_epoch = 2;
  const auto one = client.call<FetchResponse>(next, kFetchVersion);
  ASSERT_EQ(one->responses.size(), 1u);
  ASSERT_EQ(one->responses[0].partitions.size(), 1u);
  EXPECT_EQ(one->responses[0].partitions[0].partition_index, 2);
  EXPECT_EQ(values_of(as_text(*one->responses[0].partitions[0].records.bytes)), std::vector<std::string>{"new"});

  // The client has read it, and forgets another partition.
  next = ask_for({{topic, 2}}, 1);
  next.session_id = session;
  next.session_epoch = 3;
  next.forgotten_topics_data = {{.topic = topic, .partitions = {0}}};
  EXPECT_TRUE(client.call<FetchResponse>(next, kFetchVersion)->responses.empty());
  ASSERT_EQ(produce(client, topic, batch_of({"forgotten"}), 0).error, ErrorCode::NONE);
  next = FetchRequest{.session_id = session, .session_epoch = 4};
  EXPECT_TRUE(client.call<FetchResponse>(next, kFetchVersion)->responses.empty());
}

TEST_F(Fetch, ASessionThatIsNotThereAndAnEpochThatIsNotDueAreErrorsOfTheRequest) {
  const std::string topic = fresh("session-errors");
  make_topic(client, topic);
  const auto error_of = [&](std::int32_t session, std::int32_t epoch, std::int16_t version = kFetchVersion) {
    const auto answer =
        client.call<FetchResponse>(FetchRequest{.session_id = session, .session_epoch = epoch}, version);
    EXPECT_TRUE(answer->responses.empty());
    return static_cast<ErrorCode>(answer->error_code);
  };
  FetchRequest first = ask_for({{topic, 0}});
  first.session_epoch = 0;
  const std::int32_t session = client.call<FetchResponse>(first, kFetchVersion)->session_id;
  EXPECT_EQ(error_of(session == 12345 ? 12346 : 12345, 1), ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(error_of(0, 1), ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
  EXPECT_EQ(error_of(session, 2), ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(error_of(session, 1), ErrorCode::NONE);
  EXPECT_EQ(error_of(session, 1), ErrorCode::INVALID_FETCH_SESSION_EPOCH);
  EXPECT_EQ(error_of(session, 2, 13), ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
  EXPECT_EQ(error_of(session, -1), ErrorCode::NONE);  // the end of the session
  EXPECT_EQ(error_of(session, 2), ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
}

TEST_F(Fetch, ASessionWaitsAndIsWoken) {
  const std::string topic = fresh("session-wait");
  make_topic(client, topic, 2);
  FetchRequest first = ask_for({{topic, 0}, {topic, 1}});
  first.session_epoch = 0;
  const std::int32_t session = client.call<FetchResponse>(first, kFetchVersion)->session_id;
  FetchRequest next{.max_wait_ms = kForEverMs, .min_bytes = 1, .session_id = session, .session_epoch = 1};
  const std::int32_t id = client.ask(next, kFetchVersion);
  Client producer(node().port());
  ASSERT_EQ(produce(producer, topic, batch_of({"woken"}), 1).error, ErrorCode::NONE);
  const auto answer = client.hear<FetchResponse>(kFetchVersion, id);
  ASSERT_EQ(answer->responses.size(), 1u);
  ASSERT_EQ(answer->responses[0].partitions.size(), 1u);
  EXPECT_EQ(answer->responses[0].partitions[0].partition_index, 1);
}

// -- Topic ids (KIP-516) -------------------------------------------------------------------------------------------

TEST_F(Fetch, Version13NamesTopicsById) {
  const std::string topic = fresh("by-id");
  const Uuid id = make_topic(client, topic);
  ASSERT_EQ(produce(client, topic, batch_of({"by id"})).error, ErrorCode::NONE);
  Uuid unknown = id;
  unknown.bytes[0] ^= 0x55;
  for (std::int16_t version = 13; version <= 17; ++version) {
    FetchRequest request{.max_wait_ms = kForEverMs, .min_bytes = 1 << 20};
    request.topics.push_back({.topic_id = id, .partitions = {{.partition = 0, .partition_max_bytes = 1 << 20}}});
    request.topics.push_back({.topic_id = unknown, .partitions = {{.partition = 0, .partition_max_bytes = 1 << 20}}});
    request.topics.push_back({.topic_id = {}, .partitions = {{.partition = 0, .partition_max_bytes = 1 << 20}}});
    const auto answer = client.call<FetchResponse>(request, version);
    ASSERT_EQ(answer->responses.size(), 3u);
    EXPECT_EQ(answer->responses[0].topic_id, id);
    EXPECT_EQ(values_of(as_text(*answer->responses[0].partitions[0].records.bytes)), std::vector<std::string>{"by id"});
    EXPECT_EQ(answer->responses[1].topic_id, unknown);
    EXPECT_EQ(answer->responses[1].partitions[0].error_code, kafka::wire(ErrorCode::UNKNOWN_TOPIC_ID));
    EXPECT_EQ(answer->responses[2].partitions[0].error_code, kafka::wire(ErrorCode::UNKNOWN_TOPIC_ID));
  }
}

}  // namespace
}  // namespace tailrace::wire
