#include "engine/log/recovery.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "engine/base/observe.h"
#include "engine/log/batch_scanner.h"
#include "engine/log/format.h"
#include "engine/log/leader_epochs.h"
#include "engine/log/log.h"
#include "engine/log/recent_batches.h"
#include "engine/log/segment.h"

namespace tailrace::log {
namespace {

constexpr std::size_t kScanWindow = 1 << 20;
constexpr std::size_t kHeaderWindow = 32 << 10;

constexpr std::string_view kIndexSuffixes[] = {kOffsetIndexSuffix, kTimeIndexSuffix, kTransactionIndexSuffix};

// The base offset of a file of a segment with `behind` (.swap, or nothing) at the end of its name.
std::optional<Offset> base_offset_in(std::string_view name, std::string_view behind) {
  if (!name.ends_with(behind)) return std::nullopt;
  name.remove_suffix(behind.size());
  for (const std::string_view suffix : kSegmentSuffixes) {
    if (auto base_offset = parse_segment_file_name(name, suffix)) return base_offset;
  }
  return std::nullopt;
}

// The offset behind the last batch of a .log that takes the place of others; its base offset when it is empty.
Result<Offset> end_of_file(io::Files& files, const std::string& path, Offset base_offset) {
  Result<io::File> file = files.open(path, io::OpenMode::read);
  if (!file) return std::unexpected(file.error());
  Result<std::uint64_t> size = files.size(*file);
  Offset end = base_offset;
  if (size) {
    BatchScanner scanner(files, *file, 0, *size, kHeaderWindow);
    for (auto header = scanner.next(); header && *header; header = scanner.next()) end = (*header)->next_offset();
  }
  files.close(*file);
  if (!size) return std::unexpected(size.error());
  return end;
}

class DirectorySettler {
 public:
  DirectorySettler(io::Files& files, const std::string& directory) : files_(files), directory_(directory) {}

  Result<void> list() {
    Result<std::vector<io::DirectoryEntry>> entries = files_.list(directory_);
    if (!entries) return std::unexpected(entries.error());
    names_.clear();
    for (const io::DirectoryEntry& entry : *entries) {
      if (!entry.is_directory) names_.push_back(entry.name);
    }
    return {};
  }

  // A cleaner that was writing .cleaned files had not yet decided for them; .swap files from the same offset on are the
  // rest of a split that it did not finish (KAFKA-6264).
  Result<void> remove_unfinished() {
    Offset first_cleaned = std::numeric_limits<Offset>::max();
    for (const std::string& name : names_) {
      if (auto base_offset = base_offset_in(name, kCleanedSuffix))
        first_cleaned = std::min(first_cleaned, *base_offset);
    }
    for (const std::string& name : names_) {
      const std::optional<Offset> swapped = base_offset_in(name, kSwapSuffix);
      if (name.ends_with(kDeletedSuffix) || name.ends_with(kCleanedSuffix) || (swapped && *swapped >= first_cleaned)) {
        if (auto done = remove(name); !done) return done;
      }
    }
    return list();
  }

  // .swap files are whole; the segments whose offsets they hold go, and they become segments.
  Result<void> finish_swap() {
    Offset first = std::numeric_limits<Offset>::max();
    Offset end = 0;
    for (const std::string& name : names_) {
      const auto base_offset = parse_segment_file_name(name, std::string(kLogSuffix) + std::string(kSwapSuffix));
      if (!base_offset) continue;
      Result<Offset> end_offset = end_of_file(files_, path(name), *base_offset);
      if (!end_offset) return std::unexpected(end_offset.error());
      first = std::min(first, *base_offset);
      end = std::max(end, *end_offset);
    }
    for (const std::string& name : names_) {
      const std::optional<Offset> base_offset = base_offset_in(name, "");
      if (!base_offset || *base_offset < first || *base_offset >= end) continue;
      if (auto done = remove(name); !done) return done;
    }
    for (const std::string& name : names_) {
      if (!name.ends_with(kSwapSuffix)) continue;
      changed_ = true;
      if (auto done = files_.rename(path(name), path(name.substr(0, name.size() - kSwapSuffix.size()))); !done)
        return done;
    }
    return list();
  }

