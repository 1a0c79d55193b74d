// Reading: plans of extents, and the searches by time. A plan looks at the newest batches in memory first, else at the
// offset index and a few KiB of batch headers behind its entry.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/log/batch_scanner.h"
#include "engine/log/log.h"
#include "engine/log/recent_batches.h"
#include "engine/log/segment.h"
#include "engine/record/records.h"

namespace tailrace::log {
namespace {

constexpr std::size_t kHeaderWindow = 32 << 10;
constexpr std::size_t kWholeWindow = 1 << 20;
constexpr std::size_t kTimeWindow = 64 << 10;

// A batch that unpacks to more can't be searched for a timestamp.
constexpr std::size_t kUncompressedBytesMax = 256 << 20;

// The first record of a batch, at or above `from` and below `to`, that `is_wanted`.
template <class Predicate>
Result<std::optional<TimestampedOffset>> find_record(Bytes batch, Offset from, Offset to, Predicate is_wanted) {
  record::Scratch scratch;
  Result<record::Records> records = record::Records::open(batch, scratch, kUncompressedBytesMax);
  if (!records) return std::unexpected(records.error());
  record::Record record;
  while (true) {
    Result<bool> got = records->next(record);
    if (!got) return std::unexpected(got.error());
    if (!*got || record.offset >= to) return std::nullopt;
    if (record.offset >= from && is_wanted(record.timestamp))
      return TimestampedOffset{record.offset, record.timestamp, records->header().partition_leader_epoch};
  }
}

}  // namespace

// The first batch with a last offset >= `offset`, or the place behind the last one.
Result<Log::Located> Log::locate(Offset offset) const {
  const std::size_t index = segment_index(offset);
  if (index + 1 == segments_.size()) {
    if (offset >= written_end_) return Located{index, static_cast<Position>(active().size())};
    if (const BatchPlace* recent = recent_->find(offset))
      return Located{index, recent->position, recent->size_bytes, recent->base_offset};
  }
  Result<std::optional<BatchPlace>> place = segments_[index]->find(offset);
  if (!place) return std::unexpected(place.error());
  if (*place) return Located{index, (*place)->position, (*place)->size_bytes, (*place)->base_offset};
  // A gap at the end of the segment: the next batch is the first one of a later segment.
  for (std::size_t i = index + 1; i < segments_.size(); ++i) {
    if (segments_[i]->size() == 0) continue;
    place = segments_[i]->find(offset);
    if (!place) return std::unexpected(place.error());
    if (*place) return Located{i, (*place)->position, (*place)->size_bytes, (*place)->base_offset};
  }
  return Located{segments_.size() - 1, static_cast<Position>(active().size())};
}

// Up to where a reader below `bound` may read in a segment that begins below it.
Result<Position> Log::find_bound(std::size_t index, Offset bound) const {
  const Segment& segment = *segments_[index];
  if (bound >= segment_end(index)) return static_cast<Position>(segment.size());
  if (index + 1 == segments_.size()) {
    if (const BatchPlace* recent = recent_->find(bound)) return recent->position;
  }
  if (known_bound_ == bound) return known_bound_position_;
  Result<Position> position = segment.find_end(bound);
  if (!position) return position;
  known_bound_position_ = *position;
  // Behind the last batch, the position moves with the next one.
  known_bound_ = *position < segment.size() ? bound : kNoOffset;
  return position;
}

Result<Extent> Log::plan_read(Offset from, Offset bound, std::uint32_t max_bytes, bool whole_first_batch) const {
  bound = std::min(bound, written_end_);
  if (from < log_start_offset_ || from > bound) return failure(Code::out_of_range, "planning a read");
  if (from == bound) return Extent{};
  Result<Located> first = locate(from);
  if (!first) return std::unexpected(first.error());
  if (first->batch_size == 0 || first->base_offset >= bound) return Extent{};
  const Segment& segment = *segments_[first->segment];
  Result<Position> end = find_bound(first->segment, bound);
  if (!end) return std::unexpected(end.error());
  Result<io::File> file = segment.file();
  if (!file) return std::unexpected(file.error());
  if (*end <= first->position) return Extent{};
  Extent extent{
      {segment.base_offset(), segment.file_id()}, *file, first->position, 0, first->base_offset, first->batch_size};
  const std::uint32_t available = *end - first->position;
  if (max_bytes >= first->batch_size) {
    extent.length = std::min(available, max_bytes);
  } else if (whole_first_batch) {
    extent.length = std::min(available, first->batch_size);
  }
  return extent;
}

std::uint64_t Log::bytes_between(Offset from, Offset to) const {
  from = std::max(from, log_start_offset_);
  to = std::min(to, written_end_);
  if (from >= to) return 0;
  const Result<Located> first = locate(from);
  if (!first || first->batch_size == 0 || first->base_offset >= to) return 0;
  const std::size_t last = std::max(segment_index(to), first->segment);
  const Result<Position> end = find_bound(last, to);
  if (!end) return 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = first->segment; i < last; ++i) bytes += segments_[i]->size();
  bytes += *end;
  return bytes > first->position ? bytes - first->position : 0;
}

