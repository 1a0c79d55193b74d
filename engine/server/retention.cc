// What a Shard lets go of: records that a client deletes, segments that have expired. Both move a log start, and a log
// start is seen by nobody before it is durable in its checkpoint; those that come together share a write of it. Then
// segments below it leave their logs, and later, when file.delete.delay.ms is over, the disk. All but DeleteRecords
// itself is done in small steps of one timer, so that no turn is long: with 10,000 partitions one round of checks takes
// 40 steps, a backlog of 1,000 segments goes in about a second.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/observe.h"
#include "engine/partition/snapshot_files.h"
#include "engine/server/shard_parts.h"

namespace tailrace::server {
namespace {

constexpr Duration kStepPause{1000};
constexpr std::size_t kSegmentsCheckedPerStep = 1024;  // in memory; a partition counts for at least kPartitionCost
constexpr std::size_t kPartitionCost = 4;
constexpr std::size_t kRollCost = 64;                 // a few dozen system calls
constexpr std::size_t kSegmentsSetAsidePerStep = 16;  // five renames each
constexpr std::size_t kSnapshotSyncsMax = 16;         // at the same time, each with a descriptor
// A first look soon after the start, for what has expired while the node was down; Kafka's initial task delay.
constexpr std::int64_t kFirstCheckMs = 30'000;

}  // namespace

void Shard::plan_first_check() {
  next_check_ = io_.now() + std::chrono::milliseconds(std::min(settings_.retention_check_interval_ms, kFirstCheckMs));
  arm_upkeep(next_check_);
}

void Shard::arm_upkeep(Instant due) {
  if (!upkeep_timer_.armed() || due < upkeep_timer_.due) io_.arm(upkeep_timer_, due);
}

void Shard::on_upkeep_due() {
  const Instant now = io_.now();
  if (state_ == State::running) {
    if (now >= next_check_ && to_check_.empty()) {
      for (const auto& [key, hosted] : hosted_) to_check_.push_back(key);
      next_check_ = now + std::chrono::milliseconds(settings_.retention_check_interval_ms);
    }
    check_some_logs();
    set_some_segments_aside();
    remove_one_segment();
    if (!to_check_.empty() || !to_trim_.empty()) arm_upkeep(now + kStepPause);
    if (!set_aside_.empty()) arm_upkeep(std::max(set_aside_.begin()->first, now + kStepPause));
  }
  if (state_ == State::running || state_ == State::loading) arm_upkeep(std::max(next_check_, now + kStepPause));
}

void Shard::check_some_logs() {
  for (std::size_t cost = 0; !to_check_.empty() && cost < kSegmentsCheckedPerStep;) {
    const auto found = hosted_.find(to_check_.back());
    to_check_.pop_back();
    if (found == hosted_.end()) continue;
    cost += std::max(found->second->partition->log().segment_count(), kPartitionCost);
    if (check_retention(*found->second)) cost += kRollCost;
  }
}

// The rules come with the role. True: a segment was rolled.
bool Shard::check_retention(Hosted& hosted) {
  partition::Partition& partition = *hosted.partition;
  if (hosted.deleted || hosted.settling || !hosted.has_topic_id || !partition.is_leader() || partition.failed())
    return false;
  const TimestampMs now = io_.wall_clock_ms();
  const log::Expiry expiry = partition.log().find_expired(hosted.retention, partition.high_watermark(), now);
  trim_later(hosted);
  if (expiry.log_start_offset <= std::max(partition.log_start_offset(), hosted.wanted_log_start)) return false;
  if (expiry.takes_all) {
    // Not synced: what is in it goes, and recovery makes an empty segment where the log start is and none is there.
    if (Result<void> rolled = partition.roll_expired(now); !rolled) {
      log_warning("expired segment not rolled partition={} reason=\"{}\"", hosted.name, rolled.error().text());
      return true;
    }
  }
  log_info("segments expired partition={} log_start={}", hosted.name, expiry.log_start_offset);
  raise_log_start(hosted, expiry.log_start_offset);
  return expiry.takes_all;
}

void Shard::on_delete_records(Session& session, const api::DeleteRecords& request) {
  api::RecordsDeleted answer{.request = request.request};
  Hosted* const hosted = find(request.partition);
  Result<Offset> end = failure(Code::unknown_partition);
  if (hosted != nullptr) end = hosted->partition->deletion_end(request.offset);
  if (!end) {
    answer.code = static_cast<std::uint16_t>(end.error().code);
  } else if (*end > hosted->partition->log_start_offset()) {
    session.owed_bytes += kOwedDeletedBytes;
    hosted->deletions.push_back({session.id, request.request, *end});
    return raise_log_start(*hosted, *end);
  } else {
    answer.low_watermark = hosted->partition->log_start_offset();
  }
  reply(session, answer);
}

void Shard::raise_log_start(Hosted& hosted, Offset offset) {
  if (offset <= hosted.wanted_log_start) return;  // on its way
  const bool is_listed = hosted.wanted_log_start != hosted.saving_log_start;
  hosted.wanted_log_start = offset;
  if (!is_listed) unsaved_log_starts_.push_back(&hosted);
}

// One at a time: what comes meanwhile shares the next one.
void Shard::start_log_starts() {
  if (unsaved_log_starts_.empty() || directory_.is_writing_log_starts()) return;
  saving_log_starts_.swap(unsaved_log_starts_);
  for (Hosted* const hosted : saving_log_starts_) hosted->saving_log_start = hosted->wanted_log_start;
  ++in_flight_;
  const Result<void> started = directory_.start_log_starts(checkpoints(), log_starts_saved_);
  if (started) return;
  on_log_starts_saved(started.error().code == Code::disk_full ? -ENOSPC : -EIO);
}

void Shard::on_log_starts_saved(std::int64_t result) {
  --in_flight_;
  if (result < 0) log_error("log starts not saved error=\"{}\"", std::strerror(static_cast<int>(-result)));
  std::vector<Hosted*> saved;
  saved.swap(saving_log_starts_);
  for (Hosted* const hosted : saved) {
    const Offset offset = std::exchange(hosted->saving_log_start, kNoOffset);
    if (hosted->wanted_log_start == offset) hosted->wanted_log_start = kNoOffset;
    if (result >= 0) move_log_start(*hosted, offset);
    const Code code = result == -ENOSPC ? Code::disk_full : Code::io_failed;
    answer_deletions(*hosted, offset, result < 0 ? static_cast<std::uint16_t>(code) : api::kOk);
  }
}

void Shard::answer_deletions(Hosted& hosted, Offset end, std::uint16_t code) {
  std::erase_if(hosted.deletions, [&](const Deletion& each) {
    if (each.end > end) return false;
    if (Session* const session = find_session(each.session)) {
      session->owed_bytes -= kOwedDeletedBytes;
      const Offset low_watermark = code == api::kOk ? hosted.partition->log_start_offset() : kNoOffset;
      CHECK(
          reply(*session, api::RecordsDeleted{.request = each.request, .code = code, .low_watermark = low_watermark}));
    }
    return true;
  });
}

// From here on everybody sees it, also those who wait for more behind a record that is gone.
void Shard::move_log_start(Hosted& hosted, Offset offset) {
  // Only the leader epochs can fail, which then tell of more than there is.
  if (Result<void> moved = hosted.partition->log().advance_log_start(offset); !moved)
    log_warning("leader epochs not stored partition={} reason=\"{}\"", hosted.name, moved.error().text());
  hosted.partition->waiters().take_below(offset, [&](const auto& due) {
    if (Session* const session = find_session(due.token.session)) fire(*session, due.token.request);
  });
  trim_later(hosted);
}

// The partition goes, or gets another log: what was to become of its log start is void.
void Shard::forget_log_start(Hosted& hosted, Code code) {
  std::erase(unsaved_log_starts_, &hosted);
  std::erase(saving_log_starts_, &hosted);
  hosted.wanted_log_start = hosted.saving_log_start = kNoOffset;
  answer_deletions(hosted, INT64_MAX, static_cast<std::uint16_t>(code));
}

void Shard::trim_later(Hosted& hosted) {
  if (hosted.in_trim_list || !hosted.partition->log().has_old_segments()) return;
  hosted.in_trim_list = true;
  to_trim_.push_back(hosted.key);
  arm_upkeep(io_.now());
}

// With the segments before it, what they tell of producers goes: the snapshot of the first segment that stays has to be
// durable before. False: it is on its way, and brings the partition back to be trimmed; or that has failed, and the
// next check tries again.
bool Shard::keep_snapshot(Hosted& hosted) {
  const log::Log& log = hosted.partition->log();
  const Offset base_offset = log.start_base_offset();
  if (hosted.durable_snapshot == base_offset) return true;
  if (hosted.snapshot_sync) return false;
  const Result<io::File> file = partition::open_snapshot(io_.files(), log.directory(), base_offset);
  if (!file && file.error().code == Code::not_found) return true;  // of an adopted directory
  if (!file) {
    log_warning("segments not removed partition={} reason=\"{}\"", hosted.name, file.error().text());
    return false;
  }
  hosted.snapshot_sync = std::make_unique<SnapshotSync>();
  hosted.snapshot_sync->base_offset = base_offset;
  hosted.snapshot_sync->file = *file;
  hosted.snapshot_sync->content_synced.bind<&Hosted::on_snapshot_content_synced>(&hosted);
  hosted.snapshot_sync->name_synced.bind<&Hosted::on_snapshot_name_synced>(&hosted);
  ++in_flight_;
  ++snapshot_syncs_;
  io_.files().sync(*file, hosted.snapshot_sync->content_synced);
  return false;
}

void Shard::on_snapshot_content_synced(Hosted& hosted, std::int64_t result) {
  SnapshotSync& sync = *hosted.snapshot_sync;
  if (result < 0) static_cast<void>(io::write_again(io_.files(), sync.file, 0));
  io_.files().close(sync.file);
  if (result < 0) return on_snapshot_name_synced(hosted, result);
  io_.files().sync_directory(hosted.partition->log().directory(), sync.name_synced);
}

void Shard::on_snapshot_name_synced(Hosted& hosted, std::int64_t result) {
  --in_flight_;
  --snapshot_syncs_;
  const std::unique_ptr<SnapshotSync> sync = std::move(hosted.snapshot_sync);
  if (result < 0) {
    log_warning("segments not removed partition={} reason=\"snapshot not synced: {}\"", hosted.name,
                std::strerror(static_cast<int>(-result)));
    return;
  }
  hosted.durable_snapshot = sync->base_offset;
  trim_later(hosted);
}

void Shard::set_some_segments_aside() {
  std::vector<TopicIdPartition> busy;
  for (std::size_t left = kSegmentsSetAsidePerStep;
       left > 0 && !to_trim_.empty() && snapshot_syncs_ < kSnapshotSyncsMax;) {
    const TopicIdPartition key = to_trim_.back();
    to_trim_.pop_back();
    const auto found = hosted_.find(key);
    if (found == hosted_.end()) continue;
    Hosted& hosted = *found->second;
    hosted.in_trim_list = false;
    if (hosted.deleted) continue;
    log::Log& log = hosted.partition->log();
    if (!keep_snapshot(hosted)) continue;
    const Result<std::vector<Offset>> gone = log.set_old_segments_aside(left);
    if (!gone) {  // tried again by the next check
      log_warning("segments not removed partition={} reason=\"{}\"", hosted.name, gone.error().text());
      continue;
    }
    const Instant due = io_.now() + std::chrono::milliseconds(hosted.file_delete_delay_ms);
    for (const Offset base_offset : *gone) set_aside_.emplace(due, SetAside{log.directory(), base_offset});
    left -= gone->size();
    if (!log.has_old_segments()) continue;
    hosted.in_trim_list = true;  // there are more, or a sync is busy with the oldest
    busy.push_back(key);
  }
  to_trim_.insert(to_trim_.end(), busy.begin(), busy.end());
}

void Shard::remove_one_segment() {
  if (set_aside_.empty() || set_aside_.begin()->first > io_.now()) return;
  const SetAside gone = std::move(set_aside_.begin()->second);
  set_aside_.erase(set_aside_.begin());
  // What cannot be removed now is removed by the next start.
  if (Result<void> removed = log::remove_set_aside(io_.files(), gone.directory, gone.base_offset); !removed) {
    log_warning("expired segment not removed directory={} base_offset={} reason=\"{}\"", gone.directory,
                gone.base_offset, removed.error().text());
  }
}

}  // namespace tailrace::server
