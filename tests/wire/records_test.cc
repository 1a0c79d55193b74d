// Records that go: DeleteRecords and retention; and what admin clients ask about logs: DescribeLogDirs and
// DescribeProducers.
#include <filesystem>
#include <fstream>

#include "services/kafka/messages/delete_records.h"
#include "services/kafka/messages/describe_log_dirs.h"
#include "services/kafka/messages/describe_producers.h"
#include "services/kafka/messages/fetch.h"
#include "services/kafka/messages/incremental_alter_configs.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

constexpr std::int16_t kDeleteRecordsVersion = 2;
constexpr TimestampMs kEarliest = -2;

struct Deleted {
  ErrorCode error = ErrorCode::NONE;
  std::int64_t low_watermark = 0;
  friend bool operator==(const Deleted&, const Deleted&) = default;
};
Deleted delete_records(Client& client, const std::string& topic, Offset offset, std::int32_t partition = 0,
                       std::int16_t version = kDeleteRecordsVersion, std::int32_t timeout_ms = 30'000) {
  kafka::DeleteRecordsRequest request;
  request.timeout_ms = timeout_ms;
  auto& asked = request.topics.emplace_back();
  asked.name = topic;
  asked.partitions.push_back({.partition_index = partition, .offset = offset});
  const auto answer = client.call<kafka::DeleteRecordsResponse>(request, version);
  if (answer->topics.size() != 1 || answer->topics[0].partitions.size() != 1) return {ErrorCode::NETWORK_EXCEPTION, 0};
  const auto& result = answer->topics[0].partitions[0];
  EXPECT_EQ(answer->topics[0].name, topic);
  EXPECT_EQ(result.partition_index, partition);
  return {static_cast<ErrorCode>(result.error_code), result.low_watermark};
}

class Records : public WireTest {
 protected:
  std::string topic_with(const std::string& what, int records, const Configs& configs = {}) {
    const std::string topic = fresh(what);
    make_topic(client, topic, 1, configs);
    for (int i = 0; i < records; ++i) {
      record::BatchBuilder builder;
      EXPECT_TRUE(builder.add(now_ms(), as_bytes("key"), as_bytes("value")));
      EXPECT_EQ(produce(client, topic, as_text(*builder.finish())).error, ErrorCode::NONE);
    }
    return topic;
  }
};

// Every answer is one that Kafka 4.4 has given.
TEST_F(Records, DeletedOnesAreGoneForEverybody) {
  const std::string topic = topic_with("deleted", 5);
  EXPECT_EQ(delete_records(client, topic, 3, 0, 0), (Deleted{ErrorCode::NONE, 3}));
  EXPECT_EQ(delete_records(client, topic, 2, 0, 1), (Deleted{ErrorCode::NONE, 3}));
  EXPECT_EQ(list_offset(client, topic, kEarliest).offset, 3);
  EXPECT_EQ(fetch(client, topic, 2).error, ErrorCode::OFFSET_OUT_OF_RANGE);
  const Fetched fetched = fetch(client, topic, 3);
  EXPECT_EQ(fetched.error, ErrorCode::NONE);
  EXPECT_EQ(fetched.log_start, 3);
  EXPECT_EQ(delete_records(client, topic, 9), (Deleted{ErrorCode::OFFSET_OUT_OF_RANGE, -1}));
  EXPECT_EQ(delete_records(client, topic, -2), (Deleted{ErrorCode::OFFSET_OUT_OF_RANGE, -1}));
  EXPECT_EQ(delete_records(client, topic, -1, 0, 2, 0), (Deleted{ErrorCode::NONE, 5})) << "no time is time enough";
  EXPECT_EQ(fetch(client, topic, 5).error, ErrorCode::NONE);
  EXPECT_EQ(log_end(client, topic), 5);
}

TEST_F(Records, ThatCannotBeDeleted) {
  const std::string compacted = topic_with("compacted", 2, {{"cleanup.policy", "compact"}});
  EXPECT_EQ(delete_records(client, compacted, 1), (Deleted{ErrorCode::POLICY_VIOLATION, -1}));
  EXPECT_EQ(delete_records(client, compacted, 99), (Deleted{ErrorCode::POLICY_VIOLATION, -1}));
  const std::string both = topic_with("both", 2, {{"cleanup.policy", "compact,delete"}});
  EXPECT_EQ(delete_records(client, both, 1), (Deleted{ErrorCode::NONE, 1}));
  EXPECT_EQ(delete_records(client, both, 1, 7), (Deleted{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1}));
  EXPECT_EQ(delete_records(client, "no-such-topic", 1), (Deleted{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1}));
}

