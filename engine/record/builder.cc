#include "engine/record/builder.h"

#include <limits>

#include "engine/base/check.h"

namespace tailrace::record {
namespace {

std::size_t varint_size(std::int64_t value) { return unsigned_varint_size(zigzag_encode(value)); }

std::byte* put_varint(std::byte* to, std::int64_t value) {
  const std::uint64_t encoded = zigzag_encode(value);
  if (encoded < 0x80) {
    *to = static_cast<std::byte>(encoded);
    return to + 1;
  }
  return to + write_unsigned_varint(to, encoded);
}

std::size_t nullable_size(const std::optional<Bytes>& bytes) {
  return bytes ? varint_size(static_cast<std::int64_t>(bytes->size())) + bytes->size() : 1;
}

std::byte* put_bytes(std::byte* to, Bytes bytes) {
  to = put_varint(to, static_cast<std::int64_t>(bytes.size()));
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

std::byte* put_nullable(std::byte* to, const std::optional<Bytes>& bytes) {
  return bytes ? put_bytes(to, *bytes) : put_varint(to, -1);
}

constexpr std::size_t kSizeMax = std::numeric_limits<std::int32_t>::max();

}  // namespace

void BatchBuilder::start(const BatchOptions& options) {
  int attributes = static_cast<int>(options.compression);
  if (options.log_append_time) attributes |= kLogAppendTimeBit;
  if (options.is_transactional) attributes |= kTransactionalBit;
  if (options.is_control) attributes |= kControlBit;
  header_ = BatchHeader{};
  header_.base_offset = options.base_offset;
  header_.partition_leader_epoch = options.partition_leader_epoch;
  header_.attributes = static_cast<std::int16_t>(attributes);
  header_.base_timestamp = kNoTimestamp;
  header_.max_timestamp = options.log_append_time.value_or(kNoTimestamp);
  header_.producer_id = options.producer_id;
  header_.producer_epoch = options.producer_epoch;
  header_.base_sequence = options.base_sequence;
  plain_.clear();
  plain_.grow(kBatchHeaderSize);
  plain_.add(kBatchHeaderSize);
}

Result<void> BatchBuilder::add(TimestampMs timestamp, std::optional<Bytes> key, std::optional<Bytes> value,
                               std::span<const Header> headers) {
  if (timestamp < kNoTimestamp) return failure(Code::invalid_argument, "negative time of a record");
  const std::int32_t offset_delta = header_.record_count;
  // Unsigned, since the largest time minus -1 has no int64; readers add it up the same way.
  const auto from_base = static_cast<std::uint64_t>(timestamp) - static_cast<std::uint64_t>(header_.base_timestamp);
  const std::int64_t timestamp_delta = offset_delta == 0 ? 0 : static_cast<std::int64_t>(from_base);

  constexpr std::size_t kAttributesSize = 1;
  std::size_t body_size = kAttributesSize + varint_size(timestamp_delta) + varint_size(offset_delta) +
                          nullable_size(key) + nullable_size(value) +
                          varint_size(static_cast<std::int64_t>(headers.size()));
  for (const Header& header : headers) body_size += nullable_size(header.key) + nullable_size(header.value);
  const std::size_t size = varint_size(static_cast<std::int64_t>(body_size)) + body_size;
  if (size > kSizeMax - plain_.size()) return failure(Code::too_large, "record batch of 2 GiB");

  std::byte* to = plain_.grow(size);
  to = put_varint(to, static_cast<std::int64_t>(body_size));
  *to++ = std::byte{0};  // no attribute is in use
  to = put_varint(to, timestamp_delta);
  to = put_varint(to, offset_delta);
  to = put_nullable(to, key);
  to = put_nullable(to, value);
  to = put_varint(to, static_cast<std::int64_t>(headers.size()));
  for (const Header& header : headers) {
    to = put_bytes(to, header.key);
    to = put_nullable(to, header.value);
  }
  plain_.add(size);
  DCHECK(to == plain_.data() + plain_.size());

  if (offset_delta == 0) header_.base_timestamp = timestamp;
  if (!header_.is_log_append_time() && timestamp > header_.max_timestamp) header_.max_timestamp = timestamp;
  header_.last_offset_delta = offset_delta;
  ++header_.record_count;
  return {};
}

Result<Bytes> BatchBuilder::finish() {
  CHECK(header_.record_count > 0);
  Scratch* batch = &plain_;
  if (header_.compression() != Compression::none) {
    packed_.clear();
    packed_.grow(kBatchHeaderSize);
    packed_.add(kBatchHeaderSize);
    const auto packed = compress(header_.compression(), plain_.bytes().subspan(kBatchHeaderSize), packed_);
    if (!packed) return std::unexpected(packed.error());
    batch = &packed_;
  }
  if (batch->size() > kSizeMax) return failure(Code::too_large, "record batch of 2 GiB");
  header_.batch_length = static_cast<std::int32_t>(batch->size() - kLogOverhead);
  write_header(header_, batch->data());
  store_big_endian(batch->data() + kCrcPosition, compute_crc(batch->bytes()));
  return batch->bytes();
}

}  // namespace tailrace::record