  Result<std::vector<Offset>> find_segments() {
    std::vector<Offset> base_offsets;
    for (const std::string& name : names_) {
      if (auto base_offset = parse_segment_file_name(name, kLogSuffix)) base_offsets.push_back(*base_offset);
    }
    for (const std::string& name : names_) {
      for (const std::string_view suffix : kIndexSuffixes) {
        const auto base_offset = parse_segment_file_name(name, suffix);
        if (!base_offset || std::ranges::binary_search(base_offsets, *base_offset)) continue;
        if (auto done = remove(name); !done) return std::unexpected(done.error());
      }
    }
    if (changed_) {
      if (auto done = files_.sync_directory(directory_); !done) return std::unexpected(done.error());
    }
    return base_offsets;
  }

 private:
  [[nodiscard]] std::string path(std::string_view name) const { return directory_ + "/" + std::string(name); }

  Result<void> remove(std::string_view name) {
    changed_ = true;
    return files_.remove(path(name));
  }

  io::Files& files_;
  const std::string& directory_;
  std::vector<std::string> names_;  // of files, sorted: base offsets ascend
  bool changed_ = false;
};

// A batch lies so far behind the last entry that it should have one.
Result<bool> lacks_entries(io::Files& files, const Segment& segment, const LogConfig& config) {
  const std::uint64_t last = segment.offsets().last().position;
  const std::uint64_t interval = config.index_interval_bytes;
  if (segment.size() - last <= 2 * interval) return false;
  if (segment.offsets().count() >= config.index_bytes_max / kOffsetEntrySize) return false;
  if (segment.times().count() + 1 >= config.index_bytes_max / kTimeEntrySize) return false;
  Result<io::File> file = segment.file();
  if (!file) return std::unexpected(file.error());
  BatchScanner scanner(files, *file, last, segment.size(), record::kBatchHeaderSize);
  while (true) {
    Result<std::optional<record::BatchHeader>> header = scanner.next();
    if (!header && header.error().code == Code::corrupt) return false;  // no index can tell more
    if (!header) return std::unexpected(header.error());
    if (!*header) return false;
    if (scanner.position() - last > interval) return true;
  }
}

// Makes the offset and time index of a segment whose batches are taken for sound, as far as they can be walked.
Result<void> rebuild_indexes(io::Files& files, Segment& segment, const LogConfig& config) {
  const std::uint64_t size = segment.size();
  if (auto done = segment.begin_rebuild(); !done) return done;
  Result<io::File> file = segment.file();
  if (!file) return std::unexpected(file.error());
  BatchScanner scanner(files, *file, 0, size, kHeaderWindow);
  Offset offset_min = segment.base_offset();
  while (true) {
    Result<std::optional<record::BatchHeader>> header = scanner.next();
    if (!header && header.error().code != Code::corrupt) return std::unexpected(header.error());
    if (!header || !*header || (*header)->base_offset < offset_min) break;
    segment.add_written({static_cast<Position>(scanner.position()), static_cast<std::uint32_t>((*header)->size_bytes()),
                         (*header)->base_offset, (*header)->last_offset()},
                        (*header)->max_timestamp, config.index_interval_bytes, config.index_bytes_max);
    offset_min = (*header)->next_offset();
  }
  segment.end_rebuild(size);
  return segment.seal();
}

Result<void> load_aborted(Segment& segment) {
  return segment.aborted().file().is_there() ? segment.aborted().load() : Result<void>();
}

bool must_be_rebuilt(const Error& error) { return error.code == Code::corrupt || error.code == Code::not_found; }

}  // namespace

Result<std::vector<Offset>> settle_directory(io::Files& files, const std::string& directory) {
  DirectorySettler settler(files, directory);
  if (auto done = settler.list(); !done) return std::unexpected(done.error());
  if (auto done = settler.remove_unfinished(); !done) return std::unexpected(done.error());
  if (auto done = settler.finish_swap(); !done) return std::unexpected(done.error());
  return settler.find_segments();
}

Result<void> Log::recover(const OpenHints& hints, TimestampMs now_ms) {
  const Offset checkpointed_start = std::max<Offset>(hints.log_start_offset, 0);
  if (auto done = adopt_segments(now_ms); !done) return done;
  const Result<void> epochs = epochs_->load();
  if (!epochs && !must_be_rebuilt(epochs.error())) return epochs;
  const std::vector<EpochStart> known_epochs = epochs_->entries();
  if (segments_.empty()) {
    if (auto done = add_segment(checkpointed_start, now_ms, Names::for_next_sync); !done) return done;
  }

  scanned_from_ = std::numeric_limits<Offset>::max();
  Result<Offset> end = 0;
  if (hints.clean_shutdown) {
    Result<void> sealed = load_sealed(segments_.size() - 1, false);
    if (!sealed) return sealed;
    end = load_active();
  } else {
    // A segment that ends at the recovery point may have been sealed after it: its indexes were not yet durable.
    // Segments below the log start may be the rest of a removal that was not durable; they have no readers.
    end = scan(std::max(hints.recovery_point - 1, checkpointed_start), hints.gaps_are_losses);
  }
  if (!end) return std::unexpected(end.error());
  durable_end_ = std::max<Offset>(hints.recovery_point, 0);
  set_end(*end);
  scanned_from_ = std::min(scanned_from_, *end);

  if (end_offset_ < checkpointed_start) {
    // The data below the log start was all there is: the rest was lost, or never written.
    log_warning("log end_below_log_start directory={} end={} log_start={}", directory_, end_offset_,
                checkpointed_start);
    if (auto done = restart_at(checkpointed_start, now_ms); !done) return done;
    scanned_from_ = checkpointed_start;
  }
  log_start_offset_ = std::max(checkpointed_start, segments_.front()->base_offset());
  if (!epochs) {
    if (auto done = rebuild_epochs(); !done) return done;
  }
  if (auto done = settle_epochs(known_epochs); !done) return done;
  epochs_->is_unsynced |= epochs && !hints.clean_shutdown;
  return leave_to_sync(hints);
}

// Writes the epochs unless the file tells the same of what is in the log. What it tells beyond the end does no harm
// before a batch is there, and rewriting many files of idle logs at a start would take its time.
Result<void> Log::settle_epochs(std::vector<EpochStart> in_file) {
  epochs_->drop_from(end_offset_);
  const std::size_t count =
      std::erase_if(in_file, [this](const EpochStart& each) { return each.start_offset >= end_offset_; });
  epochs_->is_stale |= count > 0;
  const bool is_told = epochs_->entries() == in_file;
  if (auto done = epochs_->truncate_from_start(log_start_offset_); !done) return done;
  return is_told ? Result<void>() : epochs_->store();
}

// Syncs what was found of the sealed segments, however many they are, and closes them. The rest, a few files of each
// log, is left to the first sync.
Result<void> Log::leave_to_sync(const OpenHints& hints) {
  for (Segment* segment : unsynced_) {
    if (segment == &active()) continue;
    if (auto done = sync_segment(*segment); !done) return done;
  }
  std::erase_if(unsynced_, [this](const Segment* segment) { return segment != &active(); });
  for (const auto& segment : segments_) {
    if (segment.get() != &active()) segment->release();
  }
  if (!hints.clean_shutdown) {
    mark_unsynced(active());
    directory_is_unsynced_ = true;
  }
  durable_end_ = end_offset_;
  if (needs_sync()) durable_end_ = std::clamp(hints.recovery_point, log_start_offset_, end_offset_);
  return {};
}

Result<void> Log::adopt_segments(TimestampMs now_ms) {
  Result<std::vector<Offset>> base_offsets = settle_directory(files_, directory_);
  if (!base_offsets) return std::unexpected(base_offsets.error());
  for (const Offset base_offset : *base_offsets) {
    segments_.push_back(std::make_unique<Segment>(files_, directory_, base_offset, now_ms));
    if (auto done = segments_.back()->adopt(); !done) return done;
    segments_.back()->release();
  }
  // An empty one inside the offsets of the one before was made in vain by a roll that failed, and would hide records.
  // The last segment may be one, too, which a scan finds out.
  for (std::size_t i = 1; i + 1 < segments_.size();) {
    const bool is_empty = segments_[i]->size() == 0;
    const Result<Offset> end_before = is_empty ? segments_[i - 1]->last_batch_end() : Offset{0};
    if (!is_empty || !end_before || *end_before <= segments_[i]->base_offset()) {
      ++i;
      continue;
    }
    if (auto done = segments_[i]->remove(); !done) return done;
    segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(i));
    directory_is_unsynced_ = true;
  }
  return {};
}

