// One page of lag: which rows it has, however groups come and go between two pages, what it asks, and what becomes of
// the answers.
#include "services/groupcoord/lag_page.h"

#include <cstdint>
#include <set>

#include <fmt/format.h>

#include "engine/record/builder.h"
#include "services/kafka/codec.h"
#include "tests/unit/support/shard_world.h"

namespace tailrace::groupcoord {
namespace {

// "group topic partition committed end time" of each row; "group" alone without a commit.
std::vector<std::string> rows_of(const kafka::GroupLagResponse& page) {
  std::vector<std::string> rows;
  for (const auto& group : page.groups) {
    if (group.topics.empty()) rows.emplace_back(group.group_id);
    for (const auto& topic : group.topics) {
      for (const auto& each : topic.partitions) {
        rows.push_back(fmt::format("{} {} {} {} {} {}", group.group_id, topic.name, each.partition,
                                   each.committed_offset, each.end_offset, each.oldest_unread_timestamp));
      }
    }
  }
  return rows;
}

using Rows = std::vector<std::string>;

class LagPageTest : public ShardWorld {
 protected:
  // Commits as from outside.
  void commit_to(std::string_view group, std::string_view topic, std::int32_t partition, Offset offset) {
    ASSERT_EQ(commit(group, {.topic = topic, .partition = partition, .offset = offset}), ErrorCode::NONE);
  }
  // As a tool does: the next page begins behind the last row.
  struct Tool {
    std::string group{};
    std::string topic{};
    LagCursor cursor{};
    bool is_done = false;

