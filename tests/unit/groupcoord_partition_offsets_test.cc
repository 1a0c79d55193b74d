// Committed offsets of the partitions of one topic, held against a plain map.
#include "services/groupcoord/partition_offsets.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tailrace::groupcoord {
namespace {

// A million of them are in the memory of a small machine.
static_assert(sizeof(CommittedOffset) == 64);

CommittedOffset committed(std::int32_t partition, Offset offset) {
  CommittedOffset made;
  made.partition = partition;
  made.offset = offset;
  return made;
}

std::vector<std::int32_t> partitions_of(const PartitionOffsets& offsets) {
  std::vector<std::int32_t> partitions;
  offsets.for_each([&](const CommittedOffset& each) { partitions.push_back(each.partition); });
  return partitions;
}

TEST(SmallTexts, HoldWhatTheyAreGiven) {
  EXPECT_EQ(SmallText().view(), "");
  EXPECT_EQ(SmallText("").view(), "");
  EXPECT_EQ(SmallText("read by node 7").view(), "read by node 7");
  const std::string longest(0x7FFF, 'x');  // of Kafka's protocol
  EXPECT_EQ(SmallText(longest).view(), longest);
  EXPECT_EQ(SmallText(std::string(0x10000, 'x')).view().size(), SmallText::kSizeMax);
}

TEST(PartitionOffsetsOf, ATopicThatNobodyHasReadHaveNone) {
  const PartitionOffsets none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.find(0), nullptr);
  EXPECT_TRUE(partitions_of(none).empty());
}

TEST(PartitionOffsetsOf, APartitionHaveTheLastOne) {
  PartitionOffsets offsets;
  offsets.put(committed(3, 10));
  offsets.put(committed(3, 7));
  ASSERT_NE(offsets.find(3), nullptr);
  EXPECT_EQ(offsets.find(3)->offset, 7);
  EXPECT_EQ(offsets.size(), 1u);
  EXPECT_TRUE(offsets.erase(3));
  EXPECT_FALSE(offsets.erase(3));
  EXPECT_TRUE(offsets.empty());
}

TEST(PartitionOffsetsOf, ManyPartitionsStayInOrderHoweverTheyCome) {
  for (const bool is_descending : {false, true}) {
    PartitionOffsets offsets;
    std::vector<std::int32_t> expected;
    for (std::int32_t i = 0; i < 10'000; ++i) {
      offsets.put(committed(is_descending ? 9'999 - i : i, i));
      expected.push_back(i);
    }
    EXPECT_EQ(partitions_of(offsets), expected);
  }
}

TEST(PartitionOffsetsOf, ManyPartitionsAreVisitedFromAnyPlaceOnAndNoFurtherThanOneWants) {
  PartitionOffsets offsets;
  for (std::int32_t i = 0; i < 1'000; ++i) offsets.put(committed(2 * i, i));
  const auto from = [&](std::optional<std::int32_t> after, std::size_t count) {
    std::vector<std::int32_t> seen;
    const bool is_whole = offsets.visit(after, [&](const CommittedOffset& each) {
      if (seen.size() == count) return false;
      seen.push_back(each.partition);
      return true;
    });
    EXPECT_TRUE(is_whole || seen.size() == count);
    return seen;
  };
  EXPECT_EQ(from(std::nullopt, 2), (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(from(-1, 2), (std::vector<std::int32_t>{0, 2}));
  for (std::int32_t after = 0; after < 1'990; ++after) {
    const std::int32_t next = after / 2 * 2 + 2;
    EXPECT_EQ(from(after, 2), (std::vector<std::int32_t>{next, next + 2})) << after;
  }
  EXPECT_EQ(from(1'996, 2), (std::vector<std::int32_t>{1'998}));
  EXPECT_TRUE(from(1'998, 1).empty());
  EXPECT_TRUE(from(INT32_MAX, 1).empty());
}

TEST(PartitionOffsetsOf, RandomPartitionsAreThoseOfAMap) {
  const unsigned seed = 848;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const std::int32_t span : {1, 10, 300, 5'000}) {
    PartitionOffsets offsets;
    std::map<std::int32_t, Offset> model;
    for (int i = 0; i < 20'000; ++i) {
      // Also such as no topic has: they may stand in a log.
      const std::int32_t partition = static_cast<std::int32_t>(random() % static_cast<unsigned>(span)) - span / 2;
      const bool is_emptying = (i / 4'000) % 2 == 1;
      if (random() % 10 < (is_emptying ? 8u : 2u)) {
        EXPECT_EQ(offsets.erase(partition), model.erase(partition) == 1);
      } else {
        offsets.put(committed(partition, i));
        model[partition] = i;
      }
      const CommittedOffset* const found = offsets.find(partition);
      ASSERT_EQ(found != nullptr, model.contains(partition));
      if (found != nullptr) {
        ASSERT_EQ(found->offset, model[partition]);
      }
      ASSERT_EQ(offsets.empty(), model.empty());
    }
    ASSERT_EQ(offsets.size(), model.size());
    auto expected = model.begin();
    offsets.for_each([&](const CommittedOffset& each) {
      EXPECT_EQ(each.partition, expected->first);
      EXPECT_EQ(each.offset, expected->second);
      ++expected;
    });
  }
}

}  // namespace
}  // namespace tailrace::groupcoord
