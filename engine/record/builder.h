// BatchBuilder: makes v2 record batches, as a producer does. It owns its memory and uses it again for the next batch,
// so adding a record allocates nothing once the first batches have been made. Producers of ours, tests and benchmarks
// use it; the broker itself stores batches as it gets them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/record/batch.h"
#include "engine/record/compression.h"
#include "engine/record/records.h"

namespace tailrace::record {

struct BatchOptions {
  Compression compression = Compression::none;
  Offset base_offset = 0;
  LeaderEpoch partition_leader_epoch = kNoLeaderEpoch;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = -1;
  std::int32_t base_sequence = -1;
  bool is_transactional = false;
  bool is_control = false;
  std::optional<TimestampMs> log_append_time = std::nullopt;  // all records then have this time
};

class BatchBuilder {
 public:
  explicit BatchBuilder(const BatchOptions& options = {}) { start(options); }

  // Begins a new batch; what finish() returned is gone.
  void start(const BatchOptions& options);

  // Adds one record; nullopt is null. Key, value and headers are copied. Errors, after which the batch is as before:
  // too_large (the batch would not fit 2^31 bytes), invalid_argument (a negative time other than -1).
  Result<void> add(TimestampMs timestamp, std::optional<Bytes> key, std::optional<Bytes> value,
                   std::span<const Header> headers = {});

  [[nodiscard]] std::int32_t count() const { return header_.record_count; }
  // Of the batch, if it were not compressed.
  [[nodiscard]] std::size_t size_bytes() const { return plain_.size(); }

  // The whole batch with its CRC, which lives until the next start(). The batch must have a record. Errors: too_large.
  Result<Bytes> finish();

 private:
  BatchHeader header_;
  Scratch plain_;  // room for the header, then the records
  Scratch packed_;
};

}  // namespace tailrace::record
