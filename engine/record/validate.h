// What a broker does with a produced batch beyond its header (LogValidator): walks the records where the topic's rules
// ask for it, and changes what a broker may change: append time, max timestamp, compression. Keys and values never
// change.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/record/batch.h"
#include "engine/record/compression.h"

namespace tailrace::record {

// A topic's rules for records; the defaults are Kafka's.
struct RecordRules {
  bool keys_required = false;                                             // cleanup.policy has compact
  bool uses_log_append_time = false;                                      // message.timestamp.type
  std::int64_t before_max_ms = std::numeric_limits<std::int64_t>::max();  // message.timestamp.before.max.ms
  std::int64_t after_max_ms = 3600 * 1000;                                // message.timestamp.after.max.ms
  TimestampMs now_ms = 0;
  std::size_t uncompressed_bytes_max = 0;  // of a compressed batch; more gets too_large
  // Of one record in a compressed batch, without its length (max.decompressed.message.bytes).
  std::size_t record_bytes_max = std::numeric_limits<std::int32_t>::max();
  std::size_t failures_max = 10'000;  // so many are told one by one; a record may be as small as 7 bytes
};

// One record that breaks a rule, by its index in the batch (ProduceResponse's record_errors, KIP-467).
struct RecordFailure {
  enum class Reason : std::uint8_t { key_missing, time_out_of_range, append_time_from_client };
  std::int32_t index = 0;
  Reason reason = Reason::key_missing;
};

struct Validation {
  TimestampMs max_timestamp = kNoTimestamp;  // of the records, which the header may tell wrongly
  bool has_failure = false;                  // the batch is refused, with refusal()
  bool has_time_failure = false;             // one of them is of time
  std::vector<RecordFailure> failures;       // the first failures_max of them
  Bytes records;                             // unpacked: in the batch, or in the scratch memory
  [[nodiscard]] bool is_accepted() const { return !has_failure; }
  // invalid_timestamp if any failure is one of time, else invalid_record, as Kafka answers.
  [[nodiscard]] Code refusal() const;
};

// A text for people about one failure, for the record's error message.
const char* text(RecordFailure::Reason reason);

// Walks the records of a batch that check_produced() has accepted. `scratch` is used for unpacking. Errors:
// invalid_record (the records do not have the bounds, the count or the offset deltas 0..n-1 that the header tells, or
// one is too large),
// corrupt (does not unpack), too_large. Kafka would renumber wrong offset deltas in compressed batches and keep them in
// others; here they are refused.
Result<Validation> validate_records(Bytes batch, const RecordRules& rules, Scratch& scratch);

// What stands in the header of an accepted batch: with append time that bit and `now`, else no bit and the true
// maximum. True when something changed, and the CRC is due.
bool set_timestamps(BatchHeader& header, bool uses_log_append_time, TimestampMs max_timestamp);
// The same, and the CRC is made anew when something changes. `records` is what follows the header.
bool stamp_timestamps(BatchHeader& header, Bytes records, bool uses_log_append_time, TimestampMs max_timestamp);
// The same on a whole batch in memory.
bool stamp_timestamps(MutableBytes batch, bool uses_log_append_time, TimestampMs max_timestamp);

// The batch of `header` with its unpacked `records`, packed by another codec (compression.type of a topic) and appended
// to `out`; base offset, times, producer and all other fields stay. `level` as for compress(). Errors: too_large,
// unsupported, limit_reached; `out` then has what it had before.
Result<void> pack_batch(BatchHeader header, Bytes records, Compression codec, std::optional<int> level, Scratch& out);

}  // namespace tailrace::record
