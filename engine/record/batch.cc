#include "engine/record/batch.h"

#include <limits>

#include "engine/base/check.h"
#include "engine/base/crc32c.h"

namespace tailrace::record {
namespace {

// Positions of the header's fields.
constexpr std::size_t kBaseOffsetAt = 0;
constexpr std::size_t kLengthAt = 8;
constexpr std::size_t kLeaderEpochAt = 12;
constexpr std::size_t kAttributesAt = kCrcStart;
constexpr std::size_t kLastOffsetDeltaAt = 23;
constexpr std::size_t kBaseTimestampAt = 27;
constexpr std::size_t kMaxTimestampAt = 35;
constexpr std::size_t kProducerIdAt = 43;
constexpr std::size_t kProducerEpochAt = 51;
constexpr std::size_t kBaseSequenceAt = 53;
constexpr std::size_t kRecordCountAt = 57;

// Below this length not even a message of magic 0 fits (crc, magic, attributes, two sizes).
constexpr std::int32_t kLengthMin = 14;

// Finds the only batch in what a client sent for a partition (ProduceRequest.validateRecords,
// ByteBufferLogInputStream).
Result<void> check_single_batch(Bytes batch) {
  if (batch.size() < kLogOverhead) return failure(Code::invalid_record, "no record batch");
  const auto length = load_big_endian<std::int32_t>(batch.data() + kLengthAt);
  if (length < kLengthMin) return failure(Code::corrupt, "length of a record batch is too small");
  if (batch.size() < kSizeUpToMagic) return failure(Code::invalid_record, "no whole record batch");
  const auto magic = load_big_endian<std::int8_t>(batch.data() + kMagicPosition);
  if (magic < 0 || magic > kMagicV2) return failure(Code::corrupt, "unknown magic of a record batch");
  const std::size_t size = kLogOverhead + static_cast<std::size_t>(length);
  if (batch.size() < size) return failure(Code::invalid_record, "no whole record batch");
  if (magic != kMagicV2) return failure(Code::invalid_record, "record batch is not of magic 2");
  if (batch.size() > size) return failure(Code::invalid_record, "more than one record batch");
  if (size < kBatchHeaderSize) return failure(Code::corrupt, "record batch is shorter than its header");
  return {};
}

}  // namespace

std::int32_t BatchHeader::last_sequence() const {
  return base_sequence < 0 ? -1 : increment_sequence(base_sequence, last_offset_delta);
}

std::int32_t increment_sequence(std::int32_t sequence, std::int32_t by) {
  // Modulo 2^31, in unsigned arithmetic because the header's delta may be anything.
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(sequence) + static_cast<std::uint32_t>(by)) &
                                   0x7FFFFFFFu);
}

BatchHeader read_header(const std::byte* from) {
  return BatchHeader{
      .base_offset = load_big_endian<std::int64_t>(from + kBaseOffsetAt),
      .batch_length = load_big_endian<std::int32_t>(from + kLengthAt),
      .partition_leader_epoch = load_big_endian<std::int32_t>(from + kLeaderEpochAt),
      .magic = load_big_endian<std::int8_t>(from + kMagicPosition),
      .crc = load_big_endian<std::uint32_t>(from + kCrcPosition),
      .attributes = load_big_endian<std::int16_t>(from + kAttributesAt),
      .last_offset_delta = load_big_endian<std::int32_t>(from + kLastOffsetDeltaAt),
      .base_timestamp = load_big_endian<std::int64_t>(from + kBaseTimestampAt),
      .max_timestamp = load_big_endian<std::int64_t>(from + kMaxTimestampAt),
      .producer_id = load_big_endian<std::int64_t>(from + kProducerIdAt),
      .producer_epoch = load_big_endian<std::int16_t>(from + kProducerEpochAt),
      .base_sequence = load_big_endian<std::int32_t>(from + kBaseSequenceAt),
      .record_count = load_big_endian<std::int32_t>(from + kRecordCountAt),
  };
}

void write_header(const BatchHeader& header, std::byte* to) {
  store_big_endian(to + kBaseOffsetAt, header.base_offset);
  store_big_endian(to + kLengthAt, header.batch_length);
  store_big_endian(to + kLeaderEpochAt, header.partition_leader_epoch);
  store_big_endian(to + kMagicPosition, header.magic);
  store_big_endian(to + kCrcPosition, header.crc);
  store_big_endian(to + kAttributesAt, header.attributes);
  store_big_endian(to + kLastOffsetDeltaAt, header.last_offset_delta);
  store_big_endian(to + kBaseTimestampAt, header.base_timestamp);
  store_big_endian(to + kMaxTimestampAt, header.max_timestamp);
  store_big_endian(to + kProducerIdAt, header.producer_id);
  store_big_endian(to + kProducerEpochAt, header.producer_epoch);
  store_big_endian(to + kBaseSequenceAt, header.base_sequence);
  store_big_endian(to + kRecordCountAt, header.record_count);
}

std::uint32_t compute_crc(Bytes batch) {
  CHECK(batch.size() >= kCrcStart);
  return crc32c(batch.subspan(kCrcStart));
}

Result<BatchHeader> check_produced(Bytes batch) {
  if (auto single = check_single_batch(batch); !single) return std::unexpected(single.error());
  const BatchHeader header = read_header(batch.data());
  if (header.base_offset != 0) return failure(Code::invalid_record, "base offset of a produced batch is not 0");
  if (compute_crc(batch) != header.crc) return failure(Code::corrupt, "CRC of a record batch");

  if (header.last_offset_delta < 0 || header.last_offset_delta == std::numeric_limits<std::int32_t>::max()) {
    return failure(Code::invalid_record, "offset range of a record batch");
  }
  if (header.record_count <= 0) return failure(Code::invalid_record, "record count of a record batch");
  if (header.record_count != header.last_offset_delta + 1) {
    return failure(Code::invalid_record, "record count and offset range differ");
  }
  if (header.is_control()) return failure(Code::invalid_record, "control batch from a client");
  if (header.has_producer() && header.base_sequence < 0) {
    return failure(Code::invalid_record, "producer id without a sequence");
  }
  if (header.compression() > Compression::zstd) return failure(Code::invalid_record, "unknown compression");
  return header;
}

}  // namespace tailrace::record
