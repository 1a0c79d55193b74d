// Segment: one .log file with its indexes (Kafka's LogSegment). It knows which bytes of the file are whole written
// batches, notes batches in the indexes by Kafka's rules, and finds batches by offset. Owned by a Log, whose last
// segment is the active one; the files of others are opened when they are first needed.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/io/files.h"
#include "engine/log/offset_index.h"
#include "engine/log/recent_batches.h"
#include "engine/log/time_index.h"
#include "engine/log/transaction_index.h"

namespace tailrace::log {

class Segment {
 public:
  // `directory` is the log's and outlives the segment. `created_ms` stands in for the time of the first record while
  // there is none.
  Segment(io::Files& files, const std::string& directory, Offset base_offset, TimestampMs created_ms);
  ~Segment() { release(); }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Makes the files of a new segment, empty. The caller makes the names durable.
  Result<void> create();
  // Takes a segment that is there, with all the bytes of its file.
  Result<void> adopt();
  // Counts the entries of the offset and the time index and checks them roughly. Errors: not_found, corrupt: the
  // indexes must be rebuilt.
  Result<void> load_indexes();

  [[nodiscard]] Offset base_offset() const { return base_offset_; }
  [[nodiscard]] std::uint64_t file_id() const { return file_id_; }
  // Bytes of whole batches in the file, which may be longer while a write is in flight.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] TimestampMs created_ms() const { return created_ms_; }
  Result<io::File> file() const;
  void release() const;  // closes all files

  OffsetIndex& offsets() { return offsets_; }
  [[nodiscard]] const OffsetIndex& offsets() const { return offsets_; }
  TimeIndex& times() { return times_; }
  [[nodiscard]] const TimeIndex& times() const { return times_; }
  TransactionIndex& aborted() { return aborted_; }
  [[nodiscard]] const TransactionIndex& aborted() const { return aborted_; }

  // Index entries are made for a batch that begins more than `index_interval` behind the last one that was indexed (or
  // the start).
  [[nodiscard]] bool will_index(Position position, std::uint32_t index_interval) const {
    return position - offsets_.last().position > index_interval;
  }
  // A batch is at size(), whole. No index grows above `index_bytes_max`.
  void add_written(const BatchPlace& place, TimestampMs max_timestamp, std::uint32_t index_interval,
                   std::uint32_t index_bytes_max);
  // The largest timestamp and the last offset of the batch that has it first; {none, base offset} for none.
  [[nodiscard]] const IndexedTimestamp& largest_timestamp() const { return largest_; }
  // The first batch's largest timestamp, from which segment.ms counts; none when empty.
  Result<TimestampMs> first_timestamp() const;

  // The first batch with a last offset >= `offset`, nullopt when all end before it. Error: corrupt.
  Result<std::optional<BatchPlace>> find(Offset offset) const;

  // Where the batches below `offset`, a batch boundary, end. What is behind them is not looked at: after a failed sync
  // it may be anything.
  Result<Position> find_end(Offset offset) const;

  // The offset behind the last batch, the base offset when there is none. Error: corrupt.
  Result<Offset> last_batch_end() const;

  // Makes sure that the disk has room up to `end`, in steps that grow with the file. Error: disk_full.
  Result<void> reserve(std::uint64_t end, std::uint64_t segment_bytes);
  // Final time index entry, indexes written out, space behind the end given back. What failed can be tried again.
  Result<void> seal();
  // A sealed segment whose indexes are durable keeps no descriptors and no memory for them.
  void rest_indexes();
  // Gives back space, and bytes of a failed write, behind size().
  Result<void> cut_to_size();
  // Drops the batch that contains `offset` and all behind it.
  Result<void> truncate_to(Offset offset);
  // Forgets offset and time index and size(), for a scan that finds them again with add_written().
  Result<void> begin_rebuild();
  // After a scan that only looked for index entries: all of the file counts as before.
  void end_rebuild(std::uint64_t size) { size_ = allocated_ = size; }
  // Looks for larger timestamps behind the last time index entry.
  Result<void> find_largest_timestamp();
  // After a failed sync: see io::write_again. The .log from the batch that holds `durable_end` on, and the indexes.
  Result<void> write_again(Offset durable_end);
  // The largest timestamp, or where no record has one, when the .log was last written to (LogSegment.largestTimestamp).
  [[nodiscard]] TimestampMs newest_ms() const;
  // The files get the suffix .deleted, the .log first, and so has the producer snapshot of the base offset. Once the
  // .log has, it counts as done: what else is left is removed at the next start.
  Result<void> set_aside();
  // Removes the files, the .log first: indexes without a .log are removed at the next start.
  Result<void> remove();

  // What the next sync must cover.
  bool log_is_unsynced = false;
  bool indexes_are_unsynced = false;

 private:
  io::Files& files_;
  SegmentFileName name_;
  Offset base_offset_;
  std::uint64_t file_id_;
  TimestampMs created_ms_;
  mutable io::File file_;
  std::uint64_t size_ = 0;
  std::uint64_t allocated_ = 0;  // the disk has room up to here; never below size_
  OffsetIndex offsets_;
  TimeIndex times_;
  TransactionIndex aborted_;
  IndexedTimestamp largest_;
  mutable std::optional<TimestampMs> first_timestamp_;
};

}  // namespace tailrace::log
