// Log: the ordered segments of one partition, in Kafka's on-disk format (docs/formats.md). It stages batches, writes
// them with one gathered write, syncs what a write touched, rolls, plans reads, and recovers after a crash. Owned by
// one partition; all calls are on the shard's thread. It knows nothing of producers, replicas or clients.
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

class LeaderEpochs;
struct EpochStart;
class RecentBatches;
class Segment;
struct SegmentWrite;
struct SyncPart;

// Topic-level settings that the log itself obeys; Kafka's defaults.
struct LogConfig {
  std::uint32_t segment_bytes = 1u << 30;            // segment.bytes
  std::int64_t segment_ms = 7 * 24 * 3600 * 1000ll;  // segment.ms, by record time
  std::int64_t segment_jitter_ms = 0;                // segment.jitter.ms
  std::uint32_t index_bytes_max = 10u << 20;         // segment.index.bytes
  std::uint32_t index_interval_bytes = 4096;         // index.interval.bytes
};

struct SegmentRef {  // one .log file of this log
  Offset base_offset = 0;
  std::uint64_t file_id = 0;  // unique in this process for the life of the file
};

// Where bytes of whole stored batches lie; the last batch may be cut by the size asked for (KIP-74 keeps the first
// whole).
struct Extent {
  SegmentRef segment;
  io::File file;  // the log's own descriptor
  Position position = 0;
  std::uint32_t length = 0;               // bytes; 0: nothing to read between the offset and the bound
  Offset first_batch_offset = kNoOffset;  // base offset of the batch at `position`
  std::uint32_t first_batch_length = 0;   // bytes that the batch at `position` takes whole
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

struct EpochEnd {                             // answer to "where does this leader epoch end" (KIP-101)
  LeaderEpoch leader_epoch = kNoLeaderEpoch;  // the largest epoch <= the one asked for
  Offset end_offset = kNoOffset;
};

// What is known from outside about a directory when it is opened.
struct OpenHints {
  bool clean_shutdown = false;  // .kafka_cleanshutdown was there: nothing needs scanning
  Offset recovery_point = 0;    // from recovery-point-offset-checkpoint; segments that end below are sound
  Offset log_start_offset = 0;  // from log-start-offset-checkpoint
  // A scanned segment that ends below the next one's base offset has lost its end with the power, so what follows goes
  // too. Only for a directory whose cleaner leaves alone what is above the recovery point: ours, not Kafka's, whose
  // cleaned segments may end early.
  bool gaps_are_losses = false;
};

struct SegmentInfo {
  Offset base_offset = 0;
  std::uint64_t size_bytes = 0;
  TimestampMs largest_timestamp = kNoTimestamp;  // of the written records
  std::uint64_t file_id = 0;
};

// What of the beginning of a log may go (UnifiedLog.deleteOldSegments). A negative number is no bound.
struct RetentionRules {
  bool deletes = true;                // cleanup.policy has delete; if not, only what is below the log start goes
  std::int64_t retention_ms = -1;     // by the largest timestamp of a segment's records
  std::int64_t retention_bytes = -1;  // of all segments together
};

struct Expiry {
  Offset log_start_offset = 0;  // that the rules ask for; never below the present one
  bool takes_all = false;       // the active segment, too: it must be rolled away from first
};

class Log {
 public:
  enum class Names : std::uint8_t { durable, for_next_sync };

  // Makes the (existing) directory a log with one empty segment at `start`. Its names are durable after a sync of the
  // directory.
  static Result<std::unique_ptr<Log>> create(io::Files& files, std::string directory, const LogConfig& config,
                                             Offset start, TimestampMs now_ms);
  // Opens an existing directory. Unless clean, scans from the recovery point: cuts at the first batch that is short,
  // has a bad length, magic or CRC, removes the segments behind it, rebuilds missing or wrong indexes, removes .cleaned
  // and other leftovers as Kafka's LogLoader does. The result is written to its end, but where needs_sync() holds then
  // it is durable only after a sync, so that many logs can be opened and then be synced at the same time. A recovery
  // point above the end must be lowered in its checkpoint before anything is appended.
  static Result<std::unique_ptr<Log>> open(io::Files& files, std::string directory, const LogConfig& config,
                                           const OpenHints& hints, TimestampMs now_ms);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void set_config(const LogConfig& config);
  // The directory has this name now (a topic was deleted, a copy became current); open files are not concerned.
  void set_directory(std::string directory);

