// What a broker does with produced batches: the topic's rules, the append time, another codec. Real clients' batches
// pass.
#include "engine/record/validate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "engine/record/builder.h"
#include "engine/record/records.h"
#include "tests/unit/support/golden.h"

namespace fs = std::filesystem;
using namespace tailrace;
using namespace tailrace::record;
using namespace tailrace::testing_support;
using Reason = RecordFailure::Reason;

namespace {

constexpr TimestampMs kNow = 1'700'000'000'000;
constexpr Compression kCodecs[] = {Compression::none, Compression::gzip, Compression::snappy, Compression::lz4,
                                   Compression::zstd};

RecordRules rules() { return {.now_ms = kNow, .uncompressed_bytes_max = 1 << 20}; }

struct Sent {
  TimestampMs timestamp = kNow;
  std::optional<std::string> key = "key";
};

std::vector<std::byte> batch_of(const std::vector<Sent>& records, const BatchOptions& options = {}) {
  BatchBuilder builder(options);
  for (const Sent& sent : records) {
    const auto key = sent.key ? std::optional(as_bytes(*sent.key)) : std::nullopt;
    EXPECT_TRUE(builder.add(sent.timestamp, key, as_bytes("value")));
  }
  const auto batch = builder.finish();
  return {batch->begin(), batch->end()};
}

Result<Validation> validate(const std::vector<std::byte>& batch, const RecordRules& with) {
  Scratch scratch;
  return validate_records(batch, with, scratch);
}

TEST(ValidateRecords, AcceptsSoundBatchesOfEveryCodec) {
  for (const Compression codec : kCodecs) {
    const auto validation = validate(batch_of({{kNow - 5}, {kNow}, {kNow - 9}}, {.compression = codec}), rules());
    ASSERT_TRUE(validation) << validation.error().text();
    EXPECT_TRUE(validation->is_accepted());
    EXPECT_EQ(validation->max_timestamp, kNow);
  }
}

TEST(ValidateRecords, NamesEachRecordWithoutAKeyInACompactedTopic) {
  const auto batch = batch_of({{kNow, "a"}, {kNow, std::nullopt}, {kNow, ""}, {kNow, std::nullopt}});
  EXPECT_TRUE(validate(batch, rules())->is_accepted());
  RecordRules compacted = rules();
  compacted.keys_required = true;
  const auto validation = validate(batch, compacted);
  ASSERT_TRUE(validation);
  ASSERT_EQ(validation->failures.size(), 2u);
  EXPECT_EQ(validation->failures[0].index, 1);
  EXPECT_EQ(validation->failures[1].index, 3);
  EXPECT_EQ(validation->failures[0].reason, Reason::key_missing);
  EXPECT_EQ(validation->refusal(), Code::invalid_record);
}

TEST(ValidateRecords, BoundsTimesByTheTopicsRules) {
  RecordRules strict = rules();
  strict.before_max_ms = 1000;
  strict.after_max_ms = 100;
  const auto batch = batch_of({{kNow - 1000}, {kNow - 1001}, {kNow + 100}, {kNow + 101}, {kNoTimestamp}});
  const auto validation = validate(batch, strict);
  ASSERT_TRUE(validation);
  ASSERT_EQ(validation->failures.size(), 2u);
  EXPECT_EQ(validation->failures[0].index, 1);
  EXPECT_EQ(validation->failures[1].index, 3);
  EXPECT_EQ(validation->refusal(), Code::invalid_timestamp);

  // By default any past is fine, and an hour of future (KIP-1030).
  EXPECT_TRUE(validate(batch_of({{0}, {kNow + 3'600'000}}), rules())->is_accepted());
  EXPECT_FALSE(validate(batch_of({{kNow + 3'600'001}}), rules())->is_accepted());
  EXPECT_FALSE(validate(batch_of({{std::numeric_limits<TimestampMs>::max()}}), rules())->is_accepted());

  // Where the broker sets the time, what the client says does not matter.
  strict.uses_log_append_time = true;
  EXPECT_TRUE(validate(batch, strict)->is_accepted());
}

TEST(ValidateRecords, ATimeFailureDecidesTheAnswer) {
  RecordRules compacted = rules();
  compacted.keys_required = true;
  const auto validation = validate(batch_of({{kNow, std::nullopt}, {kNow + 9'000'000, "k"}}), compacted);
  ASSERT_EQ(validation->failures.size(), 2u);
  EXPECT_EQ(validation->refusal(), Code::invalid_timestamp);
}

TEST(ValidateRecords, NamesNoMoreThanAskedFor) {
  RecordRules compacted = rules();
  compacted.keys_required = true;
  compacted.failures_max = 2;
  const auto batch = batch_of(
      {{kNow, std::nullopt}, {kNow, std::nullopt}, {kNow, std::nullopt}, {kNow + 9'000'000, "k"}, {kNow, "k"}});
  const auto validation = validate(batch, compacted);
  ASSERT_EQ(validation->failures.size(), 2u);
  EXPECT_EQ(validation->failures[1].index, 1);
  EXPECT_EQ(validation->refusal(), Code::invalid_timestamp) << "also for one that is not named";
  compacted.failures_max = 0;
  EXPECT_FALSE(validate(batch, compacted)->is_accepted());
  EXPECT_TRUE(validate(batch, compacted)->failures.empty());
}

TEST(ValidateRecords, AppendTimeFromAClientIsRefusedWhereTheBrokerSetsIt) {
  const auto batch = batch_of({{kNow}, {kNow}}, {.log_append_time = kNow});
  EXPECT_TRUE(validate(batch, rules())->is_accepted());
  RecordRules append_time = rules();
  append_time.uses_log_append_time = true;
  const auto validation = validate(batch, append_time);
  ASSERT_EQ(validation->failures.size(), 2u);
  EXPECT_EQ(validation->failures[0].reason, Reason::append_time_from_client);
  EXPECT_EQ(validation->refusal(), Code::invalid_timestamp);
}

TEST(ValidateRecords, RefusesOffsetDeltasThatAreNotDense) {
  auto batch = batch_of({{kNow}, {kNow}, {kNow}});
  // The second record's delta: a record here takes 16 bytes, the first one's body has attributes and a time before it.
  const std::size_t record_size = (batch.size() - kBatchHeaderSize) / 3;
  std::byte& delta = batch[kBatchHeaderSize + record_size + 3];
  ASSERT_EQ(delta, std::byte{2});  // zigzag of 1
  delta = std::byte{4};
  const auto validation = validate(batch, rules());
  ASSERT_FALSE(validation);
  EXPECT_EQ(validation.error().code, Code::invalid_record);
}

TEST(ValidateRecords, RefusesWhatUnpacksToTooMuch) {
  RecordRules small = rules();
  small.uncompressed_bytes_max = 20;
  EXPECT_EQ(validate(batch_of({{kNow}, {kNow}}, {.compression = Compression::lz4}), small).error().code,
            Code::too_large);
}

TEST(StampTimestamps, SetsTheAppendTimeAndTheChecksum) {
  auto batch = batch_of({{kNow - 7}, {kNow - 3}});
  EXPECT_FALSE(stamp_timestamps(batch, /*uses_log_append_time=*/false, kNow - 3));  // as it is
  EXPECT_TRUE(stamp_timestamps(batch, /*uses_log_append_time=*/true, kNow));
  const auto header = check_produced(batch);
  ASSERT_TRUE(header) << header.error().text();
  EXPECT_TRUE(header->is_log_append_time());
  EXPECT_EQ(header->max_timestamp, kNow);
  Scratch scratch;
  auto records = Records::open(batch, scratch, 1 << 20);
  Record record;
  ASSERT_TRUE(records->next(record).value_or(false));
  EXPECT_EQ(record.timestamp, kNow);

  EXPECT_TRUE(stamp_timestamps(batch, /*uses_log_append_time=*/false, kNow - 3));  // and back
  EXPECT_EQ(batch, batch_of({{kNow - 7}, {kNow - 3}}));
}

TEST(StampTimestamps, WorksOnAHeaderApartFromItsRecords) {
  auto whole = batch_of({{kNow - 7}, {kNow - 3}}, {.compression = Compression::gzip});
  BatchHeader header = read_header(whole.data());
  EXPECT_TRUE(stamp_timestamps(header, Bytes(whole).subspan(kBatchHeaderSize), true, kNow));
  EXPECT_TRUE(stamp_timestamps(whole, true, kNow));
  EXPECT_EQ(header.crc, read_header(whole.data()).crc);
}

TEST(Recompress, KeepsAllButTheCodec) {
  const BatchOptions sent{.producer_id = 4, .producer_epoch = 1, .base_sequence = 10, .is_transactional = true};
  for (const Compression from : kCodecs) {
    BatchOptions options = sent;
    options.compression = from;
    const auto batch = batch_of({{kNow}, {kNow + 5}, {kNow + 2}}, options);
    for (const Compression to : kCodecs) {
      options.compression = to;
      Scratch scratch;
      Scratch out;
      const auto records = Records::open(batch, scratch, 1 << 20);
      ASSERT_TRUE(records.has_value());
      ASSERT_TRUE(pack_batch(records->header(), records->uncompressed(), to, std::nullopt, out));
      EXPECT_EQ(as_text(out.bytes()), as_text(batch_of({{kNow}, {kNow + 5}, {kNow + 2}}, options)))
          << name(from) << name(to);
    }
  }
}

TEST(BatchBuilder, RefusesTimesThatKafkaRefuses) {
  BatchBuilder builder;
  EXPECT_EQ(builder.add(-2, std::nullopt, std::nullopt).error().code, Code::invalid_argument);
  EXPECT_EQ(builder.count(), 0);
}

TEST(BatchBuilder, TakesTimesAsFarApartAsThereAre) {
  constexpr TimestampMs kLast = std::numeric_limits<TimestampMs>::max();
  const auto batch = batch_of({{kNoTimestamp}, {kLast}, {0}});
  Scratch scratch;
  auto records = Records::open(batch, scratch, 1 << 20);
  ASSERT_TRUE(records);
  Record record;
  for (const TimestampMs expected : {kNoTimestamp, kLast, TimestampMs{0}}) {
    ASSERT_TRUE(records->next(record).value_or(false));
    EXPECT_EQ(record.timestamp, expected);
  }
}

TEST(BatchBuilder, CanBeUsedAgain) {
  BatchBuilder builder({.compression = Compression::zstd});
  ASSERT_TRUE(builder.add(1, as_bytes("k"), as_bytes("v")));
  const std::string first(as_text(*builder.finish()));
  builder.start({.compression = Compression::zstd});
  ASSERT_TRUE(builder.add(1, as_bytes("k"), as_bytes("v")));
  EXPECT_EQ(as_text(*builder.finish()), first);
}

// Batches are found in the recorded requests by their checksum, which nothing else has by chance.
template <class Visit>
void for_each_batch_in(const std::string& request, Visit visit) {
  const Bytes bytes = as_bytes(request);
  for (std::size_t at = 0; at + kBatchHeaderSize <= bytes.size(); ++at) {
    if (static_cast<std::int8_t>(bytes[at + kMagicPosition]) != kMagicV2) continue;
    const BatchHeader header = read_header(bytes.data() + at);
    if (header.batch_length < 49 || header.size_bytes() > bytes.size() - at) continue;
    const Bytes batch = bytes.subspan(at, header.size_bytes());
    if (compute_crc(batch) != header.crc) continue;
    visit(batch);
    at += batch.size() - 1;
  }
}

TEST(RealClients, ProduceBatchesThatPass) {
  TemporaryDirectory directory;
  const std::string command =
      "tar --zstd -xf '" TAILRACE_GOLDEN "/frames/frames.tar.zst' -C '" + directory.path().string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::map<std::string, int> by_client;
  RecordRules generous = rules();
  generous.after_max_ms = std::numeric_limits<std::int64_t>::max();
  for (const auto& entry : fs::recursive_directory_iterator(directory.path())) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with("000-Produce-v") || entry.path().extension() != ".req") continue;
    const std::size_t client_at = file.find('-', 13) + 1;
    const std::string client = file.substr(client_at, file.find("-to-") - client_at);
    for_each_batch_in(read_file(entry.path()), [&](Bytes batch) {
      EXPECT_TRUE(check_produced(batch)) << file;
      Scratch scratch;
      const auto validation = validate_records(batch, generous, scratch);
      ASSERT_TRUE(validation) << file << ": " << validation.error().text();
      EXPECT_TRUE(validation->is_accepted()) << file;
      EXPECT_EQ(validation->max_timestamp, read_header(batch.data()).max_timestamp) << file;
      ++by_client[client];
    });
  }
  for (const char* client : {"java-2.1.1", "java-4.4.0", "librdkafka-2.0.2", "librdkafka-2.16.0", "kafka-python-2.0.2",
                             "kafkajs-2.2.4", "kgo", "franz-go", "kcat-librdkafka-2.0.2"}) {
    EXPECT_GE(by_client[client], 2) << client;
  }
}

}  // namespace
