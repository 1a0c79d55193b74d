// Appending: stage, write, sync. Batches wait in staged_, one SegmentWrite per segment, until write_staged() hands all
// of them to the files; the segments learn of them when they are written, so that indexes and readers never see more
// than the file has.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/observe.h"
#include "engine/log/format.h"
#include "engine/log/leader_epochs.h"
#include "engine/log/log.h"
#include "engine/log/recent_batches.h"
#include "engine/log/segment.h"
#include "engine/log/segment_write.h"

namespace tailrace::log {
namespace {

// Rolls of many partitions that began together are spread by a delay that is the same after a restart.
std::int64_t jitter_ms(const LogConfig& config, const std::string& directory, Offset base_offset) {
  const std::int64_t bound = std::min(config.segment_jitter_ms, config.segment_ms);
  if (bound <= 0) return 0;
  const std::uint64_t hash =
      std::hash<std::string>{}(directory) ^ static_cast<std::uint64_t>(base_offset) * 0x9E3779B97F4A7C15u;
  return static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(bound));
}

bool holds(const std::vector<Segment*>& segments, const Segment& segment) {
  return std::ranges::find(segments, &segment) != segments.end();
}

// A directory that is to be synced is opened for it first, and these are errors of opening alone: nothing was lost.
bool could_not_begin(std::int64_t result) { return result == -EMFILE || result == -ENFILE; }

}  // namespace

// LogSegment.shouldRoll, counting what is staged.
bool Log::must_roll(const record::BatchHeader& header, TimestampMs now_ms) const {
  const Segment& segment = active();
  if (header.last_offset() - segment.base_offset() > kRelativeOffsetMax) return true;
  if (staged_end_ == 0) return false;
  if (staged_end_ + header.size_bytes() > std::min<std::uint64_t>(config_.segment_bytes, kSegmentBytesMax)) return true;
  if (staged_index_entries_ >= config_.index_bytes_max / kOffsetEntrySize) return true;
  const std::uint32_t time_entries = segment.times().count() + (staged_index_entries_ - segment.offsets().count());
  if (time_entries + 1 >= config_.index_bytes_max / kTimeEntrySize) return true;
  TimestampMs first = staged_first_timestamp_;
  if (segment.size() > 0) first = segment.first_timestamp().value_or(kNoTimestamp);
  const TimestampMs waited = first >= 0 ? header.max_timestamp - first : now_ms - segment.created_ms();
  return waited > config_.segment_ms - jitter_ms(config_, directory_, segment.base_offset());
}

Result<void> Log::stage(const record::BatchHeader& header, Bytes records) {
  if (header.magic != record::kMagicV2 || header.base_offset < end_offset_ || header.last_offset_delta < 0 ||
      header.size_bytes() != record::kBatchHeaderSize + records.size())
    return failure(Code::invalid_argument, "staging a batch");
  if (auto done = repair(); !done) return done;
  Segment& segment = active();
  const std::uint64_t end = staged_end_ + header.size_bytes();
  if (end > kSegmentBytesMax || header.last_offset() - segment.base_offset() > kRelativeOffsetMax)
    return failure(Code::too_large, "staging a batch");
  if (auto done = segment.reserve(end, config_.segment_bytes); !done) return done;

  LeaderEpoch noted = kNoLeaderEpoch;
  if (header.partition_leader_epoch >= 0 && epochs_->is_news(header.partition_leader_epoch, header.base_offset)) {
    if (auto done = epochs_->assign(header.partition_leader_epoch, header.base_offset); !done) return done;
    noted = header.partition_leader_epoch;
  } else if (epochs_->is_stale) {
    if (auto done = epochs_->store(); !done) return done;
  }

  if (staged_.empty() || staged_.back()->segment != &segment) {
    if (spare_.empty()) spare_.push_back(std::make_unique<SegmentWrite>(*this));
    staged_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    staged_.back()->segment = &segment;
  }
  StagedBatch& batch = staged_.back()->batches.emplace_back();
  record::write_header(header, batch.header.data());
  batch.records = records;
  batch.place = {static_cast<Position>(staged_end_), static_cast<std::uint32_t>(header.size_bytes()),
                 header.base_offset, header.last_offset()};
  batch.max_timestamp = header.max_timestamp;
  batch.noted_epoch = noted;

  const auto position = static_cast<Position>(staged_end_);
  if (position - staged_index_position_ > config_.index_interval_bytes) {
    staged_index_position_ = position;
    ++staged_index_entries_;
  }
  if (staged_end_ == 0) staged_first_timestamp_ = header.max_timestamp;
  staged_end_ = end;
  end_offset_ = last_batch_end_ = header.next_offset();
  return {};
}

