// When the first unread record of a batch was written.
#include "engine/record/first_time.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/record/builder.h"

namespace tailrace::record {
namespace {

constexpr std::size_t kPlainMax = 1 << 20;

// Offsets 10 to 12 at 1000, 3000 and 2000.
std::vector<std::byte> batch_of(BatchOptions options = {}) {
  options.base_offset = 10;
  BatchBuilder builder(options);
  for (const TimestampMs time : {1000, 3000, 2000}) EXPECT_TRUE(builder.add(time, as_bytes("key"), as_bytes("value")));
  const Bytes bytes = *builder.finish();
  return {bytes.begin(), bytes.end()};
}

TEST(FirstTimeOf, ABatchIsThatOfTheFirstRecordFromThereOn) {
  Scratch scratch;
  for (const Compression codec : {Compression::none, Compression::zstd}) {
    const auto batch = batch_of({.compression = codec});
    struct Case {
      Offset from;
      std::optional<TimestampMs> time;
    };
    for (const Case& one : std::vector<Case>{{0, 1000}, {10, 1000}, {11, 3000}, {12, 2000}, {13, std::nullopt}}) {
      const auto first = first_time(batch, one.from, scratch, kPlainMax);
      ASSERT_TRUE(first);
      EXPECT_EQ(first->time, one.time) << one.from;
      EXPECT_EQ(first->next_offset, 13);
    }
  }
}

TEST(FirstTimeOf, LogAppendTimeIsThatOfAllRecords) {
  Scratch scratch;
  EXPECT_EQ(first_time(batch_of({.log_append_time = 7000}), 11, scratch, kPlainMax)->time, 7000);
}

TEST(FirstTimeOf, AControlBatchIsNone) {
  Scratch scratch;
  const auto first = first_time(batch_of({.is_transactional = true, .is_control = true}), 10, scratch, kPlainMax);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->time, std::nullopt);
  EXPECT_EQ(first->next_offset, 13);
}

TEST(FirstTimeOf, WhatIsNoBatchIsAnError) {
  Scratch scratch;
  auto batch = batch_of();
  EXPECT_FALSE(first_time(Bytes(batch).first(batch.size() - 1), 10, scratch, kPlainMax));
  EXPECT_FALSE(first_time(Bytes(), 10, scratch, kPlainMax));
  batch[kBatchHeaderSize] = std::byte{0x7F};  // a record that is longer than the batch
  EXPECT_FALSE(first_time(batch, 10, scratch, kPlainMax));
  const auto packed = batch_of({.compression = Compression::zstd});
  EXPECT_EQ(first_time(packed, 10, scratch, 8).error().code, Code::too_large);
}

}  // namespace
}  // namespace tailrace::record
