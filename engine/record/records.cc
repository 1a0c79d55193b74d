#include "engine/record/records.h"

#include <limits>

#include "engine/record/legacy.h"

namespace tailrace::record {
namespace {

// Sums of numbers from outside wrap, as Java's do.
std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// Reads fields off the front of a span; false when the span ends too early or the field is ill-formed.
class Cursor {
 public:
  explicit Cursor(Bytes from) : at_(from.data()), end_(from.data() + from.size()) {}

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] const std::byte* at() const { return at_; }

  bool int8(std::int8_t& value) {
    if (at_ == end_) return false;
    value = static_cast<std::int8_t>(*at_++);
    return true;
  }
  bool varint(std::int32_t& value) {
    std::int64_t wide = 0;
    if (short_varint(wide)) [[likely]] {
      value = static_cast<std::int32_t>(wide);
      return true;
    }
    const std::size_t size = read_varint({at_, left()}, value);
    at_ += size;
    return size != 0;
  }
  bool varlong(std::int64_t& value) {
    if (short_varint(value)) [[likely]]
      return true;
    const std::size_t size = read_varlong({at_, left()}, value);
    at_ += size;
    return size != 0;
  }
  // A length and so many bytes; any negative length is null, as in Kafka (Utils.readBytes).
  bool nullable_bytes(std::optional<Bytes>& value) {
    std::int32_t size = 0;
    if (!varint(size)) return false;
    if (size < 0) {
      value.reset();
      return true;
    }
    if (static_cast<std::size_t>(size) > left()) return false;
    value = Bytes{at_, static_cast<std::size_t>(size)};
    at_ += size;
    return true;
  }

 private:
  // One or two bytes are most of what there is; this way they take no loop.
  bool short_varint(std::int64_t& value) {
    if (left() < 2) return false;
    const auto first = static_cast<std::uint64_t>(at_[0]);
    const auto second = static_cast<std::uint64_t>(at_[1]);
    if (first < 0x80) {
      value = zigzag_decode(first);
      at_ += 1;
      return true;
    }
    if (second >= 0x80) return false;
    value = zigzag_decode((first & 0x7F) | second << 7);
    at_ += 2;
    return true;
  }

  const std::byte* at_;
  const std::byte* end_;
};

bool read_header_of_record(Cursor& cursor, Header& header) {
  std::optional<Bytes> key;
  if (!cursor.nullable_bytes(key) || !key) return false;
  header.key = *key;
  return cursor.nullable_bytes(header.value);
}

}  // namespace

bool Headers::next(Header& header) {
  if (count_ == 0) return false;
  Cursor cursor(encoded_);
  if (!read_header_of_record(cursor, header)) {
    count_ = 0;
    return false;
  }
  --count_;
  encoded_ = encoded_.last(cursor.left());
  return true;
}

Result<std::size_t> decode_record(const BatchHeader& header, Bytes from, Record& record) {
  Cursor cursor(from);
  std::int32_t body_size = 0;
  if (!cursor.varint(body_size)) return failure(Code::invalid_record, "size of a record");
  if (body_size < 0 || static_cast<std::size_t>(body_size) > cursor.left()) {
    return failure(Code::invalid_record, "record is larger than its batch");
  }
  const std::size_t prefix_size = from.size() - cursor.left();
  const std::size_t size = prefix_size + static_cast<std::size_t>(body_size);
  cursor = Cursor(from.subspan(prefix_size, static_cast<std::size_t>(body_size)));

  std::int32_t header_count = 0;
  if (!cursor.int8(record.attributes) || !cursor.varlong(record.timestamp_delta) ||
      !cursor.varint(record.offset_delta) || !cursor.nullable_bytes(record.key) ||
      !cursor.nullable_bytes(record.value) || !cursor.varint(header_count)) {
    return failure(Code::invalid_record, "record is larger than its size");
  }
  // Each header takes two bytes at least; Kafka's bound is one byte, which the reading below makes the same.
  if (header_count < 0 || static_cast<std::size_t>(header_count) > cursor.left()) {
    return failure(Code::invalid_record, "number of headers of a record");
  }
  const Bytes headers{cursor.at(), cursor.left()};
  Header ignored;
  for (std::int32_t i = 0; i < header_count; ++i) {
    if (!read_header_of_record(cursor, ignored)) return failure(Code::invalid_record, "header of a record");
  }
  if (cursor.left() != 0) return failure(Code::invalid_record, "record is smaller than its size");

  record.magic = kMagicV2;
  record.offset = wrapping_sum(header.base_offset, record.offset_delta);
  record.timestamp =
      header.is_log_append_time() ? header.max_timestamp : wrapping_sum(header.base_timestamp, record.timestamp_delta);
  record.sequence = header.base_sequence >= 0 ? increment_sequence(header.base_sequence, record.offset_delta) : -1;
  record.headers = Headers(headers, header_count);
  record.size_bytes = static_cast<std::uint32_t>(size);
  return size;
}

