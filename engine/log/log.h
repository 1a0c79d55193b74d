// Log: the ordered segments of one partition, in Kafka's on-disk format (docs/formats.md). It stages batches, writes them with
// one gathered write, syncs what a write touched, rolls, plans reads, and recovers after a crash. Owned by one
// partition; all calls are on the shard's thread. It knows nothing of producers, replicas or clients.
//
// States of a byte: staged (in memory of the caller) -> written (in the page cache) -> durable (after sync). Each
// state has an end offset; log_start <= durable_end <= written_end <= end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/io/completion.h"
#include "engine/io/files.h"
#include "engine/record/batch.h"

namespace tailrace::log {

// Topic-level settings that the log itself obeys; Kafka's defaults.
struct LogConfig {
  std::uint32_t segment_bytes = 1u << 30;             // segment.bytes
  std::int64_t segment_ms = 7 * 24 * 3600 * 1000ll;   // segment.ms, by record time
  std::int64_t segment_jitter_ms = 0;                 // segment.jitter.ms
  std::uint32_t index_bytes_max = 10u << 20;          // segment.index.bytes
  std::uint32_t index_interval_bytes = 4096;          // index.interval.bytes
};

struct SegmentRef {          // one .log file of this log
  Offset base_offset = 0;
  std::uint64_t file_id = 0; // unique in this process for the life of the file
};

// Where bytes of whole stored batches lie; the last batch may be cut by the size asked for (KIP-74 keeps the first whole).
struct Extent {
  SegmentRef segment;
  io::File file;             // the log's own descriptor
  Position position = 0;
  std::uint32_t length = 0;  // bytes; 0: nothing to read between the offset and the bound
  Offset first_batch_offset = kNoOffset;  // base offset of the batch at `position`
};

struct AbortedTransaction {
  ProducerId producer_id = 0;
  Offset first_offset = 0;
  Offset last_offset = 0;         // of the abort marker
  Offset last_stable_offset = 0;  // when the marker was written
};

struct TimestampedOffset {
  Offset offset = kNoOffset;
  TimestampMs timestamp = kNoTimestamp;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
};

struct EpochEnd {   // answer to "where does this leader epoch end" (KIP-101)
  LeaderEpoch leader_epoch = kNoLeaderEpoch;   // the largest epoch <= the one asked for
  Offset end_offset = kNoOffset;
};

// What is known from outside about a directory when it is opened.
struct OpenHints {
  bool clean_shutdown = false;       // .kafka_cleanshutdown was there: nothing needs scanning
  Offset recovery_point = 0;         // from recovery-point-offset-checkpoint; segments below are sound
  Offset log_start_offset = 0;       // from log-start-offset-checkpoint
};

class Log {
 public:
  // Makes the (existing, empty) directory a log with one empty segment at `start`, durable when this returns.
  static Result<std::unique_ptr<Log>> create(io::Files& files, std::string directory, const LogConfig& config,
                                             Offset start, TimestampMs now_ms);
  // Opens an existing directory. Unless clean, scans from the recovery point: cuts at the first batch that is short, has a bad
  // length, magic or CRC, removes the segments behind it, rebuilds missing or wrong indexes, removes .cleaned and other leftovers
  // as Kafka's LogLoader does. The result is written and durable to its end.
  static Result<std::unique_ptr<Log>> open(io::Files& files, std::string directory, const LogConfig& config,
                                           const OpenHints& hints, TimestampMs now_ms);
  virtual ~Log();

  void set_config(const LogConfig& config);

  Offset log_start_offset() const;
  Offset end_offset() const;       // next to assign; counts what is staged
  Offset written_end() const;
  Offset durable_end() const;
  Offset active_base_offset() const;
  std::uint64_t size_bytes() const;
  std::size_t segment_count() const;
  const std::string& directory() const;

  // Appending. The partition asks must_roll first, takes what it needs (a producer snapshot), calls roll, then stages.
  // True by size, by record time against the segment's first batch, by a full index, by relative offset (LogSegment.shouldRoll).
  bool must_roll(const record::BatchHeader& header, TimestampMs now_ms) const;
  // Seals the active segment (final time index entry, indexes trimmed) and starts one at end_offset(). Errors leave the log unchanged.
  Result<void> roll(TimestampMs now_ms);
  // `header` has its final base offset (>= end_offset()) and leader epoch; `records` is the rest of the batch and must stay in
  // place until the write that takes it has completed. Reserves disk space: disk_full leaves the log unchanged.
  Result<void> stage(const record::BatchHeader& header, Bytes records);
  bool has_staged() const;
  // Writes all that is staged, gathered; one write may be in flight, staging may go on meanwhile. `done` gets 0 or -errno;
  // after an error the log's end is back at written_end and what was staged is dropped.
  void write_staged(io::Completion& done);
  // Makes durable what is written now (data files touched, names made since); one sync may be in flight. done: 0 or -errno.
  bool needs_sync() const;
  void sync(io::Completion& done);

  // Reading. `bound` (exclusive) is a batch boundary <= written_end: high watermark or last stable offset. The first batch may begin
  // before `from` (it contains it, or is the next one after a gap). With whole_first_batch the first batch is returned whole even
  // above max_bytes (KIP-74). Error: out_of_range outside [log_start_offset, bound].
  Result<Extent> plan_read(Offset from, Offset bound, std::uint32_t max_bytes, bool whole_first_batch) const;
  // Bytes between two offsets (batch boundaries or inside), for min_bytes; an estimate upwards by one batch at most.
  std::uint64_t bytes_between(Offset from, Offset to) const;
  // First record with a timestamp >= `timestamp` at or above log start and below `bound`; nullopt: none. (ListOffsets by time.)
  Result<std::optional<TimestampedOffset>> find_by_timestamp(TimestampMs timestamp, Offset bound) const;
  // The record with the largest timestamp (the first such), ListOffsets MAX_TIMESTAMP.
  Result<std::optional<TimestampedOffset>> find_max_timestamp(Offset bound) const;
  // Aborted transactions that overlap [from, to), from .txnindex.
  Result<std::vector<AbortedTransaction>> aborted_transactions(Offset from, Offset to) const;
  Result<void> append_aborted(const AbortedTransaction& aborted);   // to the active segment's .txnindex

  // Leader epochs (leader-epoch-checkpoint). Epochs are noted by stage(); the checkpoint is written before the batch.
  LeaderEpoch latest_epoch() const;
  EpochEnd end_of_epoch(LeaderEpoch epoch) const;
  // A new leader's first act: notes `epoch` starting at end_offset() if it is newer than the latest one.
  Result<void> assign_epoch(LeaderEpoch epoch);

  // Calls `visit` for each stored batch from the segment that contains `from` (batches below `from` are passed over) to
  // written_end, in order. `batch` is the whole batch when `whole`, else its 61-byte header. visit returns false to stop.
  using BatchVisitor = std::function<bool(const record::BatchHeader& header, Bytes batch, const SegmentRef& segment, Position position)>;
  Result<void> for_each_batch(Offset from, bool whole, const BatchVisitor& visit) const;

  // Everything from `offset` on goes (a batch that contains it too); `offset` becomes the end. Durable when this returns.
  Result<void> truncate_to(Offset offset);
  // Flushes index buffers, writes final time index entries, trims preallocated space, syncs, closes. Nothing may be in flight.
  Result<void> close();

  // Called with the file id when a .log file is closed for good (deleted, truncated away).
  std::function<void(std::uint64_t file_id)> on_file_gone;

 protected:
  Log() = default;
};

}  // namespace tailrace::log
