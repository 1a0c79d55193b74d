// Iterating the records of stored batches: of Kafka's own logs, of every magic and codec, and of damaged ones.
#include "engine/record/records.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "engine/record/builder.h"
#include "engine/record/control.h"
#include "engine/record/legacy.h"
#include "tests/unit/support/golden.h"

namespace fs = std::filesystem;
using namespace tailrace;
using namespace tailrace::record;
using namespace tailrace::testing_support;

namespace {

constexpr std::size_t kUnpackedMax = 16 << 20;

std::string text(const std::optional<Bytes>& bytes) { return bytes ? std::string(as_text(*bytes)) : "null"; }

// All records of a batch, or how the iteration failed.
struct Listed {
  std::vector<Record> records;
  std::optional<Error> error;
};
Listed list(Bytes batch, Scratch& scratch, std::size_t bytes_max = kUnpackedMax) {
  Listed listed;
  auto records = Records::open(batch, scratch, bytes_max);
  if (!records) {
    listed.error = records.error();
    return listed;
  }
  Record record;
  while (true) {
    const auto has_record = records->next(record);
    if (!has_record) {
      listed.error = has_record.error();
      EXPECT_FALSE(records->next(record).value_or(true)) << "iteration goes on after an error";
      return listed;
    }
    if (!*has_record) return listed;
    listed.records.push_back(record);
  }
}

template <class Visit>
void for_each_batch(const std::string& log, Visit visit) {
  Bytes left = as_bytes(log);
  while (left.size() > kSizeUpToMagic) {
    const std::size_t size = kLogOverhead + static_cast<std::size_t>(load_big_endian<std::int32_t>(left.data() + 8));
    ASSERT_LE(size, left.size());
    visit(left.first(size));
    left = left.subspan(size);
  }
}

// What a producer of ours would have sent, were it the producer of this batch.
std::string rebuild(const BatchHeader& header, const std::vector<Record>& records) {
  BatchBuilder builder(
      {.base_offset = header.base_offset,
       .partition_leader_epoch = header.partition_leader_epoch,
       .producer_id = header.producer_id,
       .producer_epoch = header.producer_epoch,
       .base_sequence = header.base_sequence,
       .is_transactional = header.is_transactional(),
       .is_control = header.is_control(),
       .log_append_time = header.is_log_append_time() ? std::optional(header.max_timestamp) : std::nullopt});
  for (const Record& record : records) {
    std::vector<Header> headers;
    Headers left = record.headers;
    for (Header one; left.next(one);) headers.push_back(one);
    EXPECT_EQ(static_cast<std::int32_t>(headers.size()), record.headers.count());
    EXPECT_TRUE(builder.add(header.base_timestamp + record.timestamp_delta, record.key, record.value, headers));
  }
  return std::string(as_text(*builder.finish()));
}

TEST(Records, OfKafkasLogsAreReadAndBuiltAgainByteForByte) {
  int batches = 0;
  int built_again = 0;
  int by_codec[5] = {};
  for (const std::string name : {"kafka-4.4-clean", "kafka-3.9-zk-clean"}) {
    TemporaryDirectory directory;
    const fs::path data = unpack_golden(name, directory.path(), /*with_expected=*/false) / "data";
    for (const auto& entry : fs::recursive_directory_iterator(data)) {
      if (entry.path().extension() != ".log") continue;
      const std::string log = read_file(entry.path());
      Scratch scratch;
      for_each_batch(log, [&](Bytes batch) {
        const Listed listed = list(batch, scratch);
        ASSERT_FALSE(listed.error) << entry.path() << ": " << listed.error->text();
        ++batches;
        if (static_cast<std::int8_t>(batch[kMagicPosition]) != kMagicV2) return;
        const BatchHeader header = read_header(batch.data());
        ++by_codec[static_cast<int>(header.compression())];
        EXPECT_EQ(compute_crc(batch), header.crc);
        // Compaction leaves gaps and delete horizons, and compressors differ; all other batches are what any producer
        // makes.
        const bool is_whole = header.record_count == header.last_offset_delta + 1 && !header.has_delete_horizon();
        if (!is_whole || header.compression() != Compression::none) return;
        EXPECT_EQ(rebuild(header, listed.records), as_text(batch)) << entry.path() << " " << header.base_offset;
        ++built_again;
      });
    }
  }
  EXPECT_GT(batches, 1500);
  EXPECT_GT(built_again, 700);
  for (const int count : by_codec) EXPECT_GT(count, 20);
}

TEST(Records, KeepNullApartFromEmpty) {
  BatchBuilder builder;
  const Header headers[] = {
      {as_bytes("a"), as_bytes("1")}, {as_bytes(""), std::nullopt}, {as_bytes("a"), as_bytes("")}};
  ASSERT_TRUE(builder.add(5, std::nullopt, as_bytes(""), headers));
  ASSERT_TRUE(builder.add(3, as_bytes(""), std::nullopt));
  Scratch scratch;
  const Listed listed = list(*builder.finish(), scratch);
  ASSERT_EQ(listed.records.size(), 2u);
  EXPECT_EQ(text(listed.records[0].key), "null");
  EXPECT_EQ(text(listed.records[0].value), "");
  EXPECT_EQ(text(listed.records[1].key), "");
  EXPECT_EQ(text(listed.records[1].value), "null");
  EXPECT_EQ(listed.records[1].timestamp, 3);
  EXPECT_EQ(listed.records[1].timestamp_delta, -2);
  Headers left = listed.records[0].headers;
  EXPECT_EQ(left.count(), 3);
  Header header;
  ASSERT_TRUE(left.next(header));
  EXPECT_EQ(as_text(header.key), "a");
  EXPECT_EQ(text(header.value), "1");
  ASSERT_TRUE(left.next(header));
  EXPECT_EQ(as_text(header.key), "");
  EXPECT_EQ(text(header.value), "null");
  ASSERT_TRUE(left.next(header));
  EXPECT_EQ(text(header.value), "");
  EXPECT_FALSE(left.next(header));
}

TEST(Records, HaveOffsetsSequencesAndAppendTimeOfTheirBatch) {
  BatchBuilder builder({.compression = Compression::lz4,
                        .base_offset = 100,
                        .producer_id = 1,
                        .producer_epoch = 0,
                        .base_sequence = 2147483647,
                        .log_append_time = 777});
  ASSERT_TRUE(builder.add(1, std::nullopt, as_bytes("a")));
  ASSERT_TRUE(builder.add(2, std::nullopt, as_bytes("b")));
  Scratch scratch;
  const Listed listed = list(*builder.finish(), scratch);
  ASSERT_EQ(listed.records.size(), 2u);
  EXPECT_EQ(listed.records[1].offset, 101);
  EXPECT_EQ(listed.records[0].sequence, 2147483647);
  EXPECT_EQ(listed.records[1].sequence, 0);
  EXPECT_EQ(listed.records[1].timestamp, 777);
}

TEST(Records, ABatchThatCompactionEmptiedHasNone) {
  for (const Compression codec : {Compression::none, Compression::zstd}) {
    BatchHeader header{.batch_length = kBatchHeaderSize - kLogOverhead, .attributes = static_cast<std::int16_t>(codec)};
    std::byte encoded[kBatchHeaderSize];
    write_header(header, encoded);
    Scratch scratch;
    const Listed listed = list(encoded, scratch);
    EXPECT_FALSE(listed.error);
    EXPECT_TRUE(listed.records.empty());
  }
}

std::vector<std::byte> built(Compression codec, int records) {
  BatchBuilder builder({.compression = codec});
  const Header headers[] = {{as_bytes("header"), as_bytes("value")}};
  for (int i = 0; i < records; ++i) {
    EXPECT_TRUE(builder.add(i, as_bytes("key"), as_bytes("value " + std::to_string(i)), headers));
  }
  const auto batch = builder.finish();
  return {batch->begin(), batch->end()};
}

TEST(Records, WrongCountsAreInvalid) {
  for (const Compression codec : {Compression::none, Compression::gzip}) {
    for (const std::int32_t count : {-1, 1, 2, 4, 1000, 2147483647}) {
      auto batch = built(codec, 3);
      store_big_endian(batch.data() + 57, count);
      Scratch scratch;
      const Listed listed = list(batch, scratch);
      ASSERT_TRUE(listed.error) << count;
      EXPECT_EQ(listed.error->code, Code::invalid_record) << count;
    }
  }
}

TEST(Records, EveryTruncationIsAnError) {
  const auto batch = built(Compression::none, 3);
  for (std::size_t size = 0; size < batch.size(); ++size) {
    auto cut = std::vector<std::byte>(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(size));
    Scratch scratch;
    EXPECT_TRUE(list(cut, scratch).error) << size;
    if (size < kBatchHeaderSize) continue;
    store_big_endian(cut.data() + 8, static_cast<std::int32_t>(size - kLogOverhead));  // now its length agrees
    const Listed listed = list(cut, scratch);
    ASSERT_TRUE(listed.error) << size;
    EXPECT_EQ(listed.error->code, Code::invalid_record) << size;
  }
}

TEST(Records, SurviveDamage) {
  std::mt19937 random(7);
  for (const Compression codec :
       {Compression::none, Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd}) {
    const auto sound = built(codec, 20);
    for (int round = 0; round < 500; ++round) {
      auto batch = sound;
      for (unsigned i = 0; i <= random() % 3; ++i) {
        batch[kBatchHeaderSize + random() % (batch.size() - kBatchHeaderSize)] = static_cast<std::byte>(random());
      }
      Scratch scratch;
      const Listed listed = list(batch, scratch, 1 << 20);
      for (const Record& record : listed.records) {
        Headers left = record.headers;
        std::int32_t count = 0;
        for (Header header; left.next(header);) ++count;
        EXPECT_EQ(count, record.headers.count());
      }
    }
  }
}

TEST(Records, BombsAreTooLarge) {
  BatchBuilder builder({.compression = Compression::zstd});
  const std::string zeros(8 << 20, '\0');
  ASSERT_TRUE(builder.add(1, std::nullopt, as_bytes(zeros)));
  Scratch scratch;
  const Listed listed = list(*builder.finish(), scratch, 1 << 20);
  ASSERT_TRUE(listed.error);
  EXPECT_EQ(listed.error->code, Code::too_large);
}

TEST(ControlRecords, MarkersSayHowATransactionEnded) {
  BatchBuilder builder;
  for (const bool aborts : {false, true}) {
    const auto batch = build_end_marker(builder, 9, 3, {.aborts = aborts, .coordinator_epoch = 12}, 5000);
    ASSERT_TRUE(batch);
    const BatchHeader header = read_header(batch->data());
    EXPECT_TRUE(header.is_control() && header.is_transactional());
    EXPECT_EQ(header.producer_id, 9);
    EXPECT_EQ(header.base_sequence, -1);
    const auto marker = end_marker_of_batch(*batch);
    ASSERT_TRUE(marker && *marker);
    EXPECT_EQ((*marker)->aborts, aborts);
    EXPECT_EQ((*marker)->coordinator_epoch, 12);
  }
}

TEST(ControlRecords, OfOtherTypesAndShortOnes) {
  Record record;
  EXPECT_EQ(end_marker(record).error().code, Code::corrupt);
  const std::byte leader_change[4] = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{2}};
  record.key = Bytes(leader_change);
  EXPECT_EQ(end_marker(record).value(), std::nullopt);
  const std::byte abort[4] = {};
  record.key = Bytes(abort);
  EXPECT_EQ(end_marker(record).error().code, Code::corrupt);  // without a value
}