  Offset log_start_offset() const;
  Offset end_offset() const;  // next to assign; counts what is staged
  Offset written_end() const;
  Offset durable_end() const;
  // What recovery-point-offset-checkpoint may say: durable_end(), but not above a sealed segment whose indexes are not
  // durable yet, so that a scan makes them anew.
  Offset recovery_point() const;
  Offset active_base_offset() const;
  Offset start_base_offset() const;  // of the segment that holds the log start
  std::uint64_t size_bytes() const;
  std::size_t segment_count() const;
  const std::string& directory() const;
  std::vector<SegmentInfo> segments() const;  // oldest first, the last one is active
  // Batches from here on were scanned when the log was opened, and .txnindex files from here on are empty: the
  // partition replays from a snapshot at or below it, calling append_aborted. end_offset() when nothing was scanned.
  Offset scanned_from() const;
  bool is_busy() const;  // a write or a sync is in flight

  // Appending. The partition asks must_roll first, takes what it needs (a producer snapshot), calls roll, then stages.
  // True by size, by record time against the segment's first batch, by a full index, by relative offset
  // (LogSegment.shouldRoll).
  bool must_roll(const record::BatchHeader& header, TimestampMs now_ms) const;
  // Seals the active segment (final time index entry, indexes trimmed) and starts one where its last batch ends: at
  // end_offset(), or below it after a truncation into a gap. An empty segment stays. Its names are durable when this
  // returns, or, where nothing is about to be appended, left to the next sync. Errors leave the log unchanged.
  Result<void> roll(TimestampMs now_ms, Names names = Names::durable);
  // `header` has its final base offset (>= end_offset()) and leader epoch; `records` is the rest of the batch and must
  // stay in place until the write that takes it has completed. Reserves disk space: disk_full leaves the log unchanged.
  // Other errors: invalid_argument (not such a batch), too_large (it does not fit the segment: roll first).
  Result<void> stage(const record::BatchHeader& header, Bytes records);
  bool has_staged() const;
  // Writes all that is staged (there must be something), gathered; one write may be in flight, staging may go on
  // meanwhile. `done` gets 0 or -errno; after an error the log's end is back at written_end, all that was staged is
  // dropped, also what was staged since, and segments rolled to since are gone.
  void write_staged(io::Completion& done);
  // Makes durable what is written now (data files touched, indexes of sealed segments, leader epochs, names made
  // since). needs_sync() must hold; one sync may be in flight. done: 0 or -errno; durable_end() has moved when it runs.
  // After one failure all fail, and durable_end() stays where it is, until the log is opened again; what was to be
  // synced is written once more (io::write_again), so that the recovery then is not misled by the page cache.
  bool needs_sync() const;
  bool has_failed_sync() const;
  void sync(io::Completion& done);

  // Reading. `bound` (exclusive) is a batch boundary <= written_end: high watermark or last stable offset. The first
  // batch may begin before `from` (it contains it, or is the next one after a gap). With whole_first_batch the first
  // batch is returned whole even above max_bytes (KIP-74); without it, length is 0 when the first batch does not fit.
  // Errors: out_of_range outside [log_start_offset, bound], corrupt.
  Result<Extent> plan_read(Offset from, Offset bound, std::uint32_t max_bytes, bool whole_first_batch) const;
  // Bytes between two offsets (batch boundaries or inside), for min_bytes; an estimate upwards by one batch at most.
  std::uint64_t bytes_between(Offset from, Offset to) const;
  // First record with a timestamp >= `timestamp` at or above log start and below `bound`; nullopt: none. (ListOffsets
  // by time.)
  Result<std::optional<TimestampedOffset>> find_by_timestamp(TimestampMs timestamp, Offset bound) const;
  // The record with the largest timestamp (the first such), ListOffsets MAX_TIMESTAMP.
  Result<std::optional<TimestampedOffset>> find_max_timestamp(Offset bound) const;
  // Aborted transactions that overlap [from, to), from .txnindex.
  Result<std::vector<AbortedTransaction>> aborted_transactions(Offset from, Offset to) const;
  // To the .txnindex of the segment that holds the marker (staged at least); what is there already is not added again.
  Result<void> append_aborted(const AbortedTransaction& aborted);