Result<std::optional<TimestampedOffset>> Log::find_by_timestamp(TimestampMs timestamp, Offset bound) const {
  bound = std::min(bound, written_end_);
  for (std::size_t i = segment_index(log_start_offset_); i < segments_.size(); ++i) {
    const Segment& segment = *segments_[i];
    if (segment.base_offset() >= bound) break;
    if (segment.largest_timestamp().timestamp < timestamp) continue;
    // No record up to the indexed batch has a larger timestamp than the entry's.
    Result<IndexedTimestamp> known = segment.times().floor(timestamp);
    if (!known) return std::unexpected(known.error());
    Result<IndexedPosition> from = segment.offsets().floor(std::max(known->offset, log_start_offset_));
    if (!from) return std::unexpected(from.error());
    Result<io::File> file = segment.file();
    if (!file) return std::unexpected(file.error());
    Result<Position> end = find_bound(i, bound);
    if (!end) return std::unexpected(end.error());
    BatchScanner scanner(files_, *file, from->position, *end, kTimeWindow);
    while (true) {
      Result<std::optional<record::BatchHeader>> header = scanner.next();
      if (!header) return std::unexpected(header.error());
      if (!*header) break;
      if ((*header)->max_timestamp < timestamp || (*header)->last_offset() < log_start_offset_) continue;
      Result<Bytes> batch = scanner.whole();
      if (!batch) return std::unexpected(batch.error());
      auto found = find_record(*batch, log_start_offset_, bound, [=](TimestampMs t) { return t >= timestamp; });
      if (!found || *found) return found;
    }
  }
  return std::nullopt;
}

Result<std::optional<TimestampedOffset>> Log::find_max_timestamp(Offset bound) const {
  bound = std::min(bound, written_end_);
  // The batch with the largest timestamp: by the indexes, but where the segment has records at or above the bound, by
  // its batches.
  TimestampMs largest = kNoTimestamp;
  std::size_t largest_segment = 0;
  Position largest_position = 0;
  for (std::size_t i = segment_index(log_start_offset_); i < segments_.size(); ++i) {
    const Segment& segment = *segments_[i];
    if (segment.base_offset() >= bound) break;
    const IndexedTimestamp indexed = segment.largest_timestamp();
    if (indexed.timestamp <= largest) continue;
    const bool is_whole = bound >= segment_end(i) && log_start_offset_ <= segment.base_offset();
    // Within a time index entry's claim, its batch is the first with that timestamp; the batch ends at its offset, or
    // (written by old brokers) contains it.
    Result<IndexedPosition> from = is_whole ? segment.offsets().floor(indexed.offset) : IndexedPosition{};
    if (!from) return std::unexpected(from.error());
    Result<io::File> file = segment.file();
    if (!file) return std::unexpected(file.error());
    Result<Position> end = find_bound(i, bound);
    if (!end) return std::unexpected(end.error());
    BatchScanner scanner(files_, *file, from->position, *end, kTimeWindow);
    while (true) {
      Result<std::optional<record::BatchHeader>> header = scanner.next();
      if (!header) return std::unexpected(header.error());
      if (!*header) break;
      if ((*header)->max_timestamp <= largest || (*header)->last_offset() < log_start_offset_) continue;
      largest = (*header)->max_timestamp;
      largest_segment = i;
      largest_position = static_cast<Position>(scanner.position());
      if (largest == indexed.timestamp) break;
    }
  }
  if (largest == kNoTimestamp) return std::nullopt;
  const Segment& segment = *segments_[largest_segment];
  Result<io::File> file = segment.file();
  if (!file) return std::unexpected(file.error());
  BatchScanner scanner(files_, *file, largest_position, segment.size(), kTimeWindow);
  if (auto header = scanner.next(); !header) return std::unexpected(header.error());
  Result<Bytes> batch = scanner.whole();
  if (!batch) return std::unexpected(batch.error());
  return find_record(*batch, log_start_offset_, bound, [=](TimestampMs t) { return t == largest; });
}

Result<std::vector<AbortedTransaction>> Log::aborted_transactions(Offset from, Offset to) const {
  std::vector<AbortedTransaction> found;
  for (std::size_t i = segment_index(from); i < segments_.size(); ++i) {
    Result<bool> is_complete = segments_[i]->aborted().collect(from, to, found);
    if (!is_complete) return std::unexpected(is_complete.error());
    if (*is_complete) break;
  }
  return found;
}

Result<void> Log::for_each_batch(Offset from, bool whole, const BatchVisitor& visit) const {
  for (std::size_t i = segment_index(from); i < segments_.size(); ++i) {
    const Segment& segment = *segments_[i];
    if (segment.size() == 0) continue;
    Result<IndexedPosition> start = segment.offsets().floor(from);
    if (!start) return std::unexpected(start.error());
    Result<io::File> file = segment.file();
    if (!file) return std::unexpected(file.error());
    BatchScanner scanner(files_, *file, start->position, segment.size(), whole ? kWholeWindow : kHeaderWindow);
    while (true) {
      Result<std::optional<record::BatchHeader>> header = scanner.next();
      if (!header) return std::unexpected(header.error());
      if (!*header) break;
      if ((*header)->last_offset() < from) continue;
      const bool hand_whole = whole || (*header)->magic != record::kMagicV2 || (*header)->is_control();
      Result<Bytes> batch = hand_whole ? scanner.whole() : scanner.header();
      if (!batch) return std::unexpected(batch.error());
      const SegmentRef ref{segment.base_offset(), segment.file_id()};
      if (!visit(**header, *batch, ref, static_cast<Position>(scanner.position()))) return {};
    }
  }
  return {};
}

}  // namespace tailrace::log
