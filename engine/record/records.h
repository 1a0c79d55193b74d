// Records: iterates what is inside one stored batch, of any magic: a v2 batch's records, or the messages of a magic 0
// or 1 entry, wrapped ones included (KIP-31, KIP-32). Keys, values and headers are views into the batch or into the
// caller's scratch memory, so both must stay in place while a Record is used. Nothing is allocated per record.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/record/batch.h"
#include "engine/record/compression.h"

namespace tailrace::record {

struct Header {
  Bytes key;
  std::optional<Bytes> value;  // nullopt: null, which is not the same as empty
};

// The headers of one record, which the record's reader has found to be sound.
class Headers {
 public:
  Headers() = default;
  Headers(Bytes encoded, std::int32_t count) : encoded_(encoded), count_(count) {}
  [[nodiscard]] std::int32_t count() const { return count_; }
  [[nodiscard]] Bytes encoded() const { return encoded_; }  // without the count
  // False when there is no further one.
  bool next(Header& header);

 private:
  Bytes encoded_;
  std::int32_t count_ = 0;
};

struct Record {
  Offset offset = kNoOffset;
  std::int32_t offset_delta = 0;         // v2: to the batch's base offset
  TimestampMs timestamp = kNoTimestamp;  // with LogAppendTime that of the batch
  std::int64_t timestamp_delta = 0;      // v2: to the batch's base timestamp
  std::int32_t sequence = -1;
  std::int8_t attributes = 0;  // v2: unused
  std::optional<Bytes> key;    // nullopt: null
  std::optional<Bytes> value;
  Headers headers;
  std::uint32_t size_bytes = 0;  // with its length prefix
  std::int8_t magic = kMagicV2;
  // Magic 0 and 1 only: the message's own checksum.
  std::uint32_t crc = 0;
  bool crc_is_valid = true;
};

// Decodes one v2 record at the start of `from` (sizes of everything are checked); `record.offset` and the like follow
// from `header`. Returns the bytes it takes. Error: invalid_record.
Result<std::size_t> decode_record(const BatchHeader& header, Bytes from, Record& record);

class Records {
 public:
  // `batch` is one whole v2 batch or one entry of magic 0 or 1 (12 + length bytes; more is ignored). Compressed ones
  // are unpacked into `scratch` (cleared first), up to `bytes_max`. Errors: corrupt (too short, does not unpack),
  // too_large, unsupported (magic, codec). The CRC is not checked here.
  static Result<Records> open(Bytes batch, Scratch& scratch, std::size_t bytes_max);

  // The next record; false at the end. Errors: invalid_record (a record breaks its bounds; fewer or more than the
  // header's count). Iteration ends with the first error.
  Result<bool> next(Record& record);

  // The batch's header; for magic 0 and 1 as batch_header() in legacy.h tells it.
  [[nodiscard]] const BatchHeader& header() const { return header_; }
  // The uncompressed records of a v2 batch, all of them.
  [[nodiscard]] Bytes uncompressed() const { return all_; }

 private:
  static Result<Records> open_v2(Bytes batch, Scratch& scratch, std::size_t bytes_max);
  static Result<Records> open_legacy(Bytes entry, Scratch& scratch, std::size_t bytes_max);
  Result<bool> next_v2(Record& record);
  Result<bool> next_legacy(Record& record);

  BatchHeader header_;
  Bytes all_;
  Bytes left_;
  std::int32_t count_left_ = 0;
  bool is_wrapped_ = false;
  Offset legacy_offset_base_ = 0;  // added to the inner offsets of a wrapped message set
};

}  // namespace tailrace::record