Result<Records> Records::open(Bytes batch, Scratch& scratch, std::size_t bytes_max) {
  if (batch.size() < kSizeUpToMagic) return failure(Code::corrupt, "batch is shorter than its header");
  const auto magic = static_cast<std::int8_t>(batch[kMagicPosition]);
  return magic == kMagicV2 ? open_v2(batch, scratch, bytes_max) : open_legacy(batch, scratch, bytes_max);
}

Result<Records> Records::open_v2(Bytes batch, Scratch& scratch, std::size_t bytes_max) {
  if (batch.size() < kBatchHeaderSize) return failure(Code::corrupt, "batch is shorter than its header");
  Records records;
  records.header_ = read_header(batch.data());
  const BatchHeader& header = records.header_;
  if (header.batch_length < static_cast<std::int32_t>(kBatchHeaderSize - kLogOverhead) ||
      header.size_bytes() > batch.size()) {
    return failure(Code::corrupt, "batch is shorter than its length");
  }
  if (header.record_count < 0) return failure(Code::invalid_record, "record count of a record batch");
  records.count_left_ = header.record_count;
  // A batch that compaction emptied has no records, not even compressed ones.
  if (header.record_count == 0) return records;

  const Bytes encoded = batch.first(header.size_bytes()).subspan(kBatchHeaderSize);
  if (header.compression() == Compression::none) {
    records.all_ = encoded;
  } else {
    scratch.clear();
    if (auto unpacked = decompress(header.compression(), encoded, kMagicV2, bytes_max, scratch); !unpacked) {
      return std::unexpected(unpacked.error());
    }
    records.all_ = scratch.bytes();
  }
  records.left_ = records.all_;
  return records;
}

Result<Records> Records::open_legacy(Bytes entry, Scratch& scratch, std::size_t bytes_max) {
  auto set = open_message_set(entry, scratch, bytes_max);
  if (!set) return std::unexpected(set.error());
  Records records;
  records.header_ = set->header;
  records.all_ = records.left_ = set->messages;
  records.count_left_ = set->header.record_count;
  records.legacy_offset_base_ = set->offset_base;
  records.is_wrapped_ = set->is_wrapped;
  return records;
}

Result<bool> Records::next(Record& record) {
  if (count_left_ == 0) return false;
  --count_left_;
  auto read = header_.magic == kMagicV2 ? next_v2(record) : next_legacy(record);
  if (!read) count_left_ = 0;
  return read;
}

Result<bool> Records::next_v2(Record& record) {
  const auto size = decode_record(header_, left_, record);
  if (!size) return std::unexpected(size.error());
  left_ = left_.subspan(*size);
  if (count_left_ == 0 && !left_.empty()) return failure(Code::invalid_record, "more records than the batch's count");
  return true;
}

Result<bool> Records::next_legacy(Record& record) {
  const auto size = decode_message(left_, record);
  if (!size) return std::unexpected(size.error());
  left_ = left_.subspan(*size);
  if (!is_wrapped_) return true;
  // KIP-32: the append time of the wrapper is that of its messages. In a wrapper of magic 0 nothing has a time of its
  // own.
  const bool is_compressed = (record.attributes & kCompressionMask) != 0;
  if (is_compressed) return failure(Code::invalid_record, "compressed message inside a compressed one");
  if (record.magic == 1 && header_.is_log_append_time()) record.timestamp = header_.max_timestamp;
  record.offset = wrapping_sum(record.offset, legacy_offset_base_);
  return true;
}

}  // namespace tailrace::record
