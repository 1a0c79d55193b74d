#include "engine/record/validate.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/crc32c.h"
#include "engine/record/records.h"

namespace tailrace::record {
namespace {

bool is_in_range(TimestampMs timestamp, const RecordRules& rules) {
  // In 128 bits, since the time is the client's and may be anything.
  const __int128 age = static_cast<__int128>(rules.now_ms) - timestamp;
  return age <= rules.before_max_ms && -age <= rules.after_max_ms;
}

// Without the length before it.
std::size_t body_bytes(const Record& record) {
  std::size_t prefix = 1;
  while (prefix < 5 && (record.size_bytes - prefix) * 2 >= std::size_t{1} << 7 * prefix) ++prefix;
  return record.size_bytes - prefix;
}

// LogValidator.validateTimestamp. A client's append-time bit is refused where the topic sets it itself, or where no
// time came with it; with a time of its own, in a topic of create times, the bit is cleared by stamp_timestamps().
bool breaks_time_rule(const BatchHeader& header, const Record& record, const RecordRules& rules,
                      RecordFailure::Reason& reason) {
  if (!rules.uses_log_append_time && record.timestamp != kNoTimestamp) {
    reason = RecordFailure::Reason::time_out_of_range;
    return !is_in_range(record.timestamp, rules);
  }
  reason = RecordFailure::Reason::append_time_from_client;
  return header.is_log_append_time();
}

}  // namespace

Code Validation::refusal() const { return has_time_failure ? Code::invalid_timestamp : Code::invalid_record; }

const char* text(RecordFailure::Reason reason) {
  switch (reason) {
    case RecordFailure::Reason::key_missing:
      return "A record of a compacted topic must have a key.";
    case RecordFailure::Reason::time_out_of_range:
      return "The record's timestamp is outside the bounds of the topic.";
    case RecordFailure::Reason::append_time_from_client:
      return "A producer must not set the timestamp type LogAppendTime.";
  }
  return "";
}

Result<Validation> validate_records(Bytes batch, const RecordRules& rules, Scratch& scratch) {
  auto records = Records::open(batch, scratch, rules.uncompressed_bytes_max);
  if (!records) return std::unexpected(records.error());
  const BatchHeader& header = records->header();
  Validation validation;
  validation.records = records->uncompressed();
  const bool is_compressed = header.compression() != Compression::none;
  Record record;
  std::int32_t index = 0;
  while (true) {
    const auto has_record = records->next(record);
    if (!has_record) return std::unexpected(has_record.error());
    if (!*has_record) break;
    if (is_compressed && body_bytes(record) > rules.record_bytes_max) {
      return failure(Code::invalid_record, "size of a record that was unpacked");
    }
    if (record.offset_delta != index) return failure(Code::invalid_record, "offset delta of a record");
    RecordFailure failed{.index = index, .reason = RecordFailure::Reason::key_missing};
    if ((rules.keys_required && !record.key) || breaks_time_rule(header, record, rules, failed.reason)) {
      validation.has_failure = true;
      validation.has_time_failure |= failed.reason != RecordFailure::Reason::key_missing;
      if (validation.failures.size() < rules.failures_max) validation.failures.push_back(failed);
    }
    validation.max_timestamp = std::max(validation.max_timestamp, record.timestamp);
    ++index;
  }
  return validation;
}

bool set_timestamps(BatchHeader& header, bool uses_log_append_time, TimestampMs max_timestamp) {
  if (header.is_log_append_time() == uses_log_append_time && header.max_timestamp == max_timestamp) return false;
  const int attributes = header.attributes & ~kLogAppendTimeBit;
  header.attributes = static_cast<std::int16_t>(uses_log_append_time ? attributes | kLogAppendTimeBit : attributes);
  header.max_timestamp = max_timestamp;
  return true;
}

bool stamp_timestamps(BatchHeader& header, Bytes records, bool uses_log_append_time, TimestampMs max_timestamp) {
  if (!set_timestamps(header, uses_log_append_time, max_timestamp)) return false;
  std::byte encoded[kBatchHeaderSize];
  write_header(header, encoded);
  header.crc = crc32c(records, crc32c(Bytes(encoded).subspan(kCrcStart)));
  return true;
}

bool stamp_timestamps(MutableBytes batch, bool uses_log_append_time, TimestampMs max_timestamp) {
  CHECK(batch.size() >= kBatchHeaderSize);
  BatchHeader header = read_header(batch.data());
  if (!stamp_timestamps(header, batch.subspan(kBatchHeaderSize), uses_log_append_time, max_timestamp)) return false;
  write_header(header, batch.data());
  return true;
}

Result<void> pack_batch(BatchHeader header, Bytes records, Compression codec, std::optional<int> level, Scratch& out) {
  if (header.magic != kMagicV2) return failure(Code::unsupported, "magic of a batch to compress");
  const std::size_t start = out.size();
  out.grow(kBatchHeaderSize);
  out.add(kBatchHeaderSize);
  auto packed = compress(codec, records, out, level);
  const std::size_t size = out.size() - start;
  if (packed && size > std::numeric_limits<std::int32_t>::max())
    packed = failure(Code::too_large, "record batch of 2 GiB");
  if (!packed) {
    out.truncate(start);
    return packed;
  }
  header.batch_length = static_cast<std::int32_t>(size - kLogOverhead);
  header.attributes = static_cast<std::int16_t>((header.attributes & ~kCompressionMask) | static_cast<int>(codec));
  std::byte* written = out.data() + start;
  write_header(header, written);
  store_big_endian(written + kCrcPosition, compute_crc({written, size}));
  return {};
}

}  // namespace tailrace::record