// Loads the indexes of the first `count` segments, which are sound and are not scanned; suspicious ones may lack
// entries that were not durable.
Result<void> Log::load_sealed(std::size_t count, bool is_suspicious) {
  for (std::size_t i = 0; i < count; ++i) {
    Segment& segment = *segments_[i];
    if (segment.size() > kSegmentBytesMax) return failure(Code::corrupt, "opening a segment larger than 2 GiB");
    Result<void> loaded = segment.load_indexes();
    Result<bool> is_short = false;
    if (loaded && is_suspicious) is_short = lacks_entries(files_, segment, config_);
    if (!is_short) return std::unexpected(is_short.error());
    if (!loaded && !must_be_rebuilt(loaded.error())) return loaded;
    if (!loaded || *is_short) {
      log_warning("log index_rebuilt directory={} base_offset={} reason=\"{}\"", directory_, segment.base_offset(),
                  loaded ? "entries are missing" : loaded.error().text());
      if (auto done = rebuild_indexes(files_, segment, config_); !done) return done;
      segment.indexes_are_unsynced = true;
      unsynced_.push_back(&segment);
    }
    const Result<void> aborted = load_aborted(segment);
    if (!aborted && !must_be_rebuilt(aborted.error())) return aborted;
    if (!aborted) {
      if (auto done = segment.aborted().reset(); !done) return done;
      scanned_from_ = std::min(scanned_from_, segment.base_offset());
    }
    segment.release();
  }
  return {};
}

