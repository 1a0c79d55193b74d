// How far groups lag, as `tailrace stat --groups` hears it from groupcoord: no port of Kafka takes part in that.
#include <set>

#include <nlohmann/json.hpp>

#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/delete_records.h"
#include "services/kafka/messages/find_coordinator.h"
#include "services/kafka/messages/offset_commit.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

using nlohmann::json;

constexpr std::int16_t kCommitVersion = 8;  // the newest is 10, which names topics by id

// All groups, or nothing when the tool fails.
json lag_of_all(const Node& node) {
  const Node::Ran ran = node.run_tool("stat --groups --json");
  EXPECT_EQ(ran.status, 0) << ran.output;
  json groups = json::parse(ran.output, nullptr, false);
  EXPECT_TRUE(groups.is_array()) << ran.output;
  return groups;
}

json lag_of(const Node& node, const std::string& group) {
  for (const json& each : lag_of_all(node)) {
    if (each["group"] == group) return each;
  }
  return {};
}

// As from outside: the group needs no members. Waits for its coordinator.
void commit(Client& client, const std::string& group, const std::string& topic,
            const std::vector<std::pair<std::int32_t, Offset>>& offsets) {
  client.call<kafka::FindCoordinatorResponse>(kafka::FindCoordinatorRequest{.key = group}, 0);
  kafka::OffsetCommitRequest request{.group_id = group};
  auto& wanted = request.topics.emplace_back();
  wanted.name = topic;
  for (const auto& [partition, offset] : offsets) {
    wanted.partitions.push_back({.partition_index = partition, .committed_offset = offset});
  }
  std::int16_t error = 0;
  const auto is_settled = [&] {
    const auto answer = client.call<kafka::OffsetCommitResponse>(request, kCommitVersion);
    error = answer->topics.at(0).partitions.at(0).error_code;
    return !kafka::error_retriable(error);
  };
  EXPECT_TRUE(eventually(is_settled));
  EXPECT_EQ(error, 0) << kafka::error_name(error);
}

// One batch of records at these times.
std::string batch_at(const std::vector<TimestampMs>& times, std::size_t value_size,
                     record::Compression compression = record::Compression::none) {
  record::BatchBuilder builder({.compression = compression});
  const std::string value(value_size, 'v');
  for (const TimestampMs time : times) EXPECT_TRUE(builder.add(time, std::nullopt, as_bytes(value)));
  return std::string(as_text(*builder.finish()));
}

class GroupLag : public WireTest {
 protected:
  void SetUp() override {
    WireTest::SetUp();
    topic_ = fresh("lag");
    group_ = "readers-of-" + topic_;
  }
  // A row's lag in records, and when its oldest unread record was written; the age has to go with that.
  static void expect_row(const json& row, const json& lag, const json& oldest_unread, TimestampMs before) {
    SCOPED_TRACE(row.dump());
    EXPECT_EQ(row["lag"], lag);
    EXPECT_EQ(row["oldest_unread_timestamp"], oldest_unread);
    if (oldest_unread.is_null()) return;
    const TimestampMs written = oldest_unread.get<TimestampMs>();
    EXPECT_GE(row["lag_ms"].get<TimestampMs>(), before - written);
    EXPECT_LE(row["lag_ms"].get<TimestampMs>(), now_ms() - written);
  }

  std::string topic_;
  std::string group_;
};

