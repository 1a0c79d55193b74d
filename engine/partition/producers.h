// PURE. Producers: what a partition remembers of its idempotent and transactional producers (KIP-98, KIP-360; Kafka's
// ProducerStateManager, ProducerAppendInfo, ProducerStateEntry). Its state is the fold of the batches in the log: `apply` is the
// one function used both live and in recovery. It also yields the first unstable offset, from which the last stable offset follows.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/record/batch.h"

namespace tailrace::partition {

struct RememberedBatch {
  std::int32_t first_sequence = 0;
  std::int32_t last_sequence = 0;
  Offset last_offset = 0;
  std::int32_t offset_delta = 0;      // last - base
  TimestampMs timestamp = kNoTimestamp;
  [[nodiscard]] Offset base_offset() const { return last_offset - offset_delta; }
};

struct ProducerState {
  static constexpr std::size_t kBatchesMax = 5;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch = -1;
  std::int32_t coordinator_epoch = -1;
  TimestampMs last_timestamp = kNoTimestamp;
  Offset current_transaction_first_offset = kNoOffset;  // -1: no open transaction
  std::vector<RememberedBatch> batches;                  // oldest first, at most kBatchesMax
};

class Producers {
 public:
  // Before an append by a client: nullopt: append it; a batch: it is a duplicate of this one, answer its base offset.
  // Errors: out_of_order_sequence, duplicate_sequence, invalid_producer_epoch, unknown_producer as ProducerAppendInfo decides.
  Result<std::optional<RememberedBatch>> check(const record::BatchHeader& header) const;

  // Takes note of a batch that is (about to be) in the log at header.base_offset. `end_marker` is given for a control batch that
  // commits or aborts: its coordinator epoch and whether it aborts. When an abort ends an open transaction, the result describes it.
  struct EndMarker { bool aborts = false; std::int32_t coordinator_epoch = 0; };
  struct EndedTransaction { ProducerId producer_id; Offset first_offset; Offset last_offset; Offset last_stable_offset; bool aborted; };
  std::optional<EndedTransaction> apply(const record::BatchHeader& header, const std::optional<EndMarker>& end_marker);

  // First offset of the oldest open transaction; nullopt: none. The last stable offset is this, or the high watermark.
  std::optional<Offset> first_unstable_offset() const;

  // Forgets producers without an open transaction whose last batch is older than `expiration_ms`.
  void expire(TimestampMs now_ms, std::int64_t expiration_ms);
  void clear();
  std::size_t size() const { return producers_.size(); }
  const std::map<ProducerId, ProducerState>& all() const { return producers_; }

  // Kafka's .snapshot file: version 1, CRC, entries (docs/formats.md). Like Kafka, only each producer's last batch is kept.
  // load replaces the state; error: corrupt, state unchanged. `log_end`/`now` rules of ProducerStateManager.truncateAndReload
  // (entries expired by time are dropped) are the caller's, by expire().
  std::string encode_snapshot() const;
  Result<void> load_snapshot(Bytes snapshot);

 private:
  std::map<ProducerId, ProducerState> producers_;
  std::map<Offset, ProducerId> open_transactions_;  // by first offset
};

}  // namespace tailrace::partition
