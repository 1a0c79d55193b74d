#include "engine/log/batch_scanner.h"

#include <algorithm>
#include <limits>

#include "engine/record/legacy.h"

namespace tailrace::log {
namespace {

// Base offset, length, leader epoch or CRC, magic: enough to see which kind of header it is.
constexpr std::size_t kPrefixSize = 17;
constexpr std::size_t kMagicAt = 16;

bool is_sound(const record::BatchHeader& header) {
  return header.base_offset >= 0 && header.last_offset_delta >= 0 && header.record_count >= 0 &&
         header.base_offset < std::numeric_limits<Offset>::max() - header.last_offset_delta;
}

}  // namespace

Result<std::optional<record::BatchHeader>> BatchScanner::next() {
  position_ = next_;
  batch_size_ = 0;
  if (position_ >= end_) return std::nullopt;
  const std::uint64_t left = end_ - position_;
  if (left < record::kLogOverhead + record::kLegacyOverheadV0) return failure(Code::corrupt, "a torn batch header");
  Result<Bytes> prefix = bytes_at(position_, kPrefixSize);
  if (!prefix) return std::unexpected(prefix.error());
  const auto length = load_big_endian<std::int32_t>(prefix->data() + 8);
  const auto magic = static_cast<std::int8_t>((*prefix)[kMagicAt]);
  if (length < 0 || record::kLogOverhead + static_cast<std::uint64_t>(length) > left)
    return failure(Code::corrupt, "length of a batch");

  Result<record::BatchHeader> header = failure(Code::corrupt, "magic of a batch");
  if (magic == 0 || magic == 1) {
    header = legacy_header(length);
  } else if (magic == record::kMagicV2) {
    if (record::kLogOverhead + static_cast<std::size_t>(length) < record::kBatchHeaderSize)
      return failure(Code::corrupt, "length of a batch");
    Result<Bytes> bytes = bytes_at(position_, record::kBatchHeaderSize);
    if (!bytes) return std::unexpected(bytes.error());
    header = record::read_header(bytes->data());
    if (!is_sound(*header)) return failure(Code::corrupt, "offsets of a batch");
  }
  if (!header) return std::unexpected(header.error());
  if (header->base_offset < 0 || header->base_offset == std::numeric_limits<Offset>::max())
    return failure(Code::corrupt, "offset of a message");
  batch_size_ = header->size_bytes();
  next_ = position_ + batch_size_;
  return *header;
}

Result<record::BatchHeader> BatchScanner::legacy_header(std::int32_t length) {
  const std::size_t size = record::kLogOverhead + static_cast<std::size_t>(length);
  Result<Bytes> entry = bytes_at(position_, size);
  if (!entry) return std::unexpected(entry.error());
  return record::shallow_batch_header(*entry);
}

Result<Bytes> BatchScanner::whole() { return bytes_at(position_, batch_size_); }

Result<Bytes> BatchScanner::bytes_at(std::uint64_t position, std::size_t size) {
  if (position < buffered_from_ || position + size > buffered_from_ + buffered_) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(std::max(size, window_), end_ - position));
    if (wanted > buffer_size_) {
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(wanted);
      buffer_size_ = wanted;
    }
    buffered_ = 0;
    Result<std::size_t> got = files_.read(file_, MutableBytes(buffer_.get(), wanted), position);
    if (!got) return std::unexpected(got.error());
    buffered_from_ = position;
    buffered_ = *got;
    if (*got < size) return failure(Code::corrupt, "reading a .log file that has become shorter");
  }
  return Bytes(buffer_.get() + (position - buffered_from_), size);
}

bool crc_is_valid(const record::BatchHeader& header, Bytes batch) {
  if (header.magic < record::kMagicV2) return record::legacy_crc_is_valid(batch);
  return record::compute_crc(batch) == header.crc;
}

}  // namespace tailrace::log
