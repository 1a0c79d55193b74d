// Message sets of magic 0 and 1, which directories adopted from old Kafka clusters contain: entries {offset, size, crc,
// magic, attributes, [timestamp], key, value}, where a compressed entry's value is itself a message set (KIP-31,
// KIP-32). They are only ever read. A wrapped entry has the offset of its last message; its inner offsets are absolute
// with magic 0 and relative with magic 1.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/record/batch.h"
#include "engine/record/compression.h"

namespace tailrace::record {

struct Record;

// A message after its offset and size, without key, value and timestamp; with timestamp (magic 1).
constexpr std::size_t kLegacyOverheadV0 = 14;
constexpr std::size_t kLegacyOverheadV1 = 22;

// What one entry's own fields say, as a BatchHeader: base_offset and last_offset() are both the entry's offset (for a
// wrapped entry the last message's; the first one's needs batch_header()), base and max timestamp the entry's (-1 with
// magic 0), record_count 1, but -1 for a wrapped one. Of `entry` the first 12 + kLegacyOverheadV1 bytes are looked at,
// or as many as it has. Errors: corrupt (too short), unsupported (magic).
Result<BatchHeader> shallow_batch_header(Bytes entry);

// The same, with base_offset and record_count of a wrapped entry, for which it is unpacked into `scratch` (cleared
// first). Errors: also those of open_message_set.
Result<BatchHeader> batch_header(Bytes entry, Scratch& scratch, std::size_t bytes_max);

// Whether an entry's own CRC-32 (zlib's) is right; `entry` is at least one whole entry.
bool legacy_crc_is_valid(Bytes entry);

// The messages of one entry: itself, or those that it wraps.
struct MessageSet {
  BatchHeader header;      // as batch_header() gives it
  Bytes messages;          // entries; of a wrapped set in `scratch`
  Offset offset_base = 0;  // to add to their offsets
  bool is_wrapped = false;
};
// Errors: corrupt (too short, does not unpack, nothing inside, inner offset above the wrapper's), too_large,
// unsupported.
Result<MessageSet> open_message_set(Bytes entry, Scratch& scratch, std::size_t bytes_max);

// Decodes the entry at the start of `from` with its own offset and timestamp. Returns the bytes it takes. Error:
// corrupt, unsupported.
Result<std::size_t> decode_message(Bytes from, Record& record);

}  // namespace tailrace::record
