#include "engine/log/segment.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>

#include "engine/base/check.h"
#include "engine/log/batch_scanner.h"

namespace tailrace::log {
namespace {

// Two index entries lie a few KiB apart, so one read of this size mostly finds the batch.
constexpr std::size_t kFindWindow = 4096;

// Space is reserved in steps as large as the file, between these: a file of 1 GiB takes 14 + 16 steps, and a partition
// with little in it wastes little.
constexpr std::uint64_t kReserveMin = 64ull << 10;
constexpr std::uint64_t kReserveMax = 64ull << 20;

// Shards run on their own threads and hand file ids to the same readers.
std::uint64_t next_file_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;  // only uniqueness counts
}

}  // namespace

Segment::Segment(io::Files& files, const std::string& directory, Offset base_offset, TimestampMs created_ms)
    : files_(files),
      name_{&directory, base_offset, kLogSuffix},
      base_offset_(base_offset),
      file_id_(next_file_id()),
      created_ms_(created_ms),
      offsets_(files, directory, base_offset),
      times_(files, directory, base_offset),
      aborted_(files, directory, base_offset),
      largest_{kNoTimestamp, base_offset} {}

Result<void> Segment::create() {
  Result<io::File> file = files_.open(name_.path(), io::OpenMode::open_or_create);
  if (!file) return std::unexpected(file.error());
  file_ = *file;
  if (auto done = files_.truncate(file_, 0); !done) return done;
  if (auto done = offsets_.create(); !done) return done;
  if (auto done = times_.create(); !done) return done;
  return aborted_.reset();
}

Result<void> Segment::adopt() {
  Result<io::File> opened = file();
  if (!opened) return std::unexpected(opened.error());
  Result<std::uint64_t> size = files_.size(*opened);
  if (!size) return std::unexpected(size.error());
  size_ = allocated_ = *size;
  return {};
}

Result<void> Segment::load_indexes() {
  if (size_ > kSegmentBytesMax) return failure(Code::corrupt, "a segment larger than 2 GiB");
  if (auto done = offsets_.load(size_); !done) return done;
  if (auto done = times_.load(); !done) return done;
  largest_ = times_.last();
  return {};
}

Result<io::File> Segment::file() const {
  if (!file_) {
    Result<io::File> opened = files_.open(name_.path(), io::OpenMode::read_write);
    if (!opened) return opened;
    file_ = *opened;
  }
  return file_;
}

void Segment::release() const {
  if (file_) files_.close(file_);
  file_ = io::File{};
  offsets_.file().release();
  times_.file().release();
  aborted_.file().release();
}

void Segment::add_written(const BatchPlace& place, TimestampMs max_timestamp, std::uint32_t index_interval,
                          std::uint32_t index_bytes_max) {
  DCHECK(place.position == size_);
  if (size_ == 0) first_timestamp_ = max_timestamp;
  if (max_timestamp > largest_.timestamp) largest_ = {max_timestamp, place.last_offset};
  // The time index keeps room for the entry that seal() makes.
  const bool has_room =
      offsets_.count() < index_bytes_max / kOffsetEntrySize && times_.count() + 1 < index_bytes_max / kTimeEntrySize;
  const bool fits = place.last_offset - base_offset_ <= kRelativeOffsetMax;
  if (has_room && fits && will_index(place.position, index_interval)) {
    offsets_.append(place.last_offset, place.position);
    times_.maybe_append(largest_.timestamp, largest_.offset);
    indexes_are_unsynced = true;
    // A failure loses nothing, the entries stay in memory; sealing tells of it.
    if (offsets_.file().flush_is_due()) static_cast<void>(offsets_.file().flush());
    if (times_.file().flush_is_due()) static_cast<void>(times_.file().flush());
  }
  size_ += place.size_bytes;
  allocated_ = std::max(allocated_, size_);
}

Result<TimestampMs> Segment::first_timestamp() const {
  if (size_ == 0) return kNoTimestamp;
  if (!first_timestamp_) {
    Result<io::File> opened = file();
    if (!opened) return std::unexpected(opened.error());
    BatchScanner scanner(files_, *opened, 0, size_, record::kBatchHeaderSize);
    Result<std::optional<record::BatchHeader>> header = scanner.next();
    if (!header) return std::unexpected(header.error());
    first_timestamp_ = (*header)->max_timestamp;
  }
  return *first_timestamp_;
}

Result<std::optional<BatchPlace>> Segment::find(Offset offset) const {
  Result<IndexedPosition> from = offsets_.floor(offset);
  if (!from) return std::unexpected(from.error());
  Result<io::File> opened = file();
  if (!opened) return std::unexpected(opened.error());
  BatchScanner scanner(files_, *opened, from->position, size_, kFindWindow);
  while (true) {
    Result<std::optional<record::BatchHeader>> header = scanner.next();
    if (!header) return std::unexpected(header.error());
    if (!*header) return std::nullopt;
    if ((*header)->last_offset() >= offset) {
      return BatchPlace{static_cast<Position>(scanner.position()), static_cast<std::uint32_t>((*header)->size_bytes()),
                        (*header)->base_offset, (*header)->last_offset()};
    }
  }
}

Result<Position> Segment::find_end(Offset offset) const {
  if (offset <= base_offset_) return Position{0};
  Result<IndexedPosition> from = offsets_.floor(offset - 1);
  if (!from) return std::unexpected(from.error());
  Result<io::File> opened = file();
  if (!opened) return std::unexpected(opened.error());
  BatchScanner scanner(files_, *opened, from->position, size_, kFindWindow);
  while (true) {
    Result<std::optional<record::BatchHeader>> header = scanner.next();
    if (!header) return std::unexpected(header.error());
    const auto position = static_cast<Position>(scanner.position());
    if (!*header || (*header)->base_offset >= offset) return position;
    if ((*header)->next_offset() == offset) return static_cast<Position>(position + (*header)->size_bytes());
  }
}

