// PURE. Producers: what a partition remembers of its idempotent and transactional producers (KIP-98, KIP-360; Kafka's
// ProducerStateManager, ProducerAppendInfo, ProducerStateEntry). Its state is the fold of the batches in the log:
// `apply` is the one function used both live and in recovery. It also yields the first unstable offset, from which the
// last stable offset follows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/record/batch.h"
#include "engine/record/control.h"

namespace tailrace::partition {

struct RememberedBatch {
  std::int32_t first_sequence = 0;
  std::int32_t last_sequence = 0;
  Offset last_offset = 0;
  std::int32_t offset_delta = 0;  // last - base
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
  std::vector<RememberedBatch> batches;                 // oldest first, at most kBatchesMax
};

// The entries of a snapshot in the order of the file. Error: corrupt (version, size, CRC).
Result<std::vector<ProducerState>> decode_snapshot(Bytes snapshot);

class Producers {
 public:
  // Before an append by a client: nullopt: append it; a batch: it is a duplicate of this one, answer its base offset.
  // A producer that is not known (expired, its records deleted) may begin with any sequence. Batches without sequence
  // (-1: offset commits of transactions, which the coordinator writes) are only checked for their epoch. Errors:
  // invalid_producer_epoch (older than the last one seen), out_of_order_sequence (a gap; not 0 with a new epoch; a
  // repeat older than the remembered batches, for which Kafka has no answer of its own), invalid_transaction (no
  // transactional batch while the producer has a transaction open).
  Result<std::optional<RememberedBatch>> check(const record::BatchHeader& header) const;

  using EndMarker = record::EndMarker;
  // Before an append of a marker by a coordinator (ProducerAppendInfo.appendEndTxnMarker). `transaction_version` is
  // that of WriteTxnMarkers: from 2 on a marker has a higher epoch than the transaction's records, except when it is
  // written again (KIP-890). Errors: invalid_producer_epoch, fenced_epoch (the coordinator's epoch is older than one
  // seen).
  Result<void> check_marker(const record::BatchHeader& header, const EndMarker& marker,
                            std::int16_t transaction_version) const;

  // Takes note of a batch that is (about to be) in the log at header.base_offset. `end_marker` is given for a control
  // batch that commits or aborts: its coordinator epoch and whether it aborts. When it ends an open transaction, the
  // result describes that (an aborted one belongs into the transaction index). Batches without a producer, and control
  // batches without a marker, change nothing.
  struct EndedTransaction {
    ProducerId producer_id;
    Offset first_offset;
    Offset last_offset;
    Offset last_stable_offset;
    bool aborted;
  };
  std::optional<EndedTransaction> apply(const record::BatchHeader& header, const std::optional<EndMarker>& end_marker);

  // What is known of a producer (nullopt: nothing), and back to it, when the data batches applied since are not to be
  // in the log after all. Several are taken back in the opposite order.
  std::optional<ProducerState> state_of(ProducerId producer_id) const;
  void restore(ProducerId producer_id, std::optional<ProducerState> state);

  // First offset of the oldest open transaction; nullopt: none. The last stable offset is this, or the high watermark.
  // Once on_high_watermark() has been called, transactions count as open until their marker lies below the high
  // watermark, as in Kafka: what a marker decided is not seen before it is replicated. A log that has no followers need
  // not call it.
  std::optional<Offset> first_unstable_offset() const;
  void on_high_watermark(Offset high_watermark);

  // Forgets producers without an open transaction whose last batch is `expiration_ms` old or older.
  void expire(TimestampMs now_ms, std::int64_t expiration_ms);
  void clear();
  std::size_t size() const { return producers_.size(); }
  const std::map<ProducerId, ProducerState>& all() const { return producers_; }

  // Kafka's .snapshot file: version 1, CRC, entries (docs/formats.md). Like Kafka, only each producer's last batch is
  // kept. The entries are in the order in which Kafka's hash table has them, so that equal states give equal files.
  // load replaces the state; error: corrupt, state unchanged. `log_end`/`now` rules of
  // ProducerStateManager.truncateAndReload (entries expired by time are dropped) are the caller's, by expire().
  std::string encode_snapshot() const;
  Result<void> load_snapshot(Bytes snapshot);

 private:
  std::optional<EndedTransaction> end_transaction(ProducerState& state, Offset marker_offset, const EndMarker& marker);

  std::map<ProducerId, ProducerState> producers_;
  std::map<Offset, ProducerId> open_transactions_;  // by first offset
  // Ended by a marker that is not below high_watermark_: first offset -> offset of the marker.
  std::map<Offset, Offset> unreplicated_transactions_;
  std::optional<Offset> high_watermark_;
};

}  // namespace tailrace::partition