// Takes the active segment of a log that was closed; looks no further than the headers behind its last index entry.
// When they do not agree with that, the segment is scanned.
Result<Offset> Log::load_active() {
  Segment& segment = active();
  Result<void> loaded = segment.load_indexes();
  if (loaded) loaded = load_aborted(segment);
  if (loaded) loaded = segment.find_largest_timestamp();
  if (!loaded && !must_be_rebuilt(loaded.error())) return std::unexpected(loaded.error());
  bool is_sound = loaded.has_value();
  Offset end = segment.base_offset();
  if (is_sound) {
    Result<io::File> file = segment.file();
    if (!file) return std::unexpected(file.error());
    BatchScanner scanner(files_, *file, segment.offsets().last().position, segment.size(), kHeaderWindow);
    while (true) {
      Result<std::optional<record::BatchHeader>> header = scanner.next();
      if (!header && header.error().code != Code::corrupt) return std::unexpected(header.error());
      is_sound = header && (!*header || (*header)->base_offset >= end);
      if (!is_sound || !*header) break;
      recent_->push({static_cast<Position>(scanner.position()), static_cast<std::uint32_t>((*header)->size_bytes()),
                     (*header)->base_offset, (*header)->last_offset()});
      end = (*header)->next_offset();
    }
  }
  if (is_sound) return end;
  log_warning("log active_segment_scanned directory={} base_offset={}", directory_, segment.base_offset());
  return scan_segment(segment, segment.base_offset());
}

// Scans every batch from the segment that contains `from` on. The log ends where the first bad batch
// begins.
Result<Offset> Log::scan(Offset from, bool gaps_are_losses) {
  const std::size_t first = segment_index(from);
  if (auto done = load_sealed(first, true); !done) return std::unexpected(done.error());
  Offset end = segments_[first]->base_offset();
  // Above the recovery point the file may be an old one, and tell of batches that were truncated since.
  epochs_->drop_from(end);
  scanned_from_ = std::min(scanned_from_, end);
  for (std::size_t i = first; i < segments_.size(); ++i) {
    Segment& segment = *segments_[i];
    const bool follows =
        i == first || (segment.base_offset() >= end && !(gaps_are_losses && segment.base_offset() > end));
    const std::uint64_t size = segment.size();
    if (!follows && size == 0 && segment.base_offset() < end) {
      // Made in vain by a roll that failed, and not removed then: what comes after it was written without it.
      if (auto done = segment.remove(); !done) return std::unexpected(done.error());
      forget(segment);
      segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(i--));
      continue;
    }
    if (follows) {
      Result<Offset> scanned = scan_segment(segment, segment.base_offset());
      if (!scanned) return scanned;
      end = *scanned;
      if (segment.size() == size) continue;
    }
    // What follows a cut was written later than what is lost. From the newest on, so that a crash leaves no hole.
    const std::size_t keep = follows ? i + 1 : i;
    if (keep < segments_.size()) {
      log_warning("log segments_removed directory={} count={} end={}", directory_, segments_.size() - keep, end);
    }
    while (segments_.size() > keep) {
      if (auto done = remove_last_segment(); !done) return std::unexpected(done.error());
      if (auto done = files_.sync_directory(directory_); !done) return std::unexpected(done.error());
    }
  }
  return end;
}

