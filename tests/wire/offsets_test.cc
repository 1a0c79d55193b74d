// ListOffsets and OffsetForLeaderEpoch (kafka.md's trap 7).
#include <cstdlib>
#include <filesystem>

#include "services/kafka/messages/list_offsets.h"
#include "services/kafka/messages/metadata.h"
#include "services/kafka/messages/offset_for_leader_epoch.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

constexpr TimestampMs kLatest = -1;
constexpr TimestampMs kEarliest = -2;
constexpr TimestampMs kMaxTimestamp = -3;
constexpr TimestampMs kEarliestLocal = -4;
constexpr TimestampMs kLatestTiered = -5;
constexpr TimestampMs kEarliestPendingUpload = -6;
constexpr TimestampMs kNobodyKnows = -7;

class Offsets : public WireTest {
 protected:
  // Offsets 0..2 at 1000, 3000, 2000; 3 and 4 at 1500 and 2500 in one batch.
  void SetUp() override {
    WireTest::SetUp();
    topic_ = fresh("offsets");
    make_topic(client, topic_);
    EXPECT_EQ(log_end(client, topic_), 0);
    for (const TimestampMs time : {1000, 3000, 2000})
      ASSERT_EQ(produce(client, topic_, batch_of({"x"}, {}, time)).error, ErrorCode::NONE);
    record::BatchBuilder builder;
    ASSERT_TRUE(builder.add(1500, std::nullopt, as_bytes("y")));
    ASSERT_TRUE(builder.add(2500, std::nullopt, as_bytes("z")));
    ASSERT_EQ(produce(client, topic_, as_text(*builder.finish())).error, ErrorCode::NONE);
  }
  std::string topic_;
};

TEST_F(Offsets, ByTimeIsTheFirstRecordThatIsNotOlder) {
  const auto expect = [&](TimestampMs asked, Offset offset, TimestampMs found) {
    const Listed listed = list_offset(client, topic_, asked);
    EXPECT_EQ(listed.error, ErrorCode::NONE) << asked;
    EXPECT_EQ(listed.offset, offset) << asked;
    EXPECT_EQ(listed.timestamp, found) << asked;
    EXPECT_EQ(listed.leader_epoch, 0) << asked;
  };
  expect(0, 0, 1000);
  expect(1000, 0, 1000);
  expect(1001, 1, 3000);
  expect(3000, 1, 3000);
}

TEST_F(Offsets, ATimeThatNoRecordHasIsNoError) {
  const Listed listed = list_offset(client, topic_, 3001);
  EXPECT_EQ(listed.error, ErrorCode::NONE);
  EXPECT_EQ(listed.offset, kNoOffset);
  EXPECT_EQ(listed.timestamp, kNoTimestamp);
}

TEST_F(Offsets, TheSpecialTimes) {
  EXPECT_EQ(list_offset(client, topic_, kLatest).offset, 5);
  EXPECT_EQ(list_offset(client, topic_, kEarliest).offset, 0);
  const Listed newest = list_offset(client, topic_, kMaxTimestamp);
  EXPECT_EQ(newest.offset, 1);
  EXPECT_EQ(newest.timestamp, 3000);
  EXPECT_EQ(list_offset(client, topic_, kEarliestLocal).offset, 0);
  const Listed tiered = list_offset(client, topic_, kLatestTiered);
  EXPECT_EQ(tiered.error, ErrorCode::NONE);
  EXPECT_EQ(tiered.offset, kNoOffset);
  const Listed pending = list_offset(client, topic_, kEarliestPendingUpload);
  EXPECT_EQ(pending.error, ErrorCode::NONE);
  EXPECT_EQ(pending.offset, kNoOffset);
  EXPECT_EQ(list_offset(client, topic_, kNobodyKnows).error, ErrorCode::UNSUPPORTED_VERSION);
}

