#include "engine/log/log.h"

#include <algorithm>
#include <cerrno>

#include "engine/base/check.h"
#include "engine/log/format.h"
#include "engine/log/leader_epochs.h"
#include "engine/log/recent_batches.h"
#include "engine/log/segment.h"
#include "engine/log/segment_write.h"

namespace tailrace::log {

Log::Log(io::Files& files, std::string directory, const LogConfig& config)
    : files_(files),
      directory_(std::move(directory)),
      config_(config),
      epochs_(std::make_unique<LeaderEpochs>(files, directory_)),
      recent_(std::make_unique<RecentBatches>()) {}

Log::~Log() {
  if (syncing_epochs_) files_.close(syncing_epochs_);
}

Result<std::unique_ptr<Log>> Log::create(io::Files& files, std::string directory, const LogConfig& config, Offset start,
                                         TimestampMs now_ms) {
  if (start < 0) return failure(Code::invalid_argument, "creating a log at a negative offset");
  std::unique_ptr<Log> log(new Log(files, std::move(directory), config));
  // One that an earlier attempt has left; the file comes with the first epoch.
  if (auto done = log->epochs_->remove_file(); !done) return std::unexpected(done.error());
  if (auto done = log->add_segment(start, now_ms, Names::for_next_sync); !done) return std::unexpected(done.error());
  log->log_start_offset_ = start;
  log->set_end(start);
  log->durable_end_ = log->scanned_from_ = start;
  return log;
}

Result<std::unique_ptr<Log>> Log::open(io::Files& files, std::string directory, const LogConfig& config,
                                       const OpenHints& hints, TimestampMs now_ms) {
  std::unique_ptr<Log> log(new Log(files, std::move(directory), config));
  if (auto done = log->recover(hints, now_ms); !done) return std::unexpected(done.error());
  return log;
}

void Log::set_config(const LogConfig& config) { config_ = config; }
void Log::set_directory(std::string directory) { directory_ = std::move(directory); }

Offset Log::log_start_offset() const { return log_start_offset_; }
Offset Log::end_offset() const { return end_offset_; }
Offset Log::written_end() const { return written_end_; }
Offset Log::durable_end() const { return durable_end_; }
Offset Log::active_base_offset() const { return active().base_offset(); }
Offset Log::start_base_offset() const { return segments_[segment_index(log_start_offset_)]->base_offset(); }
Offset Log::scanned_from() const { return scanned_from_; }
std::size_t Log::segment_count() const { return segments_.size(); }
const std::string& Log::directory() const { return directory_; }
bool Log::is_busy() const { return write_done_ != nullptr || sync_done_ != nullptr; }

std::uint64_t Log::size_bytes() const {
  std::uint64_t size = 0;
  for (const auto& segment : segments_) size += segment->size();
  return size;
}

std::vector<SegmentInfo> Log::segments() const {
  std::vector<SegmentInfo> infos;
  infos.reserve(segments_.size());
  for (const auto& segment : segments_)
    infos.push_back(
        {segment->base_offset(), segment->size(), segment->largest_timestamp().timestamp, segment->file_id()});
  return infos;
}

std::size_t Log::segment_index(Offset offset) const {
  const auto behind = std::ranges::upper_bound(segments_, offset, {}, [](const auto& s) { return s->base_offset(); });
  return behind == segments_.begin() ? 0 : static_cast<std::size_t>(behind - segments_.begin()) - 1;
}

Offset Log::segment_end(std::size_t index) const {
  return index + 1 < segments_.size() ? std::min(segments_[index + 1]->base_offset(), written_end_) : written_end_;
}

LeaderEpoch Log::latest_epoch() const { return epochs_->latest(); }
LeaderEpoch Log::epoch_at(Offset offset) const { return epochs_->at(offset); }
EpochEnd Log::end_of_epoch(LeaderEpoch epoch) const { return epochs_->end_of(epoch, end_offset_); }

void Log::assign_epoch(LeaderEpoch epoch) {
  if (epoch <= epochs_->latest()) return;
  epochs_->note(epoch, end_offset_);
  epochs_->is_stale = true;
}

// Makes an empty segment the active one.
Result<void> Log::add_segment(Offset base_offset, TimestampMs now_ms, Names names) {
  auto segment = std::make_unique<Segment>(files_, directory_, base_offset, now_ms);
  Result<void> done = segment->create();
  if (done && names == Names::durable) done = files_.sync_directory(directory_);
  std::erase(strays_, base_offset);
  directory_is_unsynced_ |= !done || names == Names::for_next_sync;
  if (!done) {
    if (!segment->remove()) strays_.push_back(base_offset);
    return done;
  }
  segments_.push_back(std::move(segment));
  recent_->clear();
  return {};
}

Result<void> Log::roll(TimestampMs now_ms, Names names) {
  if (auto done = repair(); !done) return done;
  if (staged_end_ == 0) return {};
  Segment& sealed = active();
  // A segment begins exactly where the one before it ends, so that recovery can tell a loss (OpenHints).
  Result<Offset> base_offset = last_batch_end_;
  if (last_batch_end_ == kNoOffset) base_offset = sealed.last_batch_end();
  if (!base_offset) return std::unexpected(base_offset.error());
  // A recovery point above the new segment's start would keep a scan away from indexes that are not durable.
  if (*base_offset < durable_end_) {
    if (auto done = sealed.seal(); !done) return done;
    if (auto done = sync_indexes(sealed); !done) return done;
  }
  if (auto done = add_segment(*base_offset, now_ms, names); !done) return done;
  to_seal_.push_back(&sealed);
  staged_end_ = 0;
  staged_index_position_ = 0;
  staged_index_entries_ = 0;
  staged_first_timestamp_ = kNoTimestamp;
  // What is not yet written is sealed after its write. A failure here is told by the next sync or close, which try
  // again.
  static_cast<void>(seal_written());
  return {};
}

// The log ends here now, with nothing staged.
void Log::set_end(Offset offset) {
  end_offset_ = written_end_ = offset;
  durable_end_ = std::min(durable_end_, offset);
  log_start_offset_ = std::min(log_start_offset_, offset);
  staged_end_ = active().size();
  staged_index_position_ = active().offsets().last().position;
  staged_index_entries_ = active().offsets().count();
  staged_first_timestamp_ = kNoTimestamp;
  last_batch_end_ = kNoOffset;
  known_bound_ = kNoOffset;
}

// Drops every reference to a segment whose files are gone, and tells of its end.
void Log::forget(const Segment& segment) {
  std::erase(to_seal_, &segment);
  std::erase(unsynced_, &segment);
  known_bound_ = kNoOffset;
  if (on_file_gone) on_file_gone(segment.file_id());
}

// An empty segment that was not wanted does no harm to a scan, but a log that was closed is not scanned.
Result<void> Log::remove_strays() {
  while (!strays_.empty()) {
    if (auto done = Segment(files_, directory_, strays_.back(), 0).remove(); !done) return done;
    strays_.pop_back();
  }
  return {};
}

Result<void> Log::remove_last_segment() {
  if (auto done = active().remove(); !done) return done;
  forget(active());
  segments_.pop_back();
  recent_->clear();
  return {};
}

Result<void> Log::truncate_to(Offset offset) {
  CHECK(!is_busy() && staged_.empty());
  if (auto done = repair(); !done) return done;
  if (offset >= end_offset_) return epochs_->truncate_from_end(offset);
  if (offset < segments_.front()->base_offset()) return restart_at(offset, active().created_ms());
  // From the newest on, each removal durable before the next: a crash leaves a log without a hole.
  while (active().base_offset() > offset) {
    const Offset end = active().base_offset();
    if (auto done = remove_last_segment(); !done) return done;
    set_end(end);
    if (auto done = files_.sync_directory(directory_); !done) return done;
  }
  recent_->clear();
  const std::uint64_t size = active().size();
  const Result<void> truncated = active().truncate_to(offset);
  mark_unsynced(active());
  if (truncated || active().size() != size) set_end(offset);
  needs_repair_ = !truncated;
  if (!truncated) return truncated;
  if (auto done = sync_now(); !done) return done;
  return epochs_->truncate_from_end(offset);
}

Result<void> Log::restart_at(Offset offset, TimestampMs now_ms) {
  CHECK(!is_busy() && staged_.empty());
  if (offset < 0) return failure(Code::invalid_argument, "restarting a log at a negative offset");
  if (auto done = repair(); !done) return done;
  while (segments_.size() > 1) {
    const Offset end = active().base_offset();
    if (auto done = remove_last_segment(); !done) return done;
    set_end(end);
    if (auto done = files_.sync_directory(directory_); !done) return done;
  }
  // The last one goes after the new one is there, so that the log is never without a segment.
  const Offset old_base = active().base_offset();
  if (old_base == offset) {
    if (auto done = active().truncate_to(0); !done) return done;
    mark_unsynced(active());
    recent_->clear();
  } else {
    if (auto done = add_segment(offset, now_ms, Names::durable); !done) return done;
    if (old_base > offset) std::swap(segments_[0], segments_[1]);
    const std::size_t old = old_base > offset ? 1 : 0;
    if (auto done = segments_[old]->remove(); !done) return done;
    forget(*segments_[old]);
    segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(old));
    if (auto done = files_.sync_directory(directory_); !done) return done;
  }
  log_start_offset_ = offset;
  set_end(offset);
  if (auto done = sync_now(); !done) return done;
  return epochs_->clear();
}