  // Leader epochs (leader-epoch-checkpoint). Epochs are noted by stage(); the checkpoint is written before the batch
  // and synced with it.
  LeaderEpoch latest_epoch() const;
  LeaderEpoch epoch_at(Offset offset) const;  // kNoLeaderEpoch: not known
  EpochEnd end_of_epoch(LeaderEpoch epoch) const;
  // A new leader's first act: notes `epoch` starting at end_offset() if it is newer than the latest one. It gets to the
  // checkpoint with the first batch.
  void assign_epoch(LeaderEpoch epoch);

  // Calls `visit` for each stored batch from the segment that contains `from` (batches below `from` are passed over) to
  // written_end, in order. `batch` is the whole batch when `whole`, or when it is a control batch or of magic 0 or 1
  // (whose header is as record::shallow_batch_header tells it), else its 61-byte header. visit returns false to stop.
  // Error: corrupt.
  using BatchVisitor =
      std::function<bool(const record::BatchHeader& header, Bytes batch, const SegmentRef& segment, Position position)>;
  Result<void> for_each_batch(Offset from, bool whole, const BatchVisitor& visit) const;

  // Everything from `offset` on goes (a batch that contains it too); `offset` becomes the end. Durable when this
  // returns. Nothing may be staged or in flight. A recovery point above `offset` must be lowered in its checkpoint
  // before: what is appended later is not covered by it.
  Result<void> truncate_to(Offset offset);
  // Everything goes; the log is empty and begins at `offset` (a follower whose leader has nothing older). Nothing may
  // be staged or in flight.
  Result<void> restart_at(Offset offset, TimestampMs now_ms);
  // Records below `offset` (at most written_end) are gone for readers (DeleteRecords, retention); files stay.
  Result<void> advance_log_start(Offset offset);
  // What has expired, oldest first, and nothing at or beyond `high_watermark`.
  Expiry find_expired(const RetentionRules& rules, Offset high_watermark, TimestampMs now_ms) const;
  // There are segments wholly below log_start_offset(), never the active one.
  bool has_old_segments() const;
  // Takes the oldest of them, `count_max` at most, out of the log: their files get the suffix .deleted and are the
  // caller's to remove (remove_set_aside). One that a sync is busy with is left for the next call. Returns the base
  // offsets of those that went. The log start must be in its checkpoint before: after a power cut any of them may be
  // there again.
  Result<std::vector<Offset>> set_old_segments_aside(std::size_t count_max);
  // Flushes index buffers, writes final time index entries, trims preallocated space, syncs, closes. Nothing may be in
  // flight.
  Result<void> close();
  // The same in two steps, with a sync() between them, which then covers everything and is always needed. Error: what
  // close() would have failed with before its syncs.
  Result<void> begin_close();
  void end_close();

  // Called with the file id when a .log file is closed for good (deleted, truncated away).
  std::function<void(std::uint64_t file_id)> on_file_gone;

 private:
  Log(io::Files& files, std::string directory, const LogConfig& config);

  // log.cc
  Segment& active() const { return *segments_.back(); }
  std::size_t segment_index(Offset offset) const;  // of the last segment with a base offset <= `offset`, or 0
  Offset segment_end(std::size_t index) const;     // first offset of the next segment, or written_end
  Result<void> add_segment(Offset base_offset, TimestampMs now_ms, Names names);
  Result<void> remove_last_segment();
  Result<void> remove_strays();
  void forget(const Segment& segment);  // it goes: whatever points to it
  void set_end(Offset offset);
  Result<void> sync_now();
  Result<void> sync_segment(Segment& segment);
  Result<void> sync_epochs();
  static Result<void> sync_indexes(Segment& segment);