bool Log::has_staged() const { return !staged_.empty(); }

bool Log::is_being_written(const Segment& segment) const {
  const auto is_of_segment = [&](const auto& write) { return write->segment == &segment; };
  return std::ranges::any_of(staged_, is_of_segment) || std::ranges::any_of(writing_, is_of_segment);
}

void Log::write_staged(io::Completion& done) {
  CHECK(write_done_ == nullptr && !staged_.empty() && !done.pending);
  done.pending = true;
  write_done_ = &done;
  std::swap(writing_, staged_);
  writes_left_ = writing_.size();
  for (const auto& write : writing_) {
    write->parts.clear();
    for (StagedBatch& batch : write->batches) {
      write->parts.push_back({batch.header.data(), batch.header.size()});
      write->parts.push_back({const_cast<std::byte*>(batch.records.data()), batch.records.size()});
    }
    // The file is open: the batches were staged to it while it was the active one.
    const Result<io::File> file = write->segment->file();
    CHECK(file.has_value());
    files_.write(*file, write->parts, write->batches.front().place.position, write->completion);
  }
}

void Log::on_segment_written() {
  if (--writes_left_ > 0) return;
  const Result<void> written = finish_write();
  io::Completion& done = *write_done_;
  write_done_ = nullptr;
  done.pending = false;
  const int error = written ? 0 : written.error().system_error;
  done.function(done.owner, written ? 0 : -(error != 0 ? error : EIO));
}

// Takes note of what was written, up to the first write that failed.
Result<void> Log::finish_write() {
  Result<void> done;
  for (const auto& write : writing_) {
    if (write->result < 0 && done) done = system_failure(static_cast<int>(-write->result), "writing batches");
    if (!done) continue;
    for (const StagedBatch& batch : write->batches) {
      write->segment->add_written(batch.place, batch.max_timestamp, config_.index_interval_bytes,
                                  config_.index_bytes_max);
      if (write->segment == &active()) recent_->push(batch.place);
      written_end_ = batch.place.last_offset + 1;
    }
    mark_unsynced(*write->segment);
  }
  if (!done) drop_unwritten();
  for (auto& write : writing_) {
    write->batches.clear();
    spare_.push_back(std::move(write));
  }
  writing_.clear();
  if (done) static_cast<void>(seal_written());  // tried again by the next sync
  return done;
}

// After a failed write: the end goes back to what is written, everything staged is dropped.
void Log::drop_unwritten() {
  for (auto* writes : {&writing_, &staged_}) {
    for (const auto& write : *writes) {
      for (const StagedBatch& batch : write->batches) {
        if (batch.place.base_offset < written_end_ || batch.noted_epoch == kNoLeaderEpoch) continue;
        // An epoch too many in the file is put right when the log is opened or truncated.
        static_cast<void>(epochs_->forget(batch.noted_epoch));
      }
    }
  }
  for (auto& write : staged_) {
    write->batches.clear();
    spare_.push_back(std::move(write));
  }
  staged_.clear();
  end_offset_ = written_end_;
  needs_repair_ = true;
  if (auto done = repair(); !done)
    log_warning("log cut_after_failed_write=failed directory={} error=\"{}\"", directory_, done.error().text());
}