Result<void> Log::advance_log_start(Offset offset) {
  if (offset > written_end_) return failure(Code::out_of_range, "advancing the log start above the end");
  if (offset <= log_start_offset_) return {};
  log_start_offset_ = offset;
  return epochs_->truncate_from_start(offset);
}

Expiry Log::find_expired(const RetentionRules& rules, Offset high_watermark, TimestampMs now_ms) const {
  std::size_t gone = 0;
  while (gone + 1 < segments_.size() && segments_[gone + 1]->base_offset() <= log_start_offset_) ++gone;
  const auto may_go = [&](std::size_t index) {
    const bool is_active = index + 1 == segments_.size();
    if (is_active && segments_[index]->size() == 0) return false;
    return (is_active ? end_offset_ : segments_[index + 1]->base_offset()) <= high_watermark;
  };
  if (rules.deletes && rules.retention_bytes >= 0) {
    std::uint64_t size = 0;
    for (std::size_t i = gone; i < segments_.size(); ++i) size += segments_[i]->size();
    const auto kept = static_cast<std::uint64_t>(rules.retention_bytes);
    for (; gone < segments_.size() && may_go(gone) && size >= kept && segments_[gone]->size() <= size - kept; ++gone) {
      size -= segments_[gone]->size();
    }
  }
  if (rules.deletes && rules.retention_ms >= 0) {
    while (gone < segments_.size() && may_go(gone) && now_ms - segments_[gone]->newest_ms() > rules.retention_ms)
      ++gone;
  }
  const bool takes_all = gone == segments_.size();
  if (gone == 0) return {log_start_offset_, false};
  return {std::max(log_start_offset_, takes_all ? end_offset_ : segments_[gone]->base_offset()), takes_all};
}

