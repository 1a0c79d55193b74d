// DescribeTopicPartitions: pages, cursors and the errors of topics, as Kafka 4.4 answers.
#include "services/kafka/messages/describe_topic_partitions.h"
#include "services/kafka/messages/metadata.h"
#include "tests/wire/steps.h"

namespace tailrace::wire {
namespace {

using Request = kafka::DescribeTopicPartitionsRequest;
using Response = kafka::DescribeTopicPartitionsResponse;

class DescribeTopics : public WireTest {
 protected:
  void SetUp() override {
    WireTest::SetUp();
    a_ = fresh("described-a");
    b_ = fresh("described-b");
    a_id_ = make_topic(client, a_, 2);
    make_topic(client, b_, 3);
  }
  Answer<Response> ask(std::vector<std::string_view> topics, std::int32_t limit = 2000,
                       std::optional<Request::Cursor> cursor = {}) {
    Request request{.response_partition_limit = limit, .cursor = cursor};
    for (const std::string_view name : topics) request.topics.push_back({.name = name});
    return client.call<Response>(request, 0);
  }
  static ErrorCode error_of(const Answer<Response>& answer, std::size_t topic) {
    return answer->topics.size() <= topic ? ErrorCode::UNKNOWN_SERVER_ERROR
                                          : static_cast<ErrorCode>(answer->topics[topic].error_code);
  }
  std::string a_, b_;
  Uuid a_id_;
};

TEST_F(DescribeTopics, TellsWhatMetadataTellsAndWhoMightLead) {
  const auto answer = ask({a_});
  const auto metadata =
      client.call<kafka::MetadataResponse>(kafka::MetadataRequest{.topics = {{{.name = a_}}}}, kMetadataVersion);
  ASSERT_EQ(answer->topics.size(), 1u);
  const auto& topic = answer->topics[0];
  EXPECT_EQ(topic.error_code, 0);
  EXPECT_EQ(topic.name, a_);
  EXPECT_EQ(topic.topic_id, a_id_);
  EXPECT_FALSE(topic.is_internal);
  EXPECT_EQ(topic.topic_authorized_operations, 0xdf8);
  ASSERT_EQ(topic.partitions.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& partition = topic.partitions[i];
    const auto& known = metadata->topics[0].partitions[i];
    EXPECT_EQ(partition.error_code, 0);
    EXPECT_EQ(partition.partition_index, known.partition_index);
    EXPECT_EQ(partition.leader_id, known.leader_id);
    EXPECT_EQ(partition.leader_epoch, known.leader_epoch);
    EXPECT_EQ(partition.replica_nodes, known.replica_nodes);
    EXPECT_EQ(partition.isr_nodes, known.isr_nodes);
    EXPECT_TRUE(partition.offline_replicas.empty());
    ASSERT_TRUE(partition.eligible_leader_replicas && partition.last_known_elr);  // empty, not null
    EXPECT_TRUE(partition.eligible_leader_replicas->empty());
    EXPECT_TRUE(partition.last_known_elr->empty());
  }
  EXPECT_FALSE(answer->next_cursor);
}

TEST_F(DescribeTopics, OneIdIsEnoughThatMetadataAsksByIdAlone) {
  const Uuid nobodys{.bytes = {9}};
  const kafka::MetadataRequest request{
      .topics = {
          {{.topic_id = a_id_, .name = ""}, {.topic_id = nobodys}, {.topic_id = a_id_, .name = b_}, {.name = b_}}}};
  const auto answer = client.call<kafka::MetadataResponse>(request, 13);
  ASSERT_EQ(answer->topics.size(), 2u);
  EXPECT_EQ(answer->topics[0].error_code, 0);
  EXPECT_EQ(answer->topics[0].name, a_);
  EXPECT_EQ(answer->topics[0].topic_id, a_id_);
  EXPECT_EQ(static_cast<ErrorCode>(answer->topics[1].error_code), ErrorCode::UNKNOWN_TOPIC_ID);
  EXPECT_FALSE(answer->topics[1].name);
  EXPECT_EQ(answer->topics[1].topic_id, nobodys);
}

TEST_F(DescribeTopics, ComeInTheirOrderEachOnceAndUnknownOnesWithTheirError) {
  const auto answer = ask({b_, "nobody made this", "nobody-made-this", a_, a_, ".."});
  ASSERT_EQ(answer->topics.size(), 5u);
  EXPECT_EQ(error_of(answer, 0), ErrorCode::INVALID_TOPIC_EXCEPTION);  // ".."
  EXPECT_EQ(answer->topics[1].name, a_);
  EXPECT_EQ(answer->topics[2].name, b_);
  EXPECT_EQ(error_of(answer, 3), ErrorCode::INVALID_TOPIC_EXCEPTION);
  EXPECT_EQ(error_of(answer, 4), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_TRUE(answer->topics[4].topic_id.is_zero());
}

TEST_F(DescribeTopics, PagesFollowOneAnotherWithoutAGap) {
  std::vector<std::pair<std::string, std::int32_t>> seen;
  std::optional<std::pair<std::string, std::int32_t>> next;
  do {
    std::optional<Request::Cursor> cursor;
    if (next) cursor = {.topic_name = next->first, .partition_index = next->second};
    const auto page = ask({a_, b_}, 2, cursor);
    std::size_t partitions = 0;
    for (const auto& topic : page->topics) {
      for (const auto& partition : topic.partitions) {
        seen.emplace_back(*topic.name, partition.partition_index);
        ++partitions;
      }
    }
    EXPECT_LE(partitions, 2u);
    ASSERT_LE(seen.size(), 5u);
    next.reset();
    if (page->next_cursor) next.emplace(page->next_cursor->topic_name, page->next_cursor->partition_index);
  } while (next);
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, std::int32_t>>{{a_, 0}, {a_, 1}, {b_, 0}, {b_, 1}, {b_, 2}}));
}

TEST_F(DescribeTopics, AllOfThemArePagedFromTheCursorOnWhetherItsTopicIsThereOrNot) {
  const auto some = ask({}, 1, Request::Cursor{.topic_name = b_, .partition_index = 1});
  ASSERT_EQ(some->topics.size(), 1u);
  EXPECT_EQ(some->topics[0].name, b_);
  EXPECT_EQ(some->topics[0].partitions[0].partition_index, 1);
  ASSERT_TRUE(some->next_cursor);
  EXPECT_EQ(some->next_cursor->topic_name, b_);
  EXPECT_EQ(some->next_cursor->partition_index, 2);
  const auto gone = ask({}, 2000, Request::Cursor{.topic_name = "described-a~", .partition_index = 1});
  ASSERT_FALSE(gone->topics.empty());
  EXPECT_TRUE(gone->topics[0].name->starts_with("described-b"));
  EXPECT_EQ(gone->topics[0].partitions.size(), 3u);
  // Behind its last partition a topic has none.
  const auto behind = ask({}, 2000, Request::Cursor{.topic_name = b_, .partition_index = 7});
  ASSERT_FALSE(behind->topics.empty());
  EXPECT_TRUE(behind->topics[0].partitions.empty());
  EXPECT_TRUE(ask({}, 5, Request::Cursor{.topic_name = "~", .partition_index = 0})->topics.empty());
}

TEST_F(DescribeTopics, ALimitBelowOneIsOne) {
  for (const std::int32_t limit : {0, -5}) {
    const auto answer = ask({b_}, limit);
    ASSERT_EQ(answer->topics.size(), 1u);
    EXPECT_EQ(answer->topics[0].partitions.size(), 1u);
    EXPECT_TRUE(answer->next_cursor);
  }
}

TEST_F(DescribeTopics, ACursorOutsideOfWhatIsAskedIsRefusedForEachTopic) {
  for (const Request::Cursor& cursor : {Request::Cursor{.topic_name = b_, .partition_index = 0},
                                        Request::Cursor{.topic_name = a_, .partition_index = -1}}) {
    const auto answer = ask({a_}, 5, cursor);
    ASSERT_EQ(answer->topics.size(), 1u);
    EXPECT_EQ(error_of(answer, 0), ErrorCode::INVALID_REQUEST);
    EXPECT_EQ(answer->topics[0].topic_authorized_operations, kafka::kInt32Min);
    EXPECT_FALSE(answer->next_cursor);
  }
  EXPECT_TRUE(ask({}, 5, Request::Cursor{.topic_name = a_, .partition_index = -1})->topics.empty());
}

}  // namespace
}  // namespace tailrace::wire