    void on_page(const kafka::GroupLagResponse& page) {
      is_done = !page.has_more;
      if (page.groups.empty()) return;
      const auto& last = page.groups.back();
      group = last.group_id;
      cursor = {.group = group};
      if (last.topics.empty()) return;
      topic = last.topics.back().name;
      cursor = {.group = group, .topic = topic, .partition = last.topics.back().partitions.back().partition};
    }
  };
  Rows next(Tool& tool, std::size_t rows_max) {
    LagPage page(rows_max);
    EXPECT_NE(page.add(*shard_, tool.cursor), page.response().has_more);
    EXPECT_TRUE(kafka::decode_exactly<kafka::GroupLagResponse>(encoded(page).bytes(), 0));
    Rows rows = rows_of(page.response());
    EXPECT_LE(rows.size(), rows_max);
    tool.on_page(page.response());
    return rows;
  }
  Rows all(std::size_t rows_max) {
    Tool tool;
    Rows rows;
    while (!tool.is_done) {
      const Rows more = next(tool, rows_max);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }
  static kafka::Buffer encoded(const LagPage& page) {
    kafka::Buffer body;
    kafka::encode(page.response(), 0, body);
    return body;
  }
};

TEST_F(LagPageTest, OfNoGroupsIsEmpty) { EXPECT_EQ(all(10), Rows{}); }

TEST_F(LagPageTest, SaysWhatAGroupIsAndDoes) {
  enter("live");
  commit_to("outside", "orders", 1, 5);
  LagPage page(10);
  ASSERT_TRUE(page.add(*shard_, {}));
  const auto& groups = page.response().groups;
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].group_id, "live");
  EXPECT_EQ(groups[0].type, "Classic");
  EXPECT_EQ(groups[0].state, "Stable");
  EXPECT_TRUE(groups[0].topics.empty());
  EXPECT_EQ(groups[1].group_id, "outside");
  EXPECT_EQ(groups[1].state, "Empty");
}

TEST_F(LagPageTest, WalksInAnOrderThatDoesNotDependOnItsSize) {
  enter("b-live");
  for (const std::string_view group : {"a", "c", ""}) {
    for (const std::int32_t partition : {2, 0, 3}) commit_to(group, "orders", partition, 7);
    commit_to(group, "payments", 1, 8);
  }
  const Rows expected = {" orders 0 7 -1 -1",   " orders 2 7 -1 -1",    " orders 3 7 -1 -1",
                         " payments 1 8 -1 -1", "a orders 0 7 -1 -1",   "a orders 2 7 -1 -1",
                         "a orders 3 7 -1 -1",  "a payments 1 8 -1 -1", "b-live",
                         "c orders 0 7 -1 -1",  "c orders 2 7 -1 -1",   "c orders 3 7 -1 -1",
                         "c payments 1 8 -1 -1"};
  for (std::size_t rows_max = 1; rows_max <= expected.size() + 1; ++rows_max) {
    EXPECT_EQ(all(rows_max), expected) << rows_max;
  }
}

TEST_F(LagPageTest, EndsByItsBytesAsWell) {
  const std::string name(32'000, 'g');
  for (int i = 0; i < 100; ++i) commit_to(name + std::to_string(i), "orders", 0, 1);
  Tool tool;
  std::set<std::string> seen;
  while (!tool.is_done) {
    LagPage page(1000);
    page.add(*shard_, tool.cursor);
    EXPECT_LE(encoded(page).size(), LagPage::kBytesMax + 64);
    for (const std::string& row : rows_of(page.response())) EXPECT_TRUE(seen.insert(row).second) << "told twice";
    tool.on_page(page.response());
  }
  EXPECT_EQ(seen.size(), 100u);
}

TEST_F(LagPageTest, GoesOnWhereItWasWhenTheGroupThatItEndedInIsGone) {
  for (const std::string_view group : {"a", "b", "c"}) {
    for (const std::int32_t partition : {0, 1, 2}) commit_to(group, "orders", partition, 7);
  }
  Tool tool;
  EXPECT_EQ(next(tool, 4).back(), "b orders 0 7 -1 -1");
  ASSERT_EQ(remove_group("b"), ErrorCode::NONE);
  EXPECT_EQ(next(tool, 4), (Rows{"c orders 0 7 -1 -1", "c orders 1 7 -1 -1", "c orders 2 7 -1 -1"}));
}

TEST_F(LagPageTest, TellsOfNothingTwiceAndOfNothingThatIsBehindIt) {
  commit_to("a", "orders", 1, 7);
  enter("b");
  commit_to("c", "orders", 0, 7);
  Tool tool;
  EXPECT_EQ(next(tool, 2), (Rows{"a orders 1 7 -1 -1", "b"}));
  commit_to("a", "orders", 0, 9);    // before the place
  commit_to("a", "payments", 0, 9);  // of a group that is behind
  commit_to("aa", "orders", 0, 9);   // a group that is
  commit_to("b-new", "orders", 0, 9);
  EXPECT_EQ(next(tool, 5), (Rows{"b-new orders 0 9 -1 -1", "c orders 0 7 -1 -1"}));
  EXPECT_TRUE(tool.is_done);
}

// It was told of with what it had, and has no row of its own for what it has lost.
TEST_F(LagPageTest, AGroupWhoseOffsetsGoInTheMiddleOfItIsToldOfOnce) {
  const std::string member = enter("a");
  for (const std::int32_t partition : {0, 1}) {
    ASSERT_EQ(commit("a", {.partition = partition, .offset = 7, .member = member, .generation = 1}), ErrorCode::NONE);
  }
  Tool tool;
  EXPECT_EQ(next(tool, 1), (Rows{"a orders 0 7 -1 -1"}));
  image(cluster_.remove("orders"));
  settle();
  EXPECT_EQ(next(tool, 1), Rows{});
  EXPECT_TRUE(tool.is_done);
  EXPECT_EQ(all(1), (Rows{"a"}));
}

TEST_F(LagPageTest, WalksOnAfterTheLastPartitionThatThereCanBe) {
  ASSERT_TRUE(see_commit("a", 3, kNoProducerId, INT32_MIN));
  ASSERT_TRUE(see_commit("a", 4, kNoProducerId, INT32_MAX));
  ASSERT_TRUE(see_commit("b", 5));
  EXPECT_EQ(all(1), (Rows{"a orders -2147483648 3 -1 -1", "a orders 2147483647 4 -1 -1", "b orders 0 5 -1 -1"}));
}

TEST_F(LagPageTest, AnOffsetBelowZeroIsNone) {
  ASSERT_TRUE(see_commit("a", -1));
  EXPECT_EQ(all(1), (Rows{"a"}));
}

// -- Questions -----------------------------------------------------------------------------------------------------

using Asked = std::vector<std::pair<TopicIdPartition, Offset>>;

Asked questions_of(LagPage& page) {
  Asked asked;
  while (page.has_questions()) {
    const LagPage::Question question = *page.next_question();
    asked.emplace_back(question.partition, question.offset);
  }
  EXPECT_FALSE(page.next_question());
  return asked;
}

TEST_F(LagPageTest, ValuesFollowFromWhatTheEngineSays) {
  commit_to("g", "orders", 0, 10);   // at the end
  commit_to("g", "orders", 1, 4);    // behind it
  commit_to("g", "orders", 2, 30);   // beyond it
  commit_to("g", "orders", 3, 0);    // the log begins later
  commit_to("g", "payments", 0, 5);  // the engine does not say
  ASSERT_TRUE(see({record_of(kafka::OffsetCommitKey{.group = "g", .topic = "gone", .partition = 0},
                             kafka::OffsetCommitValue{.offset = 6, .commit_timestamp = 1}, 3)}));
  ASSERT_TRUE(see_commit("g", 7, kNoProducerId, 4));  // a partition that the topic does not have
  LagPage page(100);
  ASSERT_TRUE(page.add(*shard_, {}));
  const auto orders = [](std::int32_t partition) { return TopicIdPartition{ClusterImage::id_of(1), partition}; };
  const TopicIdPartition payments{ClusterImage::id_of(2), 0};
  EXPECT_EQ(questions_of(page), (Asked{{orders(0), kNoOffset},
                                       {orders(1), kNoOffset},
                                       {orders(2), kNoOffset},
                                       {orders(3), kNoOffset},
                                       {payments, kNoOffset}}));
  for (std::int32_t i = 0; i < 4; ++i) page.on_end(orders(i), 10);
  EXPECT_EQ(questions_of(page), (Asked{{orders(1), 4}, {orders(3), 0}}));
  page.on_time(orders(1), 4, 1234);
  EXPECT_EQ(rows_of(page.response()),
            (Rows{"g gone 0 6 -1 -1", "g orders 0 10 10 -1", "g orders 1 4 10 1234", "g orders 2 30 10 -1",
                  "g orders 3 0 10 -1", "g orders 4 7 -1 -1", "g payments 0 5 -1 -1"}));
}

TEST_F(LagPageTest, GroupsOfOnePartitionShareItsQuestions) {
  for (const std::string_view group : {"a", "b", "c"}) commit_to(group, "orders", 0, group == "c" ? 5 : 3);
  LagPage page(100);
  ASSERT_TRUE(page.add(*shard_, {}));
  const TopicIdPartition partition{ClusterImage::id_of(1), 0};
  EXPECT_EQ(questions_of(page), (Asked{{partition, kNoOffset}}));
  page.on_end(partition, 9);
  EXPECT_EQ(questions_of(page), (Asked{{partition, 3}, {partition, 5}}));
  page.on_time(partition, 3, 300);
  page.on_time(partition, 5, 500);
  EXPECT_EQ(rows_of(page.response()), (Rows{"a orders 0 3 9 300", "b orders 0 3 9 300", "c orders 0 5 9 500"}));
}

TEST_F(LagPageTest, OutlivesTheGroupsThatItTellsOf) {
  commit_to("a", "orders", 0, 3);
  LagPage page(100);
  ASSERT_TRUE(page.add(*shard_, {}));
  shard_.reset();
  page.on_end({ClusterImage::id_of(1), 0}, 4);
  EXPECT_EQ(rows_of(page.response()), (Rows{"a orders 0 3 4 -1"}));
}

// -- Batches -------------------------------------------------------------------------------------------------------

// Offsets 10 to 12 at 1000, 3000 and 2000, with values of this size.
std::vector<std::byte> batch_of(std::size_t value_size, record::BatchOptions options = {}) {
  options.base_offset = 10;
  record::BatchBuilder builder(options);
  const std::string value(value_size, 'v');
  for (const TimestampMs time : {1000, 3000, 2000}) EXPECT_TRUE(builder.add(time, std::nullopt, as_bytes(value)));
  const Bytes bytes = *builder.finish();
  return {bytes.begin(), bytes.end()};
}

std::optional<TimestampMs> time_of(Bytes bytes, std::size_t batch_size, Offset from = 11) {
  record::Scratch scratch;
  const auto first = first_unread(bytes, batch_size, from, scratch);
  if (!first) return std::nullopt;
  EXPECT_EQ(first->next_offset, 13);
  return first->time;
}

TEST(FirstUnread, IsTheRecordsOwnTimeWhereTheBatchIsThere) {
  for (const auto codec : {record::Compression::none, record::Compression::gzip}) {
    const auto batch = batch_of(100, {.compression = codec});
    EXPECT_EQ(time_of(batch, batch.size()), 3000);
    EXPECT_EQ(time_of(batch, batch.size(), 13), std::nullopt);
  }
}

TEST(FirstUnread, IsTheBatchsWhereOnlyItsHeaderIsThereOrItUnpacksToTooMuch) {
  const auto batch = batch_of(100);
  EXPECT_EQ(time_of(Bytes(batch).first(record::kBatchHeaderSize), batch.size()), 1000);
  const auto appended = batch_of(100, {.log_append_time = 7000});
  EXPECT_EQ(time_of(Bytes(appended).first(record::kBatchHeaderSize), appended.size()), 7000);
  const auto bomb = batch_of(100'000, {.compression = record::Compression::zstd});
  EXPECT_LT(bomb.size(), 1000u);
  EXPECT_EQ(time_of(bomb, bomb.size()), 1000);
}

TEST(FirstUnread, IsNotInAControlBatch) {
  const auto marker = batch_of(1, {.is_transactional = true, .is_control = true});
  EXPECT_EQ(time_of(marker, marker.size()), std::nullopt);
  record::Scratch scratch;
  const auto first = first_unread(Bytes(marker).first(record::kBatchHeaderSize), marker.size(), 10, scratch);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->time, std::nullopt);
}

TEST(FirstUnread, CannotBeToldFromWhatIsNoBatch) {
  record::Scratch scratch;
  auto batch = batch_of(100);
  EXPECT_FALSE(first_unread({}, batch.size(), 10, scratch));
  EXPECT_FALSE(first_unread(Bytes(batch).first(60), batch.size(), 10, scratch));
  batch[record::kBatchHeaderSize] = std::byte{0x7F};
  EXPECT_FALSE(first_unread(batch, batch.size(), 10, scratch));
  batch[record::kMagicPosition] = std::byte{1};
  EXPECT_FALSE(first_unread(Bytes(batch).first(record::kBatchHeaderSize), batch.size(), 10, scratch));
}

}  // namespace
}  // namespace tailrace::groupcoord
