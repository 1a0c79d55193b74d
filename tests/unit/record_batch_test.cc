// The header of a batch, and what a broker refuses from a client.
#include "engine/record/batch.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "engine/record/builder.h"

using namespace tailrace;
using namespace tailrace::record;

namespace {

// One batch of three records, in memory that may be changed.
std::vector<std::byte> produced(const BatchOptions& options = {}) {
  BatchBuilder builder(options);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(builder.add(1000 + i, as_bytes("key"), as_bytes("value " + std::to_string(i))));
  }
  const auto batch = builder.finish();
  EXPECT_TRUE(batch);
  return {batch->begin(), batch->end()};
}

void seal(std::vector<std::byte>& batch) { store_big_endian(batch.data() + kCrcPosition, compute_crc(batch)); }

TEST(BatchHeader, ReadsWhatItWrites) {
  const BatchHeader header{.base_offset = 1234567890123,
                           .batch_length = 4711,
                           .partition_leader_epoch = 7,
                           .magic = kMagicV2,
                           .crc = 0xDEADBEEF,
                           .attributes = kTransactionalBit | 3,
                           .last_offset_delta = 41,
                           .base_timestamp = 1700000000000,
                           .max_timestamp = 1700000000042,
                           .producer_id = 9001,
                           .producer_epoch = 5,
                           .base_sequence = 17,
                           .record_count = 42};
  std::byte encoded[kBatchHeaderSize];
  write_header(header, encoded);
  std::byte again[kBatchHeaderSize];
  write_header(read_header(encoded), again);
  EXPECT_EQ(as_text(encoded), as_text(again));
  EXPECT_EQ(read_header(encoded).producer_id, 9001);
  EXPECT_EQ(read_header(encoded).crc, 0xDEADBEEF);
  EXPECT_EQ(header.size_bytes(), 4723u);
  EXPECT_EQ(header.next_offset(), 1234567890165);
  EXPECT_EQ(header.compression(), Compression::lz4);
  EXPECT_TRUE(header.is_transactional());
  EXPECT_FALSE(header.is_control());
}

TEST(BatchHeader, SequencesWrapAfterTheLargestInteger) {
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  BatchHeader header{.last_offset_delta = 2, .base_sequence = kMax - 1};
  EXPECT_EQ(header.last_sequence(), 0);
  header.last_offset_delta = 1;
  EXPECT_EQ(header.last_sequence(), kMax);
  header.base_sequence = -1;
  EXPECT_EQ(header.last_sequence(), -1);
}

TEST(CheckProduced, AcceptsWhatClientsSend) {
  for (const BatchOptions& options : {BatchOptions{}, BatchOptions{.compression = Compression::zstd},
                                      BatchOptions{.producer_id = 5, .producer_epoch = 0, .base_sequence = 0},
                                      BatchOptions{.base_sequence = 0}}) {  // kafkajs: a sequence without a producer
    const auto batch = produced(options);
    const auto header = check_produced(batch);
    ASSERT_TRUE(header) << header.error().text();
    EXPECT_EQ(header->record_count, 3);
    EXPECT_EQ(header->max_timestamp, 1002);
  }
}

TEST(CheckProduced, RefusesEveryTruncation) {
  const auto batch = produced();
  for (std::size_t size = 0; size < batch.size(); ++size) {
    const auto header = check_produced(Bytes(batch).first(size));
    ASSERT_FALSE(header) << size;
    EXPECT_EQ(header.error().code, Code::invalid_record) << size;
  }
}

TEST(CheckProduced, RefusesEveryFlippedBit) {
  const auto sound = produced();
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    auto batch = sound;
    batch[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const bool is_leader_epoch = bit / 8 >= 12 && bit / 8 < 16;  // the broker's own field
    EXPECT_EQ(check_produced(batch).has_value(), is_leader_epoch) << bit;
  }
}

struct Refusal {
  const char* name;
  std::function<void(BatchHeader&)> change;
  Code code;
};

TEST(CheckProduced, RefusesHeadersAsKafkaDoes) {
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  const std::vector<Refusal> refusals = {
      {"base offset", [](BatchHeader& h) { h.base_offset = 1; }, Code::invalid_record},
      {"no records",
       [](BatchHeader& h) {
         h.record_count = 0;
         h.last_offset_delta = -1;
       },
       Code::invalid_record},
      {"negative count", [](BatchHeader& h) { h.record_count = -3; }, Code::invalid_record},
      {"count and offsets differ", [](BatchHeader& h) { h.record_count = 4; }, Code::invalid_record},
      {"largest delta",
       [](BatchHeader& h) {
         h.last_offset_delta = kMax;
         h.record_count = kMax;
       },
       Code::invalid_record},
      {"control batch", [](BatchHeader& h) { h.attributes |= kControlBit; }, Code::invalid_record},
      {"producer without sequence", [](BatchHeader& h) { h.producer_id = 1; }, Code::invalid_record},
      {"unknown codec", [](BatchHeader& h) { h.attributes |= 5; }, Code::invalid_record},
      {"magic 1", [](BatchHeader& h) { h.magic = 1; }, Code::invalid_record},
      {"magic 3", [](BatchHeader& h) { h.magic = 3; }, Code::corrupt},
      {"negative magic", [](BatchHeader& h) { h.magic = -1; }, Code::corrupt},
      {"negative length", [](BatchHeader& h) { h.batch_length = -1; }, Code::corrupt},
      {"tiny length", [](BatchHeader& h) { h.batch_length = 13; }, Code::corrupt},
      {"huge length", [](BatchHeader& h) { h.batch_length = kMax; }, Code::invalid_record},
  };
  for (const Refusal& refusal : refusals) {
    auto batch = produced();
    BatchHeader header = read_header(batch.data());
    refusal.change(header);
    write_header(header, batch.data());
    seal(batch);
    const auto checked = check_produced(batch);
    ASSERT_FALSE(checked) << refusal.name;
    EXPECT_EQ(checked.error().code, refusal.code) << refusal.name << ": " << checked.error().text();
  }
}

TEST(CheckProduced, RefusesASecondBatchAndAShortOne) {
  auto two = produced();
  const auto one = two;
  two.insert(two.end(), one.begin(), one.end());
  EXPECT_EQ(check_produced(two).error().code, Code::invalid_record);

  std::vector<std::byte> header_only(one.begin(), one.begin() + 40);
  store_big_endian<std::int32_t>(header_only.data() + 8, 28);  // whole by its length, but less than a header
  EXPECT_EQ(check_produced(header_only).error().code, Code::corrupt);
}

TEST(CheckProduced, ChecksumsBatchesOfAllSizes) {
  for (const std::size_t size : {1u << 10, 1u << 15, 1u << 20}) {
    BatchBuilder builder;
    const std::string value(size, 'x');
    ASSERT_TRUE(builder.add(1, std::nullopt, as_bytes(value)));
    const auto batch = builder.finish();
    ASSERT_TRUE(batch);
    EXPECT_TRUE(check_produced(*batch)) << size;
  }
}

}  // namespace
