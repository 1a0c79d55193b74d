// RecordBatch v2 (KIP-98): a view over the 61-byte header that is followed by the records, and the checks that a batch
// from a client must pass. The engine stores the bytes as they are; only base offset and partition leader epoch are
// set, which lie before the checksummed part.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"

namespace tailrace::record {

constexpr std::size_t kBatchHeaderSize = 61;
constexpr std::size_t kLogOverhead = 12;  // base offset and length, before what `length` counts
constexpr std::size_t kCrcPosition = 17;
constexpr std::size_t kCrcStart = 21;       // first byte that the CRC covers (attributes)
constexpr std::size_t kMagicPosition = 16;  // of the magic byte, in every format; so many and one bytes tell the format
constexpr std::size_t kSizeUpToMagic = 17;
constexpr std::int8_t kMagicV2 = 2;

enum class Compression : std::uint8_t { none = 0, gzip = 1, snappy = 2, lz4 = 3, zstd = 4 };

// Attributes: bits 0-2 compression, 3 timestamp type, 4 transactional, 5 control, 6 delete horizon (KIP-534).
constexpr std::int16_t kCompressionMask = 0x07;
constexpr std::int16_t kLogAppendTimeBit = 0x08;
constexpr std::int16_t kTransactionalBit = 0x10;
constexpr std::int16_t kControlBit = 0x20;
constexpr std::int16_t kDeleteHorizonBit = 0x40;

// The header's fields in host order; 61 bytes on disk and wire.
struct BatchHeader {
  Offset base_offset = 0;
  std::int32_t batch_length = 0;  // bytes after this field: 49 and the records
  LeaderEpoch partition_leader_epoch = -1;
  std::int8_t magic = kMagicV2;
  std::uint32_t crc = 0;
  std::int16_t attributes = 0;
  std::int32_t last_offset_delta = 0;
  TimestampMs base_timestamp = 0;  // or the delete horizon, with kDeleteHorizonBit
  TimestampMs max_timestamp = 0;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = -1;
  std::int32_t base_sequence = -1;
  std::int32_t record_count = 0;

  [[nodiscard]] std::size_t size_bytes() const { return kLogOverhead + static_cast<std::size_t>(batch_length); }
  // In unsigned arithmetic: a header that was not checked may hold anything.
  [[nodiscard]] Offset last_offset() const {
    return static_cast<Offset>(static_cast<std::uint64_t>(base_offset) + static_cast<std::uint64_t>(last_offset_delta));
  }
  [[nodiscard]] Offset next_offset() const {
    return static_cast<Offset>(static_cast<std::uint64_t>(last_offset()) + 1);
  }
  [[nodiscard]] Compression compression() const { return static_cast<Compression>(attributes & kCompressionMask); }
  [[nodiscard]] bool is_log_append_time() const { return (attributes & kLogAppendTimeBit) != 0; }
  [[nodiscard]] bool is_transactional() const { return (attributes & kTransactionalBit) != 0; }
  [[nodiscard]] bool is_control() const { return (attributes & kControlBit) != 0; }
  [[nodiscard]] bool has_delete_horizon() const { return (attributes & kDeleteHorizonBit) != 0; }
  [[nodiscard]] bool has_producer() const { return producer_id != kNoProducerId; }
  // The sequence of the last record; sequences wrap from 2^31-1 to 0 (DefaultRecordBatch.incrementSequence).
  [[nodiscard]] std::int32_t last_sequence() const;
};

// `from` must hold at least kBatchHeaderSize bytes; nothing is checked.
BatchHeader read_header(const std::byte* from);
void write_header(const BatchHeader& header, std::byte* to);  // 61 bytes

// The sequence `by` records after `sequence` (both >= 0): after 2^31-1 comes 0.
std::int32_t increment_sequence(std::int32_t sequence, std::int32_t by);

// The checksum over attributes..end of a whole batch, which must be no shorter than kCrcStart.
std::uint32_t compute_crc(Bytes batch);

// Checks of what a client produced to one partition (ProduceRequest.validateRecords,
// UnifiedLog.analyzeAndValidateRecords, LogValidator.validateBatch): `batch` must be exactly one batch. The records
// inside are not looked at (validate.h does that). Errors: corrupt (length, unknown magic, CRC), invalid_record (no
// whole batch, more than one, magic 0 or 1, base offset not 0, count and offset range do not agree, control batch,
// producer id without sequence, unknown compression bits). A sequence without a producer id is fine, as in Kafka:
// clients that are not idempotent send -1 or 0.
Result<BatchHeader> check_produced(Bytes batch);

}  // namespace tailrace::record