TEST_F(Offsets, SpecialTimesAreKnownFromTheirVersionOn) {
  EXPECT_EQ(list_offset(client, topic_, kMaxTimestamp, 0, -1, 6).error, ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_EQ(list_offset(client, topic_, kMaxTimestamp, 0, -1, 7).offset, 1);
  EXPECT_EQ(list_offset(client, topic_, kEarliestLocal, 0, -1, 7).error, ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_EQ(list_offset(client, topic_, kEarliestLocal, 0, -1, 8).offset, 0);
  EXPECT_EQ(list_offset(client, topic_, kLatestTiered, 0, -1, 8).error, ErrorCode::UNSUPPORTED_VERSION);
  EXPECT_EQ(list_offset(client, topic_, kEarliestPendingUpload, 0, -1, 10).error, ErrorCode::UNSUPPORTED_VERSION);
}

TEST_F(Offsets, Version0AnswersWithAList) {
  kafka::ListOffsetsRequest request{.replica_id = -1};
  request.topics.push_back(
      {.name = topic_, .partitions = {{.partition_index = 0, .timestamp = kLatest, .max_num_offsets = 1}}});
  const auto latest = client.call<kafka::ListOffsetsResponse>(request, 0);
  EXPECT_EQ(latest->topics.at(0).partitions.at(0).old_style_offsets, std::vector<std::int64_t>{5});
  request.topics[0].partitions[0].timestamp = kEarliest;
  const auto earliest = client.call<kafka::ListOffsetsResponse>(request, 0);
  EXPECT_EQ(earliest->topics.at(0).partitions.at(0).old_style_offsets, std::vector<std::int64_t>{0});
}

TEST_F(Offsets, AnEmptyPartitionHasEndsButNoTimes) {
  const std::string empty = fresh("empty");
  make_topic(client, empty);
  EXPECT_EQ(list_offset(client, empty, kLatest).offset, 0);
  EXPECT_EQ(list_offset(client, empty, kEarliest).offset, 0);
  EXPECT_EQ(list_offset(client, empty, 0).offset, kNoOffset);
  EXPECT_EQ(list_offset(client, empty, kMaxTimestamp).offset, kNoOffset);
}

TEST_F(Offsets, UnknownPartitionsAndEpochs) {
  EXPECT_EQ(list_offset(client, "nobody-made-this", kLatest).error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(list_offset(client, topic_, kLatest, 1).error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_EQ(list_offset(client, topic_, kLatest, 0, 0).error, ErrorCode::NONE);
  EXPECT_EQ(list_offset(client, topic_, kLatest, 0, 9).error, ErrorCode::UNKNOWN_LEADER_EPOCH);
}

TEST_F(Offsets, TheEndOfALeaderEpoch) {
  const auto ask = [&](const std::string& topic, std::int32_t current, std::int32_t epoch) {
    kafka::OffsetForLeaderEpochRequest request{.replica_id = -1};
    request.topics.push_back(
        {.topic = topic, .partitions = {{.partition = 0, .current_leader_epoch = current, .leader_epoch = epoch}}});
    const auto answer = client.call<kafka::OffsetForLeaderEpochResponse>(request, 4);
    return answer->topics.at(0).partitions.at(0);
  };
  const auto own = ask(topic_, -1, 0);
  EXPECT_EQ(own.error_code, 0);
  EXPECT_EQ(own.leader_epoch, 0);
  EXPECT_EQ(own.end_offset, 5);
  const auto future = ask(topic_, -1, 50);
  EXPECT_EQ(future.error_code, 0);
  EXPECT_EQ(future.leader_epoch, -1);
  EXPECT_EQ(future.end_offset, kNoOffset);
  EXPECT_EQ(ask(topic_, 7, 0).error_code, kafka::wire(ErrorCode::UNKNOWN_LEADER_EPOCH));
  EXPECT_EQ(ask("nobody-made-this", -1, 0).error_code, kafka::wire(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
}

// Kafka's data, in which leaders have changed: clients that are behind are told so, and where the epochs that they know
// ended.
TEST(AdoptedData, OldLeaderEpochsAreFencedAndTheirEndsAreKnown) {
  std::string folder = (std::filesystem::temp_directory_path() / "tailrace-adopted-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string command =
      "tar --zstd -xf '" TAILRACE_GOLDEN "/dirs/kafka-4.4-clean.data.tar.zst' -C '" + folder + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  {
    const std::unique_ptr<Node> node = Node::start({.data = folder + "/kafka-4.4-clean/data"});
    Client client(node->port());
    const std::string topic = "codec-none";
    kafka::MetadataRequest about{.topics = {{{.name = topic}}}, .allow_auto_topic_creation = false};
    const auto metadata = client.call<kafka::MetadataResponse>(about, kMetadataVersion);
    const LeaderEpoch epoch = metadata->topics.at(0).partitions.at(0).leader_epoch;
    ASSERT_GT(epoch, 0);
    EXPECT_EQ(fetch(client, topic, 0, {.leader_epoch = epoch}).error, ErrorCode::NONE);
    EXPECT_EQ(fetch(client, topic, 0, {.leader_epoch = epoch - 1}).error, ErrorCode::FENCED_LEADER_EPOCH);
    EXPECT_EQ(fetch(client, topic, 0, {.leader_epoch = epoch + 1}).error, ErrorCode::UNKNOWN_LEADER_EPOCH);
    EXPECT_EQ(list_offset(client, topic, kLatest, 0, epoch - 1).error, ErrorCode::FENCED_LEADER_EPOCH);
    const Offset end = log_end(client, topic);
    Offset last_end = 0;
    for (LeaderEpoch old = 0; old <= epoch; ++old) {
      kafka::OffsetForLeaderEpochRequest request{.replica_id = -1};
      request.topics.push_back(
          {.topic = topic, .partitions = {{.partition = 0, .current_leader_epoch = epoch, .leader_epoch = old}}});
      const auto answer = client.call<kafka::OffsetForLeaderEpochResponse>(request, 4);
      const auto& one = answer->topics.at(0).partitions.at(0);
      EXPECT_EQ(one.error_code, 0);
      EXPECT_LE(one.leader_epoch, old);
      if (one.end_offset == kNoOffset) continue;
      EXPECT_GE(one.end_offset, last_end);
      last_end = one.end_offset;
    }
    EXPECT_EQ(last_end, end);
    EXPECT_EQ(produce(client, topic, batch_of({"after Kafka"})).base_offset, end);
    EXPECT_EQ(node->stop(), 0);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tailrace::wire