// --- magic 0 and 1, as old clients wrote them

std::string big_endian(std::int64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = size; i-- > 0;) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

std::string nullable(const std::optional<std::string>& bytes) {
  return bytes ? big_endian(static_cast<std::int64_t>(bytes->size()), 4) + *bytes : big_endian(-1, 4);
}

struct Message {
  std::int64_t offset = 0;
  std::int8_t magic = 1;
  int attributes = 0;
  std::int64_t timestamp = -1;
  std::optional<std::string> key = std::nullopt;
  std::optional<std::string> value = std::nullopt;
};

std::string encode(const Message& message) {
  std::string body = big_endian(message.magic, 1) + big_endian(message.attributes, 1);
  if (message.magic == 1) body += big_endian(message.timestamp, 8);
  body += nullable(message.key) + nullable(message.value);
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(message.offset, 8) + big_endian(static_cast<std::int64_t>(body.size()) + 4, 4) +
         big_endian(static_cast<std::int64_t>(crc), 4) + body;
}

std::string wrap(Message wrapper, Compression codec, const std::vector<Message>& inner) {
  std::string set;
  for (const Message& message : inner) set += encode(message);
  Scratch packed;
  EXPECT_TRUE(compress(codec, as_bytes(set), packed));
  wrapper.attributes |= static_cast<int>(codec);
  wrapper.value = std::string(as_text(packed.bytes()));
  return encode(wrapper);
}

