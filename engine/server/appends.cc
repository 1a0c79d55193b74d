// The way of an append through a Shard: staged, written with what else was staged in the turn, synced as durability
// asks, answered. And what happens to those that wait when a write or a sync fails.
#include <algorithm>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/observe.h"
#include "engine/server/shard_parts.h"

namespace tailrace::server {

void Shard::on_append(Session& session, const api::Append& request) {
  const auto refuse = [&](Code code) {
    reply(session, api::Appended{.request = request.request, .code = static_cast<std::uint16_t>(code)});
  };
  Hosted* const hosted = find(request.partition);
  if (hosted == nullptr) return refuse(Code::unknown_partition);
  const Bytes arena = session.link->arena();
  if (request.arena_offset > arena.size() || request.length > arena.size() - request.arena_offset)
    return refuse(Code::corrupt);

  partition::Partition& partition = *hosted->partition;
  const Bytes batch = arena.subspan(request.arena_offset, request.length);
  const Result<partition::AppendOutcome> outcome = partition.append(batch, request.leader_epoch, io_.wall_clock_ms());
  if (!outcome) {
    if (outcome.error().code == Code::disk_full || outcome.error().code == Code::io_failed) {
      log_warning("append refused partition={} reason=\"{}\"", hosted->name, outcome.error().text());
    }
    return refuse(outcome.error().code);
  }
  appends_.add();
  appended_bytes_.add(request.length);
  if (!outcome->duplicate) {
    hosted->hold_staged(session);
    if (!hosted->in_staged_list) staged_.push_back(hosted);
    hosted->in_staged_list = true;
  }
  session.owed_bytes += kOwedBytes;
  const partition::Waiters::Acknowledgement acknowledgement{.end = outcome->end_offset,
                                                            .token = {session.id, request.request},
                                                            .base_offset = outcome->base_offset,
                                                            .timestamp = outcome->timestamp,
                                                            .duplicate = outcome->duplicate};
  if (request.wait == api::Wait::local) {
    partition.waiters().acknowledge_local(acknowledgement);
  } else {
    partition.waiters().acknowledge_replicated(acknowledgement);
  }
  // A duplicate may be safe already.
  if (outcome->duplicate) advance(*hosted, partition.high_watermark());
}

void Shard::write_staged() {
  std::vector<Hosted*> staged;
  staged.swap(staged_);
  for (Hosted* const hosted : staged) {
    if (hosted->writing) {  // what was staged since goes with the next write
      staged_.push_back(hosted);
      continue;
    }
    hosted->in_staged_list = false;
    hosted->writing = true;
    hosted->writing_from.swap(hosted->staged_from);
    ++in_flight_;
    writes_.add();
    hosted->partition->log().write_staged(hosted->written);
  }
}

void Shard::on_written(Hosted& hosted, std::int64_t result) {
  --in_flight_;
  hosted.writing = false;
  hosted.writing_from.clear();
  log::Log& log = hosted.partition->log();
  if (result < 0) {
    log_error("write failed partition={} error=\"{}\"", hosted.name, std::strerror(static_cast<int>(-result)));
    std::erase(staged_, &hosted);
    hosted.in_staged_list = false;
    hosted.staged_from.clear();
    hosted.partition->on_write_failed();
    return fail_lost(hosted, result == -ENOSPC ? Code::disk_full : Code::io_failed);
  }
  hosted.partition->on_written();
  if (hosted.partition->failed()) return fail_unsafe(hosted);
  if (settings_.durability == Durability::memory) return advance(hosted, log.written_end());
  list_unsynced(hosted);
}

void Shard::list_unsynced(Hosted& hosted) {
  if (hosted.in_unsynced_list || hosted.deleted || hosted.settling || !hosted.partition->log().needs_sync()) return;
  hosted.in_unsynced_list = true;
  unsynced_.push_back(&hosted);
}

// One sync at a time for a partition: what is written meanwhile shares the next one. That is group commit. A sync also
// waits for the write that is in flight, to cover it, but for one only: under a steady load there is always another.
void Shard::start_syncs() {
  std::vector<Hosted*> unsynced;
  unsynced.swap(unsynced_);
  for (Hosted* const hosted : unsynced) {
    if (hosted->syncing || (hosted->writing && !hosted->has_waited_for_write)) {
      hosted->has_waited_for_write |= !hosted->syncing;
      unsynced_.push_back(hosted);
      continue;
    }
    hosted->in_unsynced_list = false;
    hosted->has_waited_for_write = false;
    // The sync that was in flight when it was listed may have been enough; after a failed one no other helps.
    if (hosted->partition->failed() || !hosted->partition->log().needs_sync()) continue;
    start_sync(*hosted);
  }
}

void Shard::start_sync(Hosted& hosted) {
  hosted.syncing = true;
  ++in_flight_;
  syncs_.add();
  hosted.partition->log().sync(hosted.synced);
}

void Shard::on_synced(Hosted& hosted, std::int64_t result) {
  --in_flight_;
  hosted.syncing = false;
  if (state_ == State::closing) {
    if (result < 0) return on_closed(hosted, system_failure(static_cast<int>(-result), "syncing what is closed"));
    // Some may wait that an earlier sync could not begin for.
    if (settings_.durability == Durability::disk) advance(hosted, hosted.partition->log().durable_end());
    return on_closed(hosted, {});
  }
  if (result < 0) {
    log_error("sync failed partition={} error=\"{}\"", hosted.name, std::strerror(static_cast<int>(-result)));
    if (is_loading()) {
      loaded_ = failure(Code::io_failed, "syncing what was found");
    } else if (!hosted.partition->failed()) {
      // What could not be begun is tried again, and those that wait for it wait on.
      io_.arm(sync_retry_timer_, io_.now() + kSyncRetryPause);
    }
  }
  if (is_loading() && !hosted.settling) --settling_count_;
  if (hosted.partition->failed()) return fail_unsafe(hosted);
  if (is_loading() || settings_.durability == Durability::disk) advance(hosted, hosted.partition->log().durable_end());
}

void Shard::advance(Hosted& hosted, Offset safe_end) {
  partition::Partition& partition = *hosted.partition;
  partition.on_safe(safe_end);
  const Offset log_start_offset = partition.log_start_offset();
  partition.waiters().take_acknowledged(safe_end, partition.high_watermark(), [&](const auto& due) {
    Session* const session = find_session(due.token.session);
    if (session == nullptr) return;
    session->owed_bytes -= kOwedBytes;
    CHECK(reply(*session, api::Appended{.request = due.token.request,
                                        .duplicate = due.duplicate,
                                        .base_offset = due.base_offset,
                                        .log_start_offset = log_start_offset,
                                        .timestamp = due.timestamp}));
  });
  partition.waiters().take_readable(partition.high_watermark(), partition.last_stable_offset(), [&](const auto& due) {
    if (Session* const session = find_session(due.token.session)) fire(*session, due.token.request);
  });
}

// After a failed sync nothing that comes later can be safe. What is still to be written is read from the clients'
// memory, which they use again once they are answered: so the last write answers all.
void Shard::fail_unsafe(Hosted& hosted) {
  if (!hosted.writing && !hosted.in_staged_list) fail_lost(hosted, Code::io_failed);
}

// What waited for bytes that will never be safe, or for a partition that goes, is told so.
void Shard::fail_lost(Hosted& hosted, Code code) {
  partition::Waiters& waiters = hosted.partition->waiters();
  const Offset kept = hosted.deleted || hosted.partition->failed() ? -1 : hosted.partition->log().written_end();
  waiters.take_beyond(kept, [&](const auto& lost) {
    Session* const session = find_session(lost.token.session);
    if (session == nullptr) return;
    session->owed_bytes -= kOwedBytes;
    CHECK(reply(*session, api::Appended{.request = lost.token.request, .code = static_cast<std::uint16_t>(code)}));
  });
  if (!hosted.deleted) return;
  waiters.take_all_watches([&](const auto& watch) {
    if (Session* const session = find_session(watch.token.session)) fire(*session, watch.token.request);
  });
}

}  // namespace tailrace::server