// Removes what a failed write left behind the end; it could pass for batches of the log after a crash. Nothing is
// written before this has succeeded.
Result<void> Log::repair() {
  if (!needs_repair_) return {};
  while (segments_.size() > 1 && active().base_offset() > written_end_) {
    if (auto done = remove_last_segment(); !done) return done;
    directory_is_unsynced_ = true;
  }
  std::erase(to_seal_, &active());
  if (auto done = active().aborted().truncate_to(written_end_); !done) return done;
  if (auto done = active().cut_to_size(); !done) return done;
  mark_unsynced(active());
  needs_repair_ = false;
  staged_end_ = active().size();
  staged_index_position_ = active().offsets().last().position;
  staged_index_entries_ = active().offsets().count();
  staged_first_timestamp_ = kNoTimestamp;
  last_batch_end_ = kNoOffset;
  known_bound_ = kNoOffset;
  return {};
}

// Seals the segments that were rolled away from and are all written.
Result<void> Log::seal_written() {
  for (std::size_t i = 0; i < to_seal_.size();) {
    Segment& segment = *to_seal_[i];
    if (is_being_written(segment)) {
      ++i;
      continue;
    }
    if (auto done = segment.seal(); !done) return done;
    segment.indexes_are_unsynced = true;
    directory_is_unsynced_ |= segment.aborted().count() > 0;  // whose file came into being with the first entry
    mark_unsynced(segment);
    to_seal_.erase(to_seal_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return {};
}

void Log::mark_unsynced(Segment& segment) {
  segment.log_is_unsynced = true;
  if (!holds(unsynced_, segment)) unsynced_.push_back(&segment);
}

bool Log::needs_sync() const {
  return durable_end_ < written_end_ || !unsynced_.empty() || directory_is_unsynced_ || epochs_->is_unsynced;
}

void Log::sync(io::Completion& done) {
  CHECK(sync_done_ == nullptr && needs_sync() && !done.pending);
  done.pending = true;
  sync_done_ = &done;
  sync_target_ = written_end_;
  sync_error_ = 0;
  const auto note = [this](const Result<void>& step) {
    if (!step && sync_error_ == 0) sync_error_ = step.error().system_error != 0 ? step.error().system_error : EIO;
  };
  // What cannot be sealed now is tried again next time: only indexes depend on it, and those can be made anew.
  static_cast<void>(seal_written());

  struct Part {
    Segment* segment;  // null: the leader epochs
    io::File file;
  };
  std::vector<Part> files;
  syncs_directory_ = std::exchange(directory_is_unsynced_, false);
  syncing_ = std::move(unsynced_);
  unsynced_.clear();
  for (Segment* segment : syncing_) {
    if (std::exchange(segment->log_is_unsynced, false)) {
      const Result<io::File> file = segment->file();
      if (file) {
        files.push_back({segment, *file});
      } else {
        note(std::unexpected(file.error()));
      }
    }
    const bool grows = segment == &active() && !is_closed_;
    if (grows || !std::exchange(segment->indexes_are_unsynced, false)) continue;
    for (IndexFile* index : {&segment->offsets().file(), &segment->times().file(), &segment->aborted().file()}) {
      if (!index->is_there()) continue;
      const Result<void> opened = index->open();
      if (opened) files.push_back({segment, index->file()});
      note(opened);
    }
  }
  if (std::exchange(epochs_->is_unsynced, false)) {
    syncs_directory_ = true;  // the file has come to its name by a rename
    const Result<io::File> file = epochs_->open();
    if (file) files.push_back({nullptr, syncing_epochs_ = *file});
    epochs_->is_unsynced = !file;
    note(file ? Result<void>() : std::unexpected(file.error()));
  }
  // The answer comes by the loop even when there was nothing to sync after all.
  if (files.empty() && !syncs_directory_) {
    const Result<io::File> file = active().file();
    CHECK(file.has_value());
    files.push_back({&active(), *file});
  }
  syncs_left_ = files.size() + (syncs_directory_ ? 1 : 0);
  while (sync_parts_.size() < syncs_left_) sync_parts_.push_back(std::make_unique<SyncPart>(*this));
  for (std::size_t i = 0; i < files.size(); ++i) {
    sync_parts_[i]->segment = files[i].segment;
    files_.sync(files[i].file, sync_parts_[i]->completion);
  }
  if (syncs_directory_) {
    sync_parts_[files.size()]->segment = nullptr;
    files_.sync_directory(directory_, sync_parts_[files.size()]->completion);
  }
}

// What a failed sync left behind is not known, and what is in the page cache may not be what is on the disk: from here
// on no sync proves anything, until a recovery has looked at the checksums.
void Log::on_sync_failed(Segment& segment) {
  has_failed_sync_ = true;
  if (auto done = segment.write_again(durable_end_); !done)
    log_warning("log write_after_failed_sync=failed directory={} error=\"{}\"", directory_, done.error().text());
}

bool Log::has_failed_sync() const { return has_failed_sync_; }

void Log::on_part_synced(Segment* segment, std::int64_t result) {
  if (result < 0) {
    if (sync_error_ == 0) sync_error_ = static_cast<int>(-result);
    if (segment != nullptr) on_sync_failed(*segment);
    if (segment == nullptr && !could_not_begin(result)) {
      has_failed_sync_ = true;
      // Once more in a new file, so that a later sync, also another process's, makes it durable or fails with it.
      if (syncing_epochs_) static_cast<void>(epochs_->store());
    }
  }
  if (--syncs_left_ > 0) return;
  const bool synced_epochs = static_cast<bool>(syncing_epochs_);
  files_.close(std::exchange(syncing_epochs_, io::File{}));
  if (has_failed_sync_ && sync_error_ == 0) sync_error_ = EIO;
  if (sync_error_ == 0) {
    durable_end_ = std::max(durable_end_, std::min(sync_target_, written_end_));
    for (Segment* each : syncing_) {
      if (each != &active() && !holds(to_seal_, *each)) each->rest_indexes();
    }
  } else {
    for (Segment* each : syncing_) {
      mark_unsynced(*each);
      each->indexes_are_unsynced = true;
    }
    directory_is_unsynced_ |= syncs_directory_;
    epochs_->is_unsynced |= synced_epochs;
  }
  syncing_.clear();
  io::Completion& done = *sync_done_;
  sync_done_ = nullptr;
  done.pending = false;
  done.function(done.owner, -sync_error_);
}

Offset Log::recovery_point() const {
  Offset point = durable_end_;
  for (const auto* segments : {&to_seal_, &unsynced_, &syncing_}) {
    for (const Segment* segment : *segments) {
      if (segment != &active()) point = std::min(point, segment->base_offset());
    }
  }
  return point;
}

Result<void> Log::append_aborted(const AbortedTransaction& aborted) {
  if (aborted.first_offset < 0 || aborted.first_offset > aborted.last_offset || aborted.last_offset >= end_offset_ ||
      aborted.last_offset < segments_.front()->base_offset())
    return failure(Code::invalid_argument, "noting an aborted transaction");
  Segment& segment = *segments_[segment_index(aborted.last_offset)];
  segment.aborted().append(aborted);
  segment.indexes_are_unsynced = true;
  // A failure loses nothing, the entries stay in memory; sealing tells of it.
  if (segment.aborted().file().flush_is_due()) static_cast<void>(segment.aborted().file().flush());
  // One that is sealed already is met when a partition replays its log; the index stays as durable as the batches.
  if (&segment != &active() && !holds(to_seal_, segment)) {
    if (auto done = segment.aborted().file().flush(); !done) return done;
    directory_is_unsynced_ = true;
    if (!holds(unsynced_, segment)) unsynced_.push_back(&segment);
  }
  return {};
}

}  // namespace tailrace::log