TEST(LegacyMessages, PlainOnesAreTheirOwnBatch) {
  const std::string entry = encode({.offset = 42, .magic = 1, .timestamp = 99, .key = "k", .value = "v"});
  Scratch scratch;
  const Listed listed = list(as_bytes(entry), scratch);
  ASSERT_EQ(listed.records.size(), 1u);
  EXPECT_EQ(listed.records[0].offset, 42);
  EXPECT_EQ(listed.records[0].timestamp, 99);
  EXPECT_EQ(text(listed.records[0].key), "k");
  EXPECT_TRUE(listed.records[0].crc_is_valid);
  EXPECT_TRUE(legacy_crc_is_valid(as_bytes(entry)));
  const auto header = shallow_batch_header(as_bytes(entry));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->base_offset, 42);
  EXPECT_EQ(header->last_offset(), 42);
  EXPECT_EQ(header->record_count, 1);
  EXPECT_EQ(header->size_bytes(), entry.size());

  std::string damaged = entry;
  damaged.back() = 'w';
  EXPECT_FALSE(legacy_crc_is_valid(as_bytes(damaged)));
}

TEST(LegacyMessages, WrappedOnesOfMagicOneHaveRelativeOffsets) {
  for (const Compression codec : {Compression::gzip, Compression::snappy, Compression::lz4}) {
    const std::string entry = wrap({.offset = 1002, .timestamp = 30}, codec,
                                   {{.offset = 0, .timestamp = 10, .value = "a"},
                                    {.offset = 1, .timestamp = 30, .key = "k"},
                                    {.offset = 2, .timestamp = 20, .value = "c"}});
    Scratch scratch;
    const Listed listed = list(as_bytes(entry), scratch);
    ASSERT_FALSE(listed.error) << listed.error->text();
    ASSERT_EQ(listed.records.size(), 3u);
    EXPECT_EQ(listed.records[0].offset, 1000);
    EXPECT_EQ(listed.records[2].offset, 1002);
    EXPECT_EQ(listed.records[1].timestamp, 30);
    EXPECT_EQ(text(listed.records[1].value), "null");
    const auto header = batch_header(as_bytes(entry), scratch, kUnpackedMax);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->base_offset, 1000);
    EXPECT_EQ(header->last_offset(), 1002);
    EXPECT_EQ(header->record_count, 3);
    EXPECT_EQ(shallow_batch_header(as_bytes(entry))->base_offset, 1002);
  }
}