TEST_F(Records, AnAnsweredDeletionSurvivesTheEngine) {
  const std::string topic = topic_with("survives", 4);
  EXPECT_EQ(delete_records(client, topic, 2), (Deleted{ErrorCode::NONE, 2}));
  node().kill("engine");
  accept_new_processes();
  EXPECT_TRUE(eventually([&] { return list_offset(client, topic, kEarliest).error == ErrorCode::NONE; }));
  EXPECT_EQ(list_offset(client, topic, kEarliest).offset, 2);
  EXPECT_EQ(fetch(client, topic, 1).error, ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(log_end(client, topic), 4);
}

TEST_F(Records, AFetchThatWaitsForMoreBehindDeletedOnesIsAnswered) {
  constexpr std::int16_t kVersion = 12;
  const std::string topic = topic_with("waits", 4);
  kafka::FetchRequest request;
  request.max_wait_ms = 600'000;
  request.min_bytes = 1 << 20;
  request.max_bytes = 1 << 20;
  kafka::FetchRequest::FetchTopic asked{.topic = topic};
  asked.partitions.emplace_back();
  asked.partitions[0].fetch_offset = 1;
  asked.partitions[0].partition_max_bytes = 1 << 20;
  request.topics.push_back(std::move(asked));
  Client waiting(node().port());
  const std::uint64_t waits = node().counter("broker", "fetch_requests_that_waited");
  const std::int32_t id = waiting.ask(request, kVersion);
  ASSERT_TRUE(eventually([&] { return node().counter("broker", "fetch_requests_that_waited") > waits; }));
  EXPECT_EQ(delete_records(client, topic, 3), (Deleted{ErrorCode::NONE, 3}));
  const auto answer = waiting.hear<kafka::FetchResponse>(kVersion, id);
  ASSERT_EQ(answer->responses.size(), 1u);
  EXPECT_EQ(static_cast<ErrorCode>(answer->responses[0].partitions.at(0).error_code), ErrorCode::OFFSET_OUT_OF_RANGE);
}

kafka::DescribeLogDirsRequest about(const std::vector<std::pair<std::string_view, std::vector<std::int32_t>>>& topics) {
  kafka::DescribeLogDirsRequest request;
  request.topics.emplace();
  for (const auto& [topic, partitions] : topics) request.topics->push_back({.topic = topic, .partitions = partitions});
  return request;
}

TEST_F(Records, TheDirectoryTheyLieInIsDescribed) {
  const std::string topic = fresh("sizes");
  make_topic(client, topic, 3);
  const std::string batch = batch_of({"one", "two"});
  ASSERT_EQ(produce(client, topic, batch, 1).error, ErrorCode::NONE);
  for (std::int16_t version = 0; version <= 5; ++version) {
    const auto answer =
        client.call<kafka::DescribeLogDirsResponse>(about({{topic, {1, 0, 1, 9}}, {"no-such-topic", {0}}}), version);
    ASSERT_EQ(answer->results.size(), 1u);
    EXPECT_EQ(answer->error_code, 0);
    const auto& result = answer->results[0];
    EXPECT_EQ(result.error_code, 0);
    EXPECT_EQ(result.log_dir, std::filesystem::absolute(node().data()).string());
    if (version >= 4) {
      EXPECT_GT(result.total_bytes, 0);
      EXPECT_GT(result.usable_bytes, 0);
      EXPECT_LE(result.usable_bytes, result.total_bytes);
    }
    EXPECT_FALSE(result.is_cordoned);
    ASSERT_EQ(result.topics.size(), 1u);
    EXPECT_EQ(result.topics[0].name, topic);
    ASSERT_EQ(result.topics[0].partitions.size(), 2u);
    const auto& written = result.topics[0].partitions[1];
    EXPECT_EQ(written.partition_index, 1) << "in order";
    EXPECT_EQ(written.partition_size, static_cast<std::int64_t>(batch.size()));
    EXPECT_EQ(written.offset_lag, 0);
    EXPECT_FALSE(written.is_future_key);
    EXPECT_EQ(result.topics[0].partitions[0].partition_size, 0);
  }
  const auto none = client.call<kafka::DescribeLogDirsResponse>(about({}), std::int16_t{4});
  ASSERT_EQ(none->results.size(), 1u);
  EXPECT_TRUE(none->results[0].topics.empty());
}

TEST_F(Records, TheSizesOfManyPartitionsAreAllTold) {
  const std::string topic = fresh("many");
  make_topic(client, topic, 300);
  const auto answer = client.call<kafka::DescribeLogDirsResponse>(kafka::DescribeLogDirsRequest{}, std::int16_t{4});
  ASSERT_EQ(answer->results.size(), 1u);
  std::size_t found = 0;
  for (const auto& each : answer->results[0].topics) {
    if (each.name == topic) found += each.partitions.size();
  }
  EXPECT_EQ(found, 300u);
}

TEST_F(Records, WhoHasWrittenThemIsDescribed) {
  const std::string topic = topic_with("producers", 1);
  for (ProducerId id = 0; id < 250; ++id) {
    const std::string batch =
        batch_of({"a", "b"}, {.producer_id = 5000 + id, .producer_epoch = 3, .base_sequence = 0}, 777'000 + id);
    ASSERT_EQ(produce(client, topic, batch).error, ErrorCode::NONE);
  }
  kafka::DescribeProducersRequest request;
  request.topics.push_back({.name = topic, .partition_indexes = {0, 4}});
  request.topics.push_back({.name = "no-such-topic", .partition_indexes = {0}});
  const auto answer = client.call<kafka::DescribeProducersResponse>(request, std::int16_t{0});
  ASSERT_EQ(answer->topics.size(), 2u);
  ASSERT_EQ(answer->topics[0].partitions.size(), 2u);
  const auto& known = answer->topics[0].partitions[0];
  EXPECT_EQ(known.error_code, 0);
  EXPECT_FALSE(known.error_message.has_value());
  ASSERT_EQ(known.active_producers.size(), 250u);
  const auto& producer = known.active_producers[249];
  EXPECT_EQ(producer.producer_id, 5249);
  EXPECT_EQ(producer.producer_epoch, 3);
  EXPECT_EQ(producer.last_sequence, 1);
  EXPECT_EQ(producer.last_timestamp, 777'249);
  EXPECT_EQ(producer.coordinator_epoch, -1);
  EXPECT_EQ(producer.current_txn_start_offset, -1);
  for (const auto& unknown : {answer->topics[0].partitions[1], answer->topics[1].partitions[0]}) {
    EXPECT_EQ(static_cast<ErrorCode>(unknown.error_code), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    EXPECT_TRUE(unknown.active_producers.empty());
  }
  // A short request gets no boundless answer.
  kafka::DescribeProducersRequest again;
  again.topics.push_back({.name = topic, .partition_indexes = {0, 0}});
  again.topics.push_back({.name = topic, .partition_indexes = {0}});
  const auto once = client.call<kafka::DescribeProducersResponse>(again, std::int16_t{0});
  EXPECT_EQ(once->topics.at(0).partitions.at(0).active_producers.size(), 250u);
  for (const auto& repeated : {once->topics.at(0).partitions.at(1), once->topics.at(1).partitions.at(0)}) {
    EXPECT_EQ(static_cast<ErrorCode>(repeated.error_code), ErrorCode::INVALID_REQUEST);
    EXPECT_TRUE(repeated.active_producers.empty());
  }
}

std::size_t segments_of(const Node& node, const std::string& topic, std::string_view suffix = ".log") {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator(node.data() + "/" + topic + "-0"))
    count += each.path().string().ends_with(suffix) ? 1 : 0;
  return count;
}

TEST(RetentionOnTheWire, ExpiredSegmentsGoTheLogStartStaysAndTheirSpaceComesBack) {
  const std::unique_ptr<Node> node = Node::start({.settings = {"log.retention.check.interval.ms=50"}});
  Client client(node->port());
  make_topic(client, "old", 1, {{"segment.bytes", "200"}, {"file.delete.delay.ms", "0"}, {"retention.ms", "3600000"}});
  make_topic(client, "kept", 1, {{"segment.bytes", "200"}, {"retention.ms", "-1"}});
  for (const std::string topic : {"old", "kept"}) {
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(produce(client, topic, batch_of({std::string(100, 'x')}, {}, 1000 + i)).error, ErrorCode::NONE);
  }
  EXPECT_TRUE(eventually([&] { return list_offset(client, "old", kEarliest).offset == 10; }));
  EXPECT_TRUE(eventually([&] { return segments_of(*node, "old") == 1 && segments_of(*node, "old", ".deleted") == 0; }));
  EXPECT_EQ(fetch(client, "old", 9).error, ErrorCode::OFFSET_OUT_OF_RANGE);
  EXPECT_EQ(produce(client, "old", batch_of({"new"})).base_offset, 10);
  EXPECT_EQ(values_of(fetch(client, "old", 10).records), (std::vector<std::string>{"new"}));
  EXPECT_EQ(segments_of(*node, "kept"), 10u);
  node->kill("engine");
  EXPECT_TRUE(eventually([&] { return list_offset(client, "old", kEarliest).error == ErrorCode::NONE; }));
  EXPECT_EQ(list_offset(client, "old", kEarliest).offset, 10);
  EXPECT_EQ(log_end(client, "old"), 11);
  EXPECT_EQ(node->restart(), 0);
  Client again(node->port());
  EXPECT_EQ(list_offset(again, "old", kEarliest).offset, 10);
  EXPECT_EQ(list_offset(again, "kept", kEarliest).offset, 0);
}

TEST(RetentionOnTheWire, CountsAsItIsSetNow) {
  const std::unique_ptr<Node> node = Node::start({.settings = {"log.retention.check.interval.ms=50"}});
  Client client(node->port());
  make_topic(client, "changes", 1, {{"segment.bytes", "200"}, {"retention.ms", "-1"}, {"compression.type", "gzip"}});
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(produce(client, "changes", batch_of({std::string(100, 'x')}, {}, 1000)).error, ErrorCode::NONE);
  const auto set = [&](std::string_view key, std::string_view value) {
    const kafka::IncrementalAlterConfigsRequest request{
        .resources = {{.resource_type = 2,
                       .resource_name = "changes",
                       .configs = {{.name = key, .config_operation = 0, .value = value}}}}};
    const auto answer = client.call<kafka::IncrementalAlterConfigsResponse>(request, std::int16_t{1});
    EXPECT_EQ(answer->responses.at(0).error_code, 0);
  };
  EXPECT_EQ(headers_of(fetch(client, "changes", 0).records).at(0).compression(), record::Compression::gzip);
  set("compression.type", "zstd");
  EXPECT_EQ(produce(client, "changes", batch_of({"zstd"}, {}, 1000)).base_offset, 5);
  EXPECT_EQ(headers_of(fetch(client, "changes", 5).records).at(0).compression(), record::Compression::zstd);
  EXPECT_EQ(list_offset(client, "changes", kEarliest).offset, 0);
  set("retention.ms", "1000");
  EXPECT_TRUE(eventually([&] { return list_offset(client, "changes", kEarliest).offset == 6; }));
}

// A reader far behind: it holds the file while it goes.
TEST(RetentionOnTheWire, ClosedFilesAreNotKeptByTheBroker) {
  const std::unique_ptr<Node> node = Node::start({.settings = {"log.retention.check.interval.ms=50"}});
  Client client(node->port());
  make_topic(client, "read", 1, {{"segment.bytes", "300"}, {"file.delete.delay.ms", "0"}});
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(produce(client, "read", batch_of({std::string(100, 'x')})).error, ErrorCode::NONE);
  for (Offset at = 0; at < 20; ++at) EXPECT_FALSE(fetch(client, "read", at).records.empty());
  const auto held = [&] {
    std::size_t count = 0;
    const std::string fds = "/proc/" + std::to_string(node->processes().at("broker")) + "/fd";
    for (const auto& each : std::filesystem::directory_iterator(fds)) {
      std::error_code error;
      const std::string target = std::filesystem::read_symlink(each.path(), error).string();
      count += target.find("read-0") != std::string::npos ? 1 : 0;
    }
    return count;
  };
  EXPECT_GT(held(), 5u);
  EXPECT_EQ(delete_records(client, "read", -1), (Deleted{ErrorCode::NONE, 20}));
  EXPECT_TRUE(eventually([&] { return segments_of(*node, "read") == 1; }));
  EXPECT_TRUE(eventually([&] { return held() <= 1; })) << held();
}

}  // namespace
}  // namespace tailrace::wire
