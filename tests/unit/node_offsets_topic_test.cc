#include "services/node/offsets_topic.h"

#include <gtest/gtest.h>

#include <set>

namespace {

using tailrace::node::offsets_partition_of;

// As Kafka's GroupCoordinatorService.partitionFor says.
TEST(OffsetsTopic, AGroupBelongsToThePartitionThatKafkaHasForIt) {
  EXPECT_EQ(offsets_partition_of("test", 50), 48);
  EXPECT_EQ(offsets_partition_of("my-group", 50), 12);
  EXPECT_EQ(offsets_partition_of("g1", 50), 42);
  EXPECT_EQ(offsets_partition_of("", 50), 0);
  EXPECT_EQ(offsets_partition_of("polygenelubricants", 50), 0);  // its hash is the smallest number
  EXPECT_EQ(offsets_partition_of("g1", 1), 0);
}

// "é" is one UTF-16 unit, "€" too, the clef two.
TEST(OffsetsTopic, IdsAreHashedByTheirUtf16) {
  EXPECT_EQ(offsets_partition_of("\u00e9", 1000), 0xE9);
  EXPECT_EQ(offsets_partition_of("\u20ac", 100000), 0x20AC);
  EXPECT_EQ(offsets_partition_of("\U0001D11E", 10'000'000), 0xD834 * 31 + 0xDD1E);
}

TEST(OffsetsTopic, MalformedIdsHaveAPartitionToo) {
  for (const std::string_view id : {"\xff", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xc0\xaf"}) {
    const std::int32_t partition = offsets_partition_of(id, 50);
    EXPECT_GE(partition, 0);
    EXPECT_LT(partition, 50);
  }
}

}  // namespace