  // recovery.cc
  Result<void> recover(const OpenHints& hints, TimestampMs now_ms);
  Result<void> adopt_segments(TimestampMs now_ms);
  Result<void> load_sealed(std::size_t count, bool is_suspicious);
  Result<Offset> load_active();
  Result<Offset> scan(Offset from, bool gaps_are_losses);
  Result<Offset> scan_segment(Segment& segment, Offset offset_min);
  Result<void> rebuild_epochs();
  Result<void> settle_epochs(std::vector<EpochStart> in_file);
  Result<void> leave_to_sync(const OpenHints& hints);

  // append.cc
  bool is_being_written(const Segment& segment) const;
  void on_segment_written();
  Result<void> finish_write();
  void drop_unwritten();
  Result<void> repair();
  Result<void> seal_written();
  void mark_unsynced(Segment& segment);
  void on_part_synced(Segment* segment, std::int64_t result);
  void on_sync_failed(Segment& segment);
  friend struct SegmentWrite;
  friend struct SyncPart;

  // read.cc
  struct Located {
    std::size_t segment = 0;
    Position position = 0;
    std::uint32_t batch_size = 0;  // 0: behind the last batch
    Offset base_offset = kNoOffset;
  };
  Result<Located> locate(Offset offset) const;
  Result<Position> find_bound(std::size_t segment, Offset bound) const;

  io::Files& files_;
  std::string directory_;
  LogConfig config_;
  std::vector<std::unique_ptr<Segment>> segments_;  // by base offset; never empty once open
  std::unique_ptr<LeaderEpochs> epochs_;
  std::unique_ptr<RecentBatches> recent_;  // of the active segment
  Offset log_start_offset_ = 0;
  Offset end_offset_ = 0;
  Offset written_end_ = 0;
  Offset durable_end_ = 0;
  Offset scanned_from_ = 0;
  bool is_closed_ = false;

  // Staged batches by segment, in order; the writes in flight; and spare ones, whose memory is used again.
  std::vector<std::unique_ptr<SegmentWrite>> staged_;
  std::vector<std::unique_ptr<SegmentWrite>> writing_;
  std::vector<std::unique_ptr<SegmentWrite>> spare_;
  std::size_t writes_left_ = 0;
  io::Completion* write_done_ = nullptr;
  bool needs_repair_ = false;  // bytes or files of a failed write are left behind written_end_

  // How the active segment will be when all that is staged is written.
  std::uint64_t staged_end_ = 0;        // bytes
  Position staged_index_position_ = 0;  // of the last index entry
  std::uint32_t staged_index_entries_ = 0;
  TimestampMs staged_first_timestamp_ = kNoTimestamp;  // of the first batch, while it is only staged
  Offset last_batch_end_ = kNoOffset;                  // offset behind the last batch; kNoOffset: not known

  std::vector<Offset> strays_;      // base offsets of segments that were made in vain and could not be removed
  std::vector<Segment*> to_seal_;   // rolled away from, not yet sealed
  std::vector<Segment*> unsynced_;  // what the next sync must look at
  std::vector<Segment*> syncing_;
  std::vector<std::unique_ptr<SyncPart>> sync_parts_;
  std::size_t syncs_left_ = 0;
  io::Completion* sync_done_ = nullptr;
  io::File syncing_epochs_;
  Offset sync_target_ = 0;
  int sync_error_ = 0;
  bool has_failed_sync_ = false;
  bool directory_is_unsynced_ = false;
  bool syncs_directory_ = false;  // the sync in flight

  // The bound that was looked for last: readers behind an open transaction or a slow follower ask for the same one.
  mutable Offset known_bound_ = kNoOffset;
  mutable Position known_bound_position_ = 0;
};

// Removes what set_old_segments_aside left of one segment in `directory`; files that are not there any more are fine.
Result<void> remove_set_aside(io::Files& files, const std::string& directory, Offset base_offset);

}  // namespace tailrace::log
