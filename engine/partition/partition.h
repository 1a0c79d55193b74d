// Partition: joins the log with producers, replication and waiters. It decides what an append or a read may do and
// keeps the four consistent; when bytes are written and synced is the shard's turn to say (write, sync, on_safe). Owned
// by one shard; all calls are on its thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/log/log.h"
#include "engine/partition/producers.h"
#include "engine/partition/replication.h"
#include "engine/partition/waiters.h"

namespace tailrace::partition {

struct AppendOutcome {
  Offset base_offset = kNoOffset;
  Offset end_offset = kNoOffset;         // exclusive: safe when the high watermark is here
  TimestampMs timestamp = kNoTimestamp;  // of the old batch, for a duplicate
  bool duplicate = false;                // nothing was staged
};

struct PlannedRead {
  log::Extent extent;
  Offset readable_end = kNoOffset;    // high watermark or last stable offset, by isolation
  std::uint64_t available_bytes = 0;  // from the offset to readable_end
  log::EpochEnd diverging;            // leader_epoch kNoLeaderEpoch: the logs agree
  std::vector<log::AbortedTransaction> aborted;
};

struct ListedOffset {
  Offset offset = kNoOffset;
  TimestampMs timestamp = kNoTimestamp;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
};

class Partition {
 public:
  // Both leave a partition that is not leader yet. `create` makes the directory, durable when it returns.
  static Result<std::unique_ptr<Partition>> create(io::Files& files, const std::string& directory,
                                                   const log::LogConfig& config, TimestampMs now_ms);
  static Result<std::unique_ptr<Partition>> open(io::Files& files, const std::string& directory,
                                                 const log::LogConfig& config, const log::OpenHints& hints,
                                                 std::int64_t producer_expiration_ms, TimestampMs now_ms);

  // Error: fenced_epoch.
  Result<void> become_leader(LeaderEpoch epoch);

  // Stages one batch of v2. `bytes` is the whole batch as the client sent it, in memory that stays until it is written;
  // its CRC was verified. Errors: not_leader, fenced_epoch, unknown_epoch, corrupt (header and length do not agree),
  // the sequence errors of Producers, invalid_transaction, disk_full, io_failed.
  Result<AppendOutcome> append(Bytes bytes, LeaderEpoch clients_epoch, TimestampMs now_ms);

  // Where a deletion of the records below `offset` leads to; -1: all below the high watermark (KIP-107). Errors:
  // not_leader, out_of_range (above the high watermark, or another negative number), io_failed (read-only).
  [[nodiscard]] Result<Offset> deletion_end(Offset offset) const;
  // Rolls the active segment, all of whose records have expired, with a producer snapshot as for any roll; its names
  // are left to the next sync.
  Result<void> roll_expired(TimestampMs now_ms);

  // Readable ends. Errors: not_leader, fenced_epoch, unknown_epoch, out_of_range.
  Result<PlannedRead> plan_read(Offset from, std::uint32_t max_bytes, bool whole_first_batch, bool committed_only,
                                LeaderEpoch clients_epoch, LeaderEpoch last_fetched_epoch) const;
  Result<ListedOffset> list_offset(TimestampMs timestamp, bool committed_only, LeaderEpoch clients_epoch) const;
  Result<log::EpochEnd> end_of_epoch(LeaderEpoch epoch, LeaderEpoch clients_epoch) const;

  [[nodiscard]] Offset high_watermark() const { return replication_.high_watermark(); }
  [[nodiscard]] Offset last_stable_offset() const;
  [[nodiscard]] Offset log_start_offset() const { return log_->log_start_offset(); }
  [[nodiscard]] LeaderEpoch leader_epoch() const { return replication_.leader_epoch(); }
  [[nodiscard]] log::Log& log() { return *log_; }
  [[nodiscard]] const log::Log& log() const { return *log_; }
  [[nodiscard]] const Producers& producers() const { return producers_; }
  [[nodiscard]] bool is_leader() const { return replication_.is_leader(); }
  [[nodiscard]] Waiters& waiters() { return waiters_; }
  // A sync failed: read-only until the process is started again, since nobody knows what the disk has.
  [[nodiscard]] bool failed() const { return log_->has_failed_sync(); }

  // Everything below `end` is safe on this replica: moves the high watermark. True: it moved.
  bool on_safe(Offset end) { return replication_.on_local_end(end); }
  // All that was staged up to written_end() is in the log.
  void on_written();
  // A write failed and the log is back at its written end: what the producers did in the batches that are gone is taken
  // back.
  void on_write_failed();

  void expire_producers(TimestampMs now_ms);
  // A producer snapshot at the end, then the log is closed. Nothing may be in flight.
  Result<void> close();
  // close() in two steps for who has many to close: a sync of the log() belongs between them.
  Result<void> begin_close();
  void end_close();

 private:
  Partition(io::Files& files, std::unique_ptr<log::Log> log) : files_(files), log_(std::move(log)) {}
  Result<void> roll_if_due(const record::BatchHeader& header, TimestampMs now_ms);
  Result<void> load_producers(TimestampMs now_ms);
  Result<void> load_producers_from(Offset first, TimestampMs now_ms);
  Result<void> save_last_snapshot();
  void apply_stored(const record::BatchHeader& header, Bytes batch);
  Result<void> write_snapshot();
  Result<void> remove_false_snapshots();
  [[nodiscard]] Offset readable_end(bool committed_only) const;

  io::Files& files_;
  std::unique_ptr<log::Log> log_;
  Producers producers_;
  Replication replication_;
  Waiters waiters_;
  std::int64_t producer_expiration_ms_ = 24 * 3600 * 1000ll;
  // What a producer was before a batch that is not written yet, oldest first.
  struct Undo {
    Offset base_offset;
    ProducerId producer_id;
    std::optional<ProducerState> state;
  };
  std::vector<Undo> undo_;
  Offset snapshot_offset_ = kNoOffset;  // of the snapshot that was written or loaded last
  bool has_false_snapshots_ = false;    // there may be some of batches that were never written
};

}  // namespace tailrace::partition