// Checks all batches of a segment, makes its indexes anew and cuts it before the first batch that is not sound. Returns
// the offset behind the last sound one.
Result<Offset> Log::scan_segment(Segment& segment, Offset offset_min) {
  const std::uint64_t size = segment.size();
  if (auto done = segment.begin_rebuild(); !done) return std::unexpected(done.error());
  if (auto done = segment.aborted().reset(); !done) return std::unexpected(done.error());
  scanned_from_ = std::min(scanned_from_, segment.base_offset());
  recent_->clear();
  Result<io::File> file = segment.file();
  if (!file) return std::unexpected(file.error());

  const char* reason = nullptr;
  BatchScanner scanner(files_, *file, 0, std::min(size, kSegmentBytesMax), kScanWindow);
  while (reason == nullptr) {
    Result<std::optional<record::BatchHeader>> header = scanner.next();
    if (!header && header.error().code != Code::corrupt && header.error().code != Code::unsupported)
      return std::unexpected(header.error());
    if (header && !*header) break;
    if (!header) {
      reason = header.error().context;
      break;
    }
    const record::BatchHeader& batch = **header;
    Result<Bytes> bytes = scanner.whole();
    if (!bytes) return std::unexpected(bytes.error());
    if (batch.base_offset < offset_min) {
      reason = "offsets go backwards";
    } else if (!crc_is_valid(batch, *bytes)) {
      reason = "checksum of a batch";
    } else {
      const BatchPlace place{static_cast<Position>(scanner.position()), static_cast<std::uint32_t>(batch.size_bytes()),
                             batch.base_offset, batch.last_offset()};
      segment.add_written(place, batch.max_timestamp, config_.index_interval_bytes, config_.index_bytes_max);
      if (&segment == &active()) recent_->push(place);
      if (batch.magic >= record::kMagicV2 && batch.partition_leader_epoch > epochs_->latest())
        epochs_->note(batch.partition_leader_epoch, batch.base_offset);
      offset_min = batch.next_offset();
    }
  }
  if (segment.size() < size) {
    log_warning("log segment_cut directory={} base_offset={} position={} bytes_dropped={} end={} reason=\"{}\"",
                directory_, segment.base_offset(), segment.size(), size - segment.size(), offset_min,
                reason == nullptr ? "" : reason);
  }
  // Also gives back what was reserved behind the end.
  if (auto done = segment.cut_to_size(); !done) return std::unexpected(done.error());
  if (auto done = segment.seal(); !done) return std::unexpected(done.error());
  segment.indexes_are_unsynced = true;
  mark_unsynced(segment);
  return offset_min;
}

// The checkpoint is not there or not readable; the batches know. What lies below the log start may not even be whole.
Result<void> Log::rebuild_epochs() {
  LeaderEpochs& epochs = *epochs_;
  epochs.drop_from(0);  // a scan knows only the last ones, in whose presence older ones would not count
  Result<void> done = for_each_batch(
      log_start_offset_, false, [&](const record::BatchHeader& header, Bytes, const SegmentRef&, Position) {
        if (header.magic >= record::kMagicV2 && header.partition_leader_epoch > epochs.latest())
          epochs.note(header.partition_leader_epoch, header.base_offset);
        return true;
      });
  return !done && done.error().code != Code::corrupt ? done : Result<void>();
}

}  // namespace tailrace::log