Result<Offset> Segment::last_batch_end() const {
  Result<io::File> opened = file();
  if (!opened) return std::unexpected(opened.error());
  BatchScanner scanner(files_, *opened, offsets_.last().position, size_, kFindWindow);
  Offset end = base_offset_;
  while (true) {
    Result<std::optional<record::BatchHeader>> header = scanner.next();
    if (!header) return std::unexpected(header.error());
    if (!*header) return end;
    end = (*header)->next_offset();
  }
}

Result<void> Segment::reserve(std::uint64_t end, std::uint64_t segment_bytes) {
  if (end <= allocated_) return {};
  const std::uint64_t step = std::clamp(std::bit_ceil(allocated_), kReserveMin, kReserveMax);
  std::uint64_t target = std::min(allocated_ + step, std::max(segment_bytes, end));
  target = std::max(target, end);
  Result<io::File> opened = file();
  if (!opened) return std::unexpected(opened.error());
  Result<void> done = files_.allocate(*opened, allocated_, target - allocated_);
  if (!done && done.error().code == Code::disk_full && target > end) {
    target = end;  // what is needed now may still fit
    done = files_.allocate(*opened, allocated_, target - allocated_);
  }
  if (done) allocated_ = target;
  return done;
}

Result<void> Segment::seal() {
  if (largest_.timestamp > times_.last().timestamp) {
    times_.maybe_append(largest_.timestamp, largest_.offset);
    indexes_are_unsynced = true;
  }
  for (IndexFile* index : {&offsets_.file(), &times_.file(), &aborted_.file()}) {
    if (auto done = index->flush(); !done) return done;
  }
  return allocated_ > size_ ? cut_to_size() : Result<void>();
}

void Segment::rest_indexes() {
  for (IndexFile* index : {&offsets_.file(), &times_.file(), &aborted_.file()}) index->rest();
}

Result<void> Segment::cut_to_size() {
  Result<io::File> opened = file();
  if (!opened) return std::unexpected(opened.error());
  if (auto done = files_.truncate(*opened, size_); !done) return done;
  allocated_ = size_;
  return {};
}

Result<void> Segment::truncate_to(Offset offset) {
  Result<std::optional<BatchPlace>> place = find(offset);
  if (!place) return std::unexpected(place.error());
  if (!*place) return {};
  // The indexes first: an index that knows less than the file does no harm.
  if (auto done = offsets_.truncate_to(offset); !done) return done;
  if (auto done = times_.truncate_to(offset); !done) return done;
  if (auto done = aborted_.truncate_to(offset); !done) return done;
  size_ = (*place)->position;
  first_timestamp_.reset();
  log_is_unsynced = indexes_are_unsynced = true;
  if (auto done = cut_to_size(); !done) return done;
  return find_largest_timestamp();
}

Result<void> Segment::find_largest_timestamp() {
  largest_ = times_.last();
  Result<IndexedPosition> from = offsets_.floor(largest_.offset);
  if (!from) return std::unexpected(from.error());
  Result<io::File> opened = file();
  if (!opened) return std::unexpected(opened.error());
  BatchScanner scanner(files_, *opened, from->position, size_, kFindWindow);
  while (true) {
    Result<std::optional<record::BatchHeader>> header = scanner.next();
    if (!header) return std::unexpected(header.error());
    if (!*header) return {};
    if ((*header)->max_timestamp > largest_.timestamp) largest_ = {(*header)->max_timestamp, (*header)->last_offset()};
  }
}

Result<void> Segment::begin_rebuild() {
  if (auto done = offsets_.create(); !done) return done;
  if (auto done = times_.create(); !done) return done;
  size_ = allocated_ = 0;
  largest_ = {kNoTimestamp, base_offset_};
  first_timestamp_.reset();
  indexes_are_unsynced = true;
  return {};
}

Result<void> Segment::write_again(Offset durable_end) {
  Result<io::File> opened = file();
  if (!opened) return std::unexpected(opened.error());
  // To the end of the file: behind the batches there may be bytes of a write in flight.
  Result<void> done = io::write_again(files_, *opened, find_end(durable_end).value_or(0));
  for (IndexFile* index : {&offsets_.file(), &times_.file(), &aborted_.file()}) {
    if (!index->is_there()) continue;
    Result<void> written = index->open();
    if (written) written = io::write_again(files_, index->file(), 0);
    if (!written && done) done = written;
  }
  return done;
}

TimestampMs Segment::newest_ms() const {
  if (largest_.timestamp >= 0) return largest_.timestamp;
  // Not to be known: it stays.
  return files_.modified_ms(name_.path()).value_or(std::numeric_limits<TimestampMs>::max());
}

Result<void> Segment::set_aside() {
  release();
  for (const std::string_view suffix : kSegmentSuffixes) {
    const std::string path = SegmentFileName{name_.directory, base_offset_, suffix}.path();
    const Result<void> renamed = files_.rename(path, path + std::string(kDeletedSuffix));
    if (!renamed && suffix == kLogSuffix && renamed.error().code != Code::not_found) return renamed;
  }
  return {};
}

Result<void> Segment::remove() {
  release();
  Result<void> done = files_.remove(name_.path());
  if (!done && done.error().code != Code::not_found) return done;
  for (IndexFile* index : {&offsets_.file(), &times_.file(), &aborted_.file()}) {
    if (auto removed = index->remove(); !removed) return removed;
  }
  return {};
}

}  // namespace tailrace::log