TEST_F(GroupLag, IsCountedInRecordsAndByTheOldestThatIsNotRead) {
  make_topic(client, topic_, 7);
  const auto fill = [&](std::int32_t partition, const std::string& batch) {
    ASSERT_EQ(produce(client, topic_, batch, partition).error, ErrorCode::NONE);
  };
  const TimestampMs t = now_ms() - 600'000;
  for (const std::int32_t partition : {0, 1, 3, 4}) fill(partition, batch_at({t, t + 1000, t + 2000}, 10));
  fill(2, batch_at({t, t + 1000, t + 2000}, 10, record::Compression::zstd));
  fill(5, batch_at({t, t + 1000, t + 2000}, 30'000));  // too large to be read for this
  fill(0, batch_at({t + 5000}, 10));
  kafka::DeleteRecordsRequest deletion{.timeout_ms = 10'000};
  deletion.topics.push_back({.name = topic_, .partitions = {{.partition_index = 3, .offset = 2}}});
  ASSERT_EQ(client.call<kafka::DeleteRecordsResponse>(deletion, 2)->topics.at(0).partitions.at(0).error_code, 0);
  commit(client, group_, topic_, {{0, 3}, {1, 3}, {2, 1}, {3, 0}, {4, 8}, {5, 1}, {6, 0}});

  const TimestampMs before = now_ms();
  const json group = lag_of(node(), group_);
  EXPECT_EQ(group["type"], "Classic");
  EXPECT_EQ(group["state"], "Empty");
  const json& rows = group["offsets"];
  ASSERT_EQ(rows.size(), 7u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["topic"], topic_);
    EXPECT_EQ(rows[i]["partition"], i);
  }
  EXPECT_EQ(rows[0]["current_offset"], 3);
  EXPECT_EQ(rows[0]["log_end_offset"], 4);
  expect_row(rows[0], 1, t + 5000, before);
  expect_row(rows[1], 0, nullptr, before);
  EXPECT_EQ(rows[1]["lag_ms"], 0);
  expect_row(rows[2], 2, t + 1000, before);
  expect_row(rows[3], 3, nullptr, before);  // the record is gone
  EXPECT_EQ(rows[3]["lag_ms"], nullptr);
  expect_row(rows[4], -5, nullptr, before);
  EXPECT_EQ(rows[4]["lag_ms"], nullptr);
  expect_row(rows[5], 2, t, before);  // the batch's
  expect_row(rows[6], 0, nullptr, before);
  EXPECT_EQ(rows[6]["log_end_offset"], 0);
}

TEST_F(GroupLag, AGroupThatHasCommittedNothingIsThere) {
  make_topic(client, topic_);
  client.call<kafka::FindCoordinatorResponse>(kafka::FindCoordinatorRequest{.key = group_}, 0);
  kafka::ConsumerGroupHeartbeatRequest join{.group_id = group_, .member_id = "member", .member_epoch = 0};
  join.rebalance_timeout_ms = 60'000;
  join.subscribed_topic_names = {{topic_}};
  join.topic_partitions.emplace();
  EXPECT_TRUE(eventually([&] { return client.call<kafka::ConsumerGroupHeartbeatResponse>(join, 1)->error_code == 0; }));
  const json group = lag_of(node(), group_);
  EXPECT_EQ(group["type"], "Consumer");
  EXPECT_EQ(group["offsets"], json::array());
  const Node::Ran table = node().run_tool("stat --groups");
  EXPECT_EQ(table.status, 0);
  EXPECT_NE(table.output.find(group_), std::string::npos) << table.output;
}

TEST_F(GroupLag, OfMorePartitionsThanAPageTakesIsToldOfWholeAndOnce) {
  constexpr std::int32_t kPartitions = 60;
  constexpr int kGroups = 40;
  make_topic(client, topic_, kPartitions);
  std::vector<std::pair<std::int32_t, Offset>> offsets;
  for (std::int32_t i = 0; i < kPartitions; ++i) offsets.emplace_back(i, 0);
  for (int i = 0; i < kGroups; ++i) commit(client, group_ + std::to_string(i), topic_, offsets);
  const std::uint64_t pages = node().counter("groupcoord", "lag_pages");
  std::set<std::string> seen;
  std::string last;
  for (const json& group : lag_of_all(node())) {
    const auto name = group["group"].get<std::string>();
    EXPECT_LT(last, name);
    last = name;
    if (!name.starts_with(group_)) continue;
    for (const json& row : group["offsets"]) {
      EXPECT_EQ(row["lag"], 0);
      EXPECT_TRUE(seen.insert(name + " " + row["partition"].dump()).second);
    }
  }
  EXPECT_EQ(seen.size(), std::size_t{kPartitions} * kGroups);
  EXPECT_GE(node().counter("groupcoord", "lag_pages") - pages, 3u);
}

TEST_F(GroupLag, IsTheSameWhenProcessesHaveDied) {
  make_topic(client, topic_);
  const TimestampMs t = now_ms() - 60'000;
  ASSERT_EQ(produce(client, topic_, batch_at({t, t + 1000}, 10)).error, ErrorCode::NONE);
  commit(client, group_, topic_, {{0, 1}});
  for (const char* const service : {"groupcoord", "engine", "zkbridge", "broker"}) {
    node().kill(service);
    SCOPED_TRACE(service);
    // The engine may have yet to hear which partitions it leads.
    EXPECT_TRUE(eventually([&] {
      const json group = lag_of(node(), group_);
      return !group.is_null() && group["offsets"].at(0)["lag"] == 1 &&
             group["offsets"].at(0)["oldest_unread_timestamp"] == t + 1000;
    }));
  }
  accept_new_processes();
}

TEST_F(GroupLag, OfNoNodeIsAnErrorAndNotWaitedFor) {
  const auto node = Node::start();
  EXPECT_EQ(lag_of_all(*node), json::array());
  EXPECT_EQ(node->stop(), 0);
  const Node::Ran ran = node->run_tool("stat --groups");
  EXPECT_EQ(ran.status, 1);
  EXPECT_TRUE(ran.output.starts_with("tailrace stat: no node runs here")) << ran.output;
  EXPECT_EQ(node->run_tool("stat --groups --all").status, 2);
  EXPECT_EQ(node->run_tool("stat --groups --clients").status, 2);
}

}  // namespace
}  // namespace tailrace::wire