TEST(LegacyMessages, WrappedOnesOfMagicZeroHaveAbsoluteOffsets) {
  const std::string entry = wrap({.offset = 9, .magic = 0}, Compression::gzip,
                                 {{.offset = 5, .magic = 0, .value = "a"}, {.offset = 9, .magic = 0, .value = "b"}});
  Scratch scratch;
  const Listed listed = list(as_bytes(entry), scratch);
  ASSERT_EQ(listed.records.size(), 2u);
  EXPECT_EQ(listed.records[0].offset, 5);
  EXPECT_EQ(listed.records[1].offset, 9);
  EXPECT_EQ(listed.records[0].timestamp, kNoTimestamp);
}

TEST(LegacyMessages, TheWrappersAppendTimeIsThatOfAllInside) {
  const std::string entry = wrap({.offset = 1, .attributes = kLogAppendTimeBit, .timestamp = 500}, Compression::gzip,
                                 {{.offset = 0, .timestamp = 1}, {.offset = 1, .timestamp = 2}});
  Scratch scratch;
  const Listed listed = list(as_bytes(entry), scratch);
  ASSERT_EQ(listed.records.size(), 2u);
  EXPECT_EQ(listed.records[0].timestamp, 500);
  EXPECT_EQ(listed.records[1].timestamp, 500);
}

TEST(LegacyMessages, AWrapperAtOffsetZeroLeavesInnerOffsetsAsTheyAre) {
  const std::string entry = wrap({.offset = 0}, Compression::gzip, {{.offset = 0}, {.offset = 1}});
  Scratch scratch;
  const Listed listed = list(as_bytes(entry), scratch);
  ASSERT_EQ(listed.records.size(), 2u);
  EXPECT_EQ(listed.records[1].offset, 1);
}

TEST(LegacyMessages, DamagedOnesAreErrors) {
  Scratch scratch;
  const std::string sound = wrap({.offset = 2}, Compression::gzip, {{.offset = 0}, {.offset = 1}, {.offset = 2}});
  for (std::size_t size = 0; size < sound.size(); ++size) {
    EXPECT_TRUE(list(as_bytes(sound.substr(0, size)), scratch).error) << size;
  }
  EXPECT_EQ(list(as_bytes(wrap({.offset = 5}, Compression::gzip, {})), scratch).error->code, Code::corrupt);
  EXPECT_EQ(list(as_bytes(wrap({.offset = 5}, Compression::gzip, {{.offset = 6}})), scratch).error->code,
            Code::corrupt);
  EXPECT_EQ(list(as_bytes(wrap({.offset = 5}, Compression::zstd, {{.offset = 0}})), scratch).error->code,
            Code::unsupported);
  EXPECT_EQ(list(as_bytes(encode({.offset = 5, .attributes = 1})), scratch).error->code, Code::corrupt);  // null value
  EXPECT_EQ(
      list(as_bytes(wrap({.offset = 5}, Compression::gzip, {{.offset = 0, .attributes = 1, .value = "x"}})), scratch)
          .error->code,
      Code::invalid_record);
  std::string unknown = sound;
  unknown[kMagicPosition] = 7;
  EXPECT_EQ(list(as_bytes(unknown), scratch).error->code, Code::unsupported);
  EXPECT_EQ(list(as_bytes(sound), scratch, 10).error->code, Code::too_large);
}

}  // namespace
