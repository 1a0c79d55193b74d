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

constexpr std::size_t kLegacyOverheadV0 = 14;  // of a message without key and value, after offset and size
constexpr std::size_t kLegacyOverheadV1 = 22;

// What one entry's own fields say, as a BatchHeader: base_offset and last_offset() are both the entry's offset (for a
// wrapped entry the last message's; the first one's needs batch_header()), base and max timestamp the entry's (-1 with
// magic 0), record_count -1 for a wrapped one. `entry` must hold at least its fixed part. Errors: corrupt (too short),
// unsupported (magic).
Result<BatchHeader> shallow_batch_header(Bytes entry);

// The same, with base_offset and record_count of a wrapped entry, for which it is unpacked into `scratch` (cleared
// first). Errors: also corrupt (does not unpack, empty), too_large.
Result<BatchHeader> batch_header(Bytes entry, Scratch& scratch, std::size_t bytes_max);

// Whether an entry's CRC-32 (of zlib) is right; `entry` is at least its 12 + size bytes.
bool legacy_crc_is_valid(Bytes entry);

}  // namespace tailrace::record
