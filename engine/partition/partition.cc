#include "engine/partition/partition.h"

#include <algorithm>

#include "engine/base/observe.h"
#include "engine/partition/snapshot_files.h"
#include "engine/record/control.h"

namespace tailrace::partition {
namespace {

// What of a header the log would trip over, checked again on this side of the ring.
bool is_sound(const record::BatchHeader& header, std::size_t length) {
  return header.magic == record::kMagicV2 && header.size_bytes() == length && header.record_count > 0 &&
         header.last_offset_delta == header.record_count - 1;
}

constexpr TimestampMs kLatest = -1;
constexpr TimestampMs kEarliest = -2;
constexpr TimestampMs kMaxTimestamp = -3;
constexpr TimestampMs kEarliestLocal = -4;

}  // namespace

Result<std::unique_ptr<Partition>> Partition::create(io::Files& files, const std::string& directory,
                                                     const log::LogConfig& config, TimestampMs now_ms) {
  Result<std::unique_ptr<log::Log>> log = log::Log::create(files, directory, config, 0, now_ms);
  if (!log) return std::unexpected(log.error());
  return std::unique_ptr<Partition>(new Partition(files, std::move(*log)));
}

Result<std::unique_ptr<Partition>> Partition::open(io::Files& files, const std::string& directory,
                                                   const log::LogConfig& config, const log::OpenHints& hints,
                                                   std::int64_t producer_expiration_ms, TimestampMs now_ms) {
  Result<std::unique_ptr<log::Log>> log = log::Log::open(files, directory, config, hints, now_ms);
  if (!log) return std::unexpected(log.error());
  auto partition = std::unique_ptr<Partition>(new Partition(files, std::move(*log)));
  partition->producer_expiration_ms_ = producer_expiration_ms;
  if (Result<void> loaded = partition->load_producers(now_ms); !loaded) return std::unexpected(loaded.error());
  // What recovery kept is written and durable; alone, that is the high watermark.
  partition->replication_.on_local_end(partition->log_->durable_end());
  return partition;
}

Result<void> Partition::become_leader(LeaderEpoch epoch) {
  if (Result<void> led = replication_.become_leader(epoch); !led) return led;
  log_->assign_epoch(epoch);
  return {};
}

Result<void> Partition::load_producers(TimestampMs now_ms) {
  // Records below the log start are gone for readers, but a retry of a batch among them must still be known.
  const Offset first = log_->segments().front().base_offset;
  const Result<void> loaded = load_producers_from(first, now_ms);
  const bool is_unsound = !loaded && loaded.error().code == Code::corrupt;
  if (!is_unsound || log_->start_base_offset() == first) return loaded;
  // What lies below the log start may be the rest of a removal, or never have been synced.
  return load_producers_from(log_->start_base_offset(), now_ms);
}

// From the newest snapshot on; without one, from `first`.
Result<void> Partition::load_producers_from(Offset first, TimestampMs now_ms) {
  producers_.clear();
  Offset from = first;
  if (Result<Offset> loaded =
          load_newest_snapshot(files_, log_->directory(), first, log_->end_offset(), log_->segments(), producers_)) {
    from = snapshot_offset_ = *loaded;
  } else {
    return std::unexpected(loaded.error());
  }
  producers_.expire(now_ms, producer_expiration_ms_);
  if (from >= log_->end_offset()) return {};
  // Headers are enough, but for the markers that end transactions.
  Result<void> marker_read;
  Result<void> read = log_->for_each_batch(
      from, false, [&](const record::BatchHeader& header, Bytes batch, const log::SegmentRef&, Position) {
        if (header.magic != record::kMagicV2) return true;
        if (!header.is_control()) {
          apply_stored(header, batch);
          return true;
        }
        marker_read =
            log_->for_each_batch(header.base_offset, true,
                                 [&](const record::BatchHeader& same, Bytes whole, const log::SegmentRef&, Position) {
                                   apply_stored(same, whole);
                                   return false;
                                 });
        return marker_read.has_value();
      });
  return read ? marker_read : read;
}

void Partition::apply_stored(const record::BatchHeader& header, Bytes batch) {
  std::optional<Producers::EndMarker> marker;
  if (header.is_control()) {
    const Result<std::optional<record::EndMarker>> parsed = record::end_marker_of_batch(batch);
    if (parsed && *parsed) marker = Producers::EndMarker{(*parsed)->aborts, (*parsed)->coordinator_epoch};
  }
  producers_.apply(header, marker);
}

// One that is there already tells the same, and may be durable and the only one: it is not written over.
Result<void> Partition::write_snapshot() {
  if (snapshot_offset_ == log_->end_offset()) return {};
  const Result<void> saved = save_snapshot(files_, log_->directory(), log_->end_offset(), producers_);
  snapshot_offset_ = saved ? log_->end_offset() : kNoOffset;
  return saved;
}

Result<void> Partition::roll_if_due(const record::BatchHeader& header, TimestampMs now_ms) {
  if (!log_->must_roll(header, now_ms)) return {};
  // Recovery starts from the newest snapshot, so that a segment once sealed is never read again for its producers.
  if (Result<void> saved = write_snapshot(); !saved) return saved;
  return log_->roll(now_ms);
}

Result<AppendOutcome> Partition::append(Bytes bytes, LeaderEpoch clients_epoch, TimestampMs now_ms) {
  if (Result<void> checked = replication_.check_epoch(clients_epoch); !checked) return std::unexpected(checked.error());
  if (failed()) return failure(Code::io_failed, "appending after a failed sync");
  if (Result<void> removed = remove_false_snapshots(); !removed) return std::unexpected(removed.error());
  if (bytes.size() < record::kBatchHeaderSize) return failure(Code::corrupt, "appending");
  record::BatchHeader header = record::read_header(bytes.data());
  if (!is_sound(header, bytes.size())) return failure(Code::corrupt, "appending");
  // No coordinator opens transactions in this release: a transactional batch belongs to none.
  if (header.is_transactional()) return failure(Code::invalid_transaction, "appending a transactional batch");

  if (header.has_producer()) {
    Result<std::optional<RememberedBatch>> known = producers_.check(header);
    if (!known) return std::unexpected(known.error());
    if (*known) {
      const RememberedBatch& old = **known;
      return AppendOutcome{old.base_offset(), old.last_offset + 1, old.timestamp, true};
    }
  }
  header.base_offset = log_->end_offset();
  header.partition_leader_epoch = replication_.leader_epoch();
  if (Result<void> rolled = roll_if_due(header, now_ms); !rolled) return std::unexpected(rolled.error());
  if (Result<void> staged = log_->stage(header, bytes.subspan(record::kBatchHeaderSize)); !staged) {
    return std::unexpected(staged.error());
  }
  if (header.has_producer()) {
    undo_.push_back({header.base_offset, header.producer_id, producers_.state_of(header.producer_id)});
    producers_.apply(header, std::nullopt);
  }
  return AppendOutcome{header.base_offset, header.next_offset(), kNoTimestamp, false};
}

Result<Offset> Partition::deletion_end(Offset offset) const {
  if (Result<void> checked = replication_.check_epoch(kNoLeaderEpoch); !checked)
    return std::unexpected(checked.error());
  if (failed()) return failure(Code::io_failed, "deleting records after a failed sync");
  const Offset end = offset == -1 ? high_watermark() : offset;
  if (end < 0 || end > high_watermark()) return failure(Code::out_of_range, "deleting records");
  return end;
}

Result<void> Partition::roll_expired(TimestampMs now_ms) {
  if (Result<void> removed = remove_false_snapshots(); !removed) return removed;
  if (Result<void> saved = write_snapshot(); !saved) return saved;
  return log_->roll(now_ms, log::Log::Names::for_next_sync);
}

void Partition::on_written() {
  const auto is_written = [end = log_->written_end()](const Undo& undo) { return undo.base_offset < end; };
  undo_.erase(undo_.begin(), std::ranges::find_if_not(undo_, is_written));
}

void Partition::on_write_failed() {
  on_written();
  for (; !undo_.empty(); undo_.pop_back()) producers_.restore(undo_.back().producer_id, std::move(undo_.back().state));
  has_false_snapshots_ = true;
  snapshot_offset_ = kNoOffset;
  if (Result<void> removed = remove_false_snapshots(); !removed)
    log_warning("snapshots not removed directory={} reason=\"{}\"", log_->directory(), removed.error().text());
}

// A roll takes a snapshot that knows what is staged. Once the log has grown past it again, it would be believed.
Result<void> Partition::remove_false_snapshots() {
  if (!has_false_snapshots_) return {};
  if (Result<void> removed = remove_snapshots_beyond(files_, log_->directory(), log_->end_offset()); !removed)
    return removed;
  has_false_snapshots_ = false;
  return {};
}

Offset Partition::last_stable_offset() const {
  const std::optional<Offset> unstable = producers_.first_unstable_offset();
  // What began a transaction may have been deleted since (UnifiedLog.maybeIncrementFirstUnstableOffset).
  return unstable ? std::min(std::max(*unstable, log_start_offset()), high_watermark()) : high_watermark();
}

Offset Partition::readable_end(bool committed_only) const {
  return committed_only ? last_stable_offset() : high_watermark();
}

Result<PlannedRead> Partition::plan_read(Offset from, std::uint32_t max_bytes, bool whole_first_batch,
                                         bool committed_only, LeaderEpoch clients_epoch,
                                         LeaderEpoch last_fetched_epoch) const {
  if (Result<void> checked = replication_.check_epoch(clients_epoch); !checked) return std::unexpected(checked.error());
  PlannedRead plan;
  plan.readable_end = readable_end(committed_only);
  if (last_fetched_epoch != kNoLeaderEpoch) {
    const log::EpochEnd end = log_->end_of_epoch(last_fetched_epoch);
    if (end.end_offset == kNoOffset || end.leader_epoch == kNoLeaderEpoch) {
      return failure(Code::out_of_range, "looking for the fetched epoch");
    }
    if (end.leader_epoch < last_fetched_epoch || end.end_offset < from) {
      plan.diverging = end;
      return plan;
    }
  }
  // Between the readable end and the log end there is something, only not yet for this reader.
  if (from > plan.readable_end && from <= log_->end_offset()) return plan;
  Result<log::Extent> extent = log_->plan_read(from, plan.readable_end, max_bytes, whole_first_batch);
  if (!extent) return std::unexpected(extent.error());
  plan.extent = *extent;
  if (plan.extent.length != 0) plan.available_bytes = log_->bytes_between(from, plan.readable_end);
  if (committed_only && plan.extent.length != 0) {
    Result<std::vector<log::AbortedTransaction>> aborted = log_->aborted_transactions(from, plan.readable_end);
    if (!aborted) return std::unexpected(aborted.error());
    plan.aborted = std::move(*aborted);
  }
  return plan;
}

Result<ListedOffset> Partition::list_offset(TimestampMs timestamp, bool committed_only,
                                            LeaderEpoch clients_epoch) const {
  if (Result<void> checked = replication_.check_epoch(clients_epoch); !checked) return std::unexpected(checked.error());
  const Offset end = readable_end(committed_only);
  const LeaderEpoch latest_epoch = log_->latest_epoch();
  if (timestamp == kLatest) return ListedOffset{end, kNoTimestamp, replication_.leader_epoch()};
  if (timestamp == kEarliest || timestamp == kEarliestLocal) {
    const LeaderEpoch epoch = log_->epoch_at(log_->log_start_offset());
    return ListedOffset{log_->log_start_offset(), kNoTimestamp, epoch};
  }
  if (timestamp < kEarliestLocal) return ListedOffset{kNoOffset, kNoTimestamp, kNoLeaderEpoch};
  const Result<std::optional<log::TimestampedOffset>> found =
      timestamp == kMaxTimestamp ? log_->find_max_timestamp(end) : log_->find_by_timestamp(timestamp, end);
  if (!found) return std::unexpected(found.error());
  if (!*found) return ListedOffset{kNoOffset, kNoTimestamp, kNoLeaderEpoch};
  const log::TimestampedOffset& at = **found;
  return ListedOffset{at.offset, at.timestamp, at.leader_epoch == kNoLeaderEpoch ? latest_epoch : at.leader_epoch};
}

Result<log::EpochEnd> Partition::end_of_epoch(LeaderEpoch epoch, LeaderEpoch clients_epoch) const {
  if (Result<void> checked = replication_.check_epoch(clients_epoch); !checked) return std::unexpected(checked.error());
  return log_->end_of_epoch(epoch);
}

void Partition::expire_producers(TimestampMs now_ms) { producers_.expire(now_ms, producer_expiration_ms_); }

Result<void> Partition::save_last_snapshot() {
  if (failed()) return {};
  Result<void> removed = remove_false_snapshots();
  return removed ? write_snapshot() : removed;
}

Result<void> Partition::close() {
  const Result<void> saved = save_last_snapshot();
  Result<void> closed = log_->close();
  return saved ? closed : saved;
}

Result<void> Partition::begin_close() {
  const Result<void> saved = save_last_snapshot();
  return saved ? log_->begin_close() : saved;
}

void Partition::end_close() { log_->end_close(); }

}  // namespace tailrace::partition