bool Log::has_old_segments() const { return segments_.size() > 1 && segments_[1]->base_offset() <= log_start_offset_; }

Result<std::vector<Offset>> Log::set_old_segments_aside(std::size_t count_max) {
  std::vector<Offset> gone;
  while (has_old_segments() && gone.size() < count_max) {
    Segment& oldest = *segments_.front();
    if (std::ranges::find(syncing_, &oldest) != syncing_.end() || is_being_written(oldest)) break;
    if (auto done = oldest.set_aside(); !done) {
      if (gone.empty()) return std::unexpected(done.error());
      break;
    }
    gone.push_back(oldest.base_offset());
    forget(oldest);
    segments_.erase(segments_.begin());
    directory_is_unsynced_ = true;
  }
  return gone;
}

Result<void> remove_set_aside(io::Files& files, const std::string& directory, Offset base_offset) {
  Result<void> done;
  for (const std::string_view suffix : kSegmentSuffixes) {
    const Result<void> removed =
        files.remove(directory + "/" + segment_file_name(base_offset, suffix) + std::string(kDeletedSuffix));
    if (!removed && removed.error().code != Code::not_found && done) done = removed;
  }
  return done;
}

Result<void> Log::sync_indexes(Segment& segment) {
  for (IndexFile* index : {&segment.offsets().file(), &segment.times().file(), &segment.aborted().file()}) {
    if (!index->is_there()) continue;
    if (auto done = index->sync(); !done) return done;
  }
  segment.indexes_are_unsynced = false;
  return {};
}

Result<void> Log::sync_segment(Segment& segment) {
  if (segment.log_is_unsynced) {
    Result<io::File> file = segment.file();
    if (!file) return std::unexpected(file.error());
    if (auto done = files_.sync(*file); !done) {
      on_sync_failed(segment);
      return done;
    }
    segment.log_is_unsynced = false;
  }
  return &segment != &active() || is_closed_ ? sync_indexes(segment) : Result<void>();
}

Result<void> Log::sync_epochs() {
  if (epochs_->is_stale) {
    if (auto done = epochs_->store(); !done) return done;
  }
  if (!epochs_->is_unsynced) return {};
  const Result<io::File> file = epochs_->open();
  if (!file) return std::unexpected(file.error());
  const Result<void> done = files_.sync(*file);
  files_.close(*file);
  epochs_->is_unsynced = !done;
  has_failed_sync_ |= !done;
  return done;
}

// Syncs, in the call, all that the next sync would.
Result<void> Log::sync_now() {
  if (has_failed_sync_) return system_failure(EIO, "syncing after a failed sync");
  if (auto done = seal_written(); !done) return done;
  for (Segment* segment : unsynced_) {
    if (auto done = sync_segment(*segment); !done) return done;
  }
  unsynced_.clear();
  if (auto done = sync_epochs(); !done) return done;
  if (auto done = files_.sync_directory(directory_); !done) return done;
  directory_is_unsynced_ = false;
  durable_end_ = written_end_;
  return {};
}

Result<void> Log::begin_close() {
  CHECK(!is_busy() && staged_.empty());
  if (has_failed_sync_) return system_failure(EIO, "closing after a failed sync");
  if (auto done = repair(); !done) return done;
  if (auto done = remove_strays(); !done) return done;
  if (epochs_->is_stale) {
    if (auto done = epochs_->store(); !done) return done;
  }
  is_closed_ = true;
  directory_is_unsynced_ = true;
  mark_unsynced(active());
  active().indexes_are_unsynced = true;
  if (auto done = active().seal(); !done) return done;
  return seal_written();
}

void Log::end_close() {
  for (const auto& segment : segments_) segment->release();
}

Result<void> Log::close() {
  Result<void> done = begin_close();
  if (done) done = sync_now();
  end_close();
  return done;
}

}  // namespace tailrace::log
