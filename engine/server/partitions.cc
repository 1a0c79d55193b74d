// The partitions of a Shard: how they are opened, made, given to another topic, removed, and noted in the checkpoints.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>

#include "engine/base/check.h"
#include "engine/base/observe.h"
#include "engine/server/shard_parts.h"

namespace tailrace::server {
namespace {

constexpr std::int64_t kFileDeleteDelayMaxMs = 365 * 24 * 3600 * 1000ll;  // a time that can be added to

bool is_sound(const api::Partition& partition) { return partition.partition >= 0 && !partition.topic_id.is_zero(); }

}  // namespace

Result<void> Shard::load() {
  Result<std::vector<FoundPartition>> found = directory_.load();
  if (!found) return std::unexpected(found.error());
  bool lost_below_checkpoint = false;
  for (FoundPartition& each : *found) {
    Result<std::unique_ptr<partition::Partition>> opened = partition::Partition::open(
        io_.files(), each.path, log::LogConfig{}, each.hints, settings_.producer_expiration_ms, io_.wall_clock_ms());
    if (!opened) {
      log_error("partition not opened directory={} reason=\"{}\"", each.path, opened.error().text());
      return std::unexpected(opened.error());
    }
    lost_below_checkpoint |= (*opened)->log().end_offset() < each.hints.recovery_point;
    // An adopted directory may not tell its topic's id; until the controller names one, it waits under an id that
    // nobody knows.
    const bool has_topic_id = !each.topic_id.is_zero();
    const TopicIdPartition key{has_topic_id ? each.topic_id : random_uuid(), each.partition};
    Hosted& hosted = host(key, each.topic, std::move(*opened));
    hosted.has_topic_id = has_topic_id;
    hosted.is_id_unsynced = has_topic_id && !each.hints.clean_shutdown;
    log_debug("partition opened name={} start={} end={}", hosted.name, hosted.partition->log_start_offset(),
              hosted.partition->log().end_offset());
  }
  // A recovery point above an end would hide what is written there next from the recovery after this one.
  if (lost_below_checkpoint) {
    if (Result<void> written = write_checkpoints(); !written) return written;
  }
  // Only now that nothing can fail any more: a sync in flight has to be waited for.
  for (auto& [key, hosted] : hosted_) {
    if (hosted->is_id_unsynced || hosted->partition->log().needs_sync()) found_unsynced_.push_back(hosted.get());
  }
  io_.arm(checkpoint_timer_, io_.now() + std::chrono::milliseconds(settings_.checkpoint_interval_ms));
  io_.arm(expiry_timer_, io_.now() + std::chrono::milliseconds(settings_.producer_expiration_check_interval_ms));
  io_.arm(removal_timer_, io_.now() + std::chrono::milliseconds(settings_.file_delete_delay_ms));
  plan_first_check();
  return {};
}

// After one has failed no more begin: the next start finds them as they are.
void Shard::start_found_syncs() {
  while (loaded_ && !found_unsynced_.empty() && settling_count_ < kSettledTogetherMax) {
    Hosted& hosted = *found_unsynced_.back();
    found_unsynced_.pop_back();
    if (hosted.is_id_unsynced) loaded_ = start_topic_id_sync(hosted);
    if (loaded_ && hosted.partition->log().needs_sync()) start_sync(hosted);
    if (hosted.settling || hosted.syncing) ++settling_count_;
  }
}

// Whoever wrote the topic's id may have been killed before it was durable.
Result<void> Shard::start_topic_id_sync(Hosted& hosted) {
  const Result<io::File> metadata = directory_.open_topic_id(hosted.partition->log().directory());
  if (!metadata) return std::unexpected(metadata.error());
  hosted.settling = std::make_unique<Settling>();
  hosted.settling->metadata = *metadata;
  hosted.settling->metadata_synced.bind<&Hosted::on_metadata_synced>(&hosted);
  hosted.settling->syncs_left = 1;
  ++in_flight_;
  io_.files().sync(*metadata, hosted.settling->metadata_synced);
  return {};
}

// A turn of its own, without requests. True: something was done.
bool Shard::end_loading() {
  start_found_syncs();
  if (in_flight_ > 0) return false;
  state_ = loaded_ ? State::running : State::failed;
  if (stops_when_loaded_) stop();
  return true;
}

Shard::Hosted& Shard::host(const TopicIdPartition& key, std::string topic,
                           std::unique_ptr<partition::Partition> partition) {
  auto hosted = std::make_unique<Hosted>();
  hosted->shard = this;
  hosted->key = key;
  hosted->name = topic + "-" + std::to_string(key.partition);
  hosted->topic = std::move(topic);
  hosted->partition = std::move(partition);
  hosted->written.bind<&Hosted::on_written>(hosted.get());
  hosted->synced.bind<&Hosted::on_synced>(hosted.get());
  hosted->partition->log().on_file_gone = [this](std::uint64_t file_id) { tell_file_gone(file_id); };
  Hosted& reference = *hosted;
  hosted_[key] = std::move(hosted);
  partitions_.set(hosted_.size());
  return reference;
}

Shard::Hosted* Shard::find(const api::Partition& partition) {
  const auto found = hosted_.find(TopicIdPartition{partition.topic_id, partition.partition});
  return found == hosted_.end() || found->second->deleted || found->second->settling ? nullptr : found->second.get();
}

void Shard::on_set_role(Session& session, const api::SetRole& request) {
  api::RoleSet answer{.request = request.request};
  const std::string name(request.topic_name, std::min<std::size_t>(request.topic_name_size, sizeof request.topic_name));
  log::LogConfig config;
  config.segment_bytes = request.segment_bytes;
  config.index_bytes_max = request.index_bytes_max;
  config.index_interval_bytes = request.index_interval_bytes;
  config.segment_ms = request.segment_ms;
  config.segment_jitter_ms = request.segment_jitter_ms;

  Result<Hosted*> hosted = failure(Code::invalid_argument, "setting a role");
  if (is_sound(request.partition) && log::is_valid_topic_name(name)) hosted = find_or_create(request, name, config);
  Result<void> led =
      hosted ? (*hosted)->partition->become_leader(request.leader_epoch) : std::unexpected(hosted.error());
  if (led) {
    partition::Partition& partition = *(*hosted)->partition;
    partition.log().set_config(config);
    (*hosted)->retention = {.deletes = request.deletes_segments != 0,
                            .retention_ms = request.retention_ms,
                            .retention_bytes = request.retention_bytes};
    (*hosted)->file_delete_delay_ms = std::clamp<std::int64_t>(request.file_delete_delay_ms, 0, kFileDeleteDelayMaxMs);
    answer.log_start_offset = partition.log_start_offset();
    answer.end_offset = partition.log().end_offset();
    if ((*hosted)->settling) return wait_settled(session, **hosted, {session.id, request.request, request.last_code});
  } else if (led.error().code != Code::fenced_epoch && api::to_code(led) != request.last_code) {
    log_error("role not set partition={}-{} reason=\"{}\"", name, request.partition.partition, led.error().text());
  }
  answer.code = api::to_code(led);
  reply(session, answer);
}

Result<Shard::Hosted*> Shard::find_or_create(const api::SetRole& request, const std::string& name,
                                             const log::LogConfig& config) {
  const TopicIdPartition key{request.partition.topic_id, request.partition.partition};
  if (const auto known = hosted_.find(key); known != hosted_.end()) {
    if (!known->second->deleted) return known->second.get();
    return failure(Code::retry, "making a partition while its old one is being deleted");
  }

  // The name may be taken by an adopted directory without an id, which becomes this topic's, or by an older topic of
  // the same name.
  const auto taken = std::find_if(hosted_.begin(), hosted_.end(), [&](const auto& each) {
    return each.second->topic == name && each.second->key.partition == key.partition && !each.second->deleted;
  });
  if (taken != hosted_.end()) {
    std::unique_ptr<Hosted>& old = taken->second;
    if (!old->has_topic_id) {
      auto node = hosted_.extract(taken);
      node.key() = key;
      node.mapped()->key = key;
      node.mapped()->has_topic_id = true;
      Hosted& adopted = *hosted_.insert(std::move(node)).position->second;
      if (Result<void> settled = settle(adopted, false); !settled) {
        undo_making(adopted, false);
        return std::unexpected(settled.error());
      }
      return &adopted;
    }
    if (old->is_busy()) return failure(Code::retry, "setting an old partition aside");
    log_warning("partition set aside name={} topic_id={} reason=\"a new topic has its name\"", old->name,
                old->key.topic_id.text());
    if (Result<void> closed = old->partition->close(); !closed) return std::unexpected(closed.error());
    if (Result<void> renamed = directory_.rename_as_stray(name, key.partition, random_uuid()); !renamed) {
      return std::unexpected(renamed.error());
    }
    old->deleted = true;
    std::erase(unsynced_, old.get());
    forget_log_start(*old, Code::unknown_partition);
    fail_lost(*old, Code::unknown_partition);
    forget_files(*old);
    hosted_.erase(taken);
    partitions_.set(hosted_.size());
  }
  if (Result<void> synced = directory_.sync_strays(); !synced) return std::unexpected(synced.error());
  if (request.create == 0) return failure(Code::not_found, "looking for a partition");
  // What the checkpoints say of an older partition of this name must not be believed of the new one.
  if (directory_.is_checkpointed(name, key.partition)) {
    if (Result<void> written = write_checkpoints(); !written) return std::unexpected(written.error());
  }
  ++made_in_turn_;
  Result<std::string> made = directory_.make_partition(name, key.partition);
  if (!made) return std::unexpected(made.error());
  Result<std::unique_ptr<partition::Partition>> created =
      partition::Partition::create(io_.files(), *made, config, io_.wall_clock_ms());
  if (!created) return std::unexpected(created.error());
  Hosted& hosted = host(key, name, std::move(*created));
  if (Result<void> settled = settle(hosted, true); !settled) {
    undo_making(hosted, true);
    return std::unexpected(settled.error());
  }
  return &hosted;
}

// Writes the topic's id. What is new in the partition's directory, and its name, is synced at the end of the turn,
// together with that of all others.
Result<void> Shard::settle(Hosted& hosted, bool is_new) {
  const std::string path = directory_.partition_path(hosted.topic, hosted.key.partition);
  hosted.settling = std::make_unique<Settling>();
  Settling& settling = *hosted.settling;
  settling.is_new = is_new;
  const Result<io::File> metadata = directory_.write_topic_id(path, hosted.key.topic_id);
  if (!metadata) return std::unexpected(metadata.error());
  settling.metadata = *metadata;
  settling.metadata_synced.bind<&Hosted::on_metadata_synced>(&hosted);
  settling.directory_synced.bind<&Hosted::on_file_settled>(&hosted);
  settling.syncs_left = 2;
  to_settle_.push_back(&hosted);
  return {};
}

// Not while more are asked for: what is made while the file system commits its journal waits for the commit.
void Shard::start_settling() {
  if (made_in_turn_ >= kMadePerTurnMax && to_settle_.size() < kSettledTogetherMax) return;
  const std::size_t count = std::min(to_settle_.size(), kSettledTogetherMax - settling_count_);
  for (Hosted* const hosted : std::span(to_settle_).first(count)) {
    Settling& settling = *hosted->settling;
    in_flight_ += 2;
    io_.files().sync(settling.metadata, settling.metadata_synced);
    io_.files().sync_directory(hosted->partition->log().directory(), settling.directory_synced);
    if (settling.is_new) settle_name(*hosted);
  }
  settling_count_ += count;
  to_settle_.erase(to_settle_.begin(), to_settle_.begin() + static_cast<std::ptrdiff_t>(count));
}

void Shard::settle_name(Hosted& hosted) {
  ++hosted.settling->syncs_left;
  unsynced_names_.push_back(&hosted);
}

void Shard::wait_settled(Session& session, Hosted& hosted, const Asker& asker) {
  session.owed_bytes += kOwedSettledBytes;
  hosted.settling->askers.push_back(asker);
}

// One at a time, as for the logs: names that change meanwhile share the next one.
void Shard::start_directory_sync() {
  if (unsynced_names_.empty() || !syncing_names_.empty()) return;
  syncing_names_.swap(unsynced_names_);
  ++in_flight_;
  directory_.sync(directory_synced_);
}

void Shard::on_directory_synced(std::int64_t result) {
  --in_flight_;
  std::vector<Hosted*> synced;
  synced.swap(syncing_names_);
  for (Hosted* const hosted : synced) on_settled(*hosted, result);
}

void Shard::on_settled(Hosted& hosted, std::int64_t result) {
  if (result < 0 && hosted.settling->error == 0) hosted.settling->error = result;
  if (--hosted.settling->syncs_left > 0) return;
  const std::unique_ptr<Settling> settling = std::move(hosted.settling);
  if (is_loading()) {
    io_.files().close(settling->metadata);
    if (settling->error != 0) loaded_ = failure(Code::io_failed, "syncing what was found");
    if (!hosted.syncing) --settling_count_;
    return;
  }
  if (settling->metadata) {  // else it is a removal
    io_.files().close(settling->metadata);
    --settling_count_;
  }
  api::RoleSet role_set;
  role_set.log_start_offset = hosted.partition->log_start_offset();
  role_set.end_offset = hosted.partition->log().end_offset();
  if (settling->error != 0) {
    role_set.code = static_cast<std::uint16_t>(settling->error == -ENOSPC ? Code::disk_full : Code::io_failed);
    if (std::ranges::any_of(settling->askers, [&](const auto& each) { return each.last_code != role_set.code; })) {
      log_error("partition not {} name={} error=\"{}\"", hosted.deleted ? "deleted" : "made", hosted.name,
                std::strerror(static_cast<int>(-settling->error)));
    }
  }
  for (const Asker& asker : settling->askers) {
    Session* const session = find_session(asker.session);
    if (session == nullptr) continue;
    session->owed_bytes -= kOwedSettledBytes;
    role_set.request = asker.request;
    CHECK(hosted.deleted ? reply(*session, api::Done{asker.request, role_set.code}) : reply(*session, role_set));
  }
  if (settling->error == 0 && hosted.deleted) {
    directory_.remove_later(hosted.removed_path);
    hosted_.erase(TopicIdPartition{hosted.key});
    partitions_.set(hosted_.size());
  } else if (settling->error != 0 && !hosted.deleted) {
    undo_making(hosted, settling->is_new);
  }
}

// Of a partition that could not be made durable nothing stays, so that the next attempt begins anew; an adopted one
// waits for its id again.
void Shard::undo_making(Hosted& hosted, bool is_new) {
  hosted.settling.reset();
  auto node = hosted_.extract(TopicIdPartition{hosted.key});
  if (is_new) {
    const Result<std::string> renamed =
        directory_.rename_for_removal(hosted.topic, hosted.key.partition, random_uuid());
    if (renamed) directory_.remove_later(*renamed);
    is_left_half_made_ |= !renamed;
    if (!renamed) log_warning("partition left half made name={} reason=\"{}\"", hosted.name, renamed.error().text());
    partitions_.set(hosted_.size());
    return;
  }
  node.key().topic_id = hosted.key.topic_id = random_uuid();
  hosted.has_topic_id = false;
  hosted_.insert(std::move(node));
}

void Shard::on_delete_partition(Session& session, const api::DeletePartition& request) {
  api::Done answer{.request = request.request};
  const auto found = hosted_.find(TopicIdPartition{request.partition.topic_id, request.partition.partition});
  if (found != hosted_.end()) {
    Result<void> removed = remove(*found->second);
    if (!removed && removed.error().code != Code::retry && api::to_code(removed) != request.last_code) {
      log_error("partition not deleted name={} reason=\"{}\"", found->second->name, removed.error().text());
    }
    if (removed) {
      return wait_settled(session, *found->second, {session.id, request.request, request.last_code});
    }
    answer.code = api::to_code(removed);
  }
  reply(session, answer);
}

// Until it has succeeded the client asks again: a partition that has lost its name but not yet durably stays, as
// deleted.
Result<void> Shard::remove(Hosted& hosted) {
  if (hosted.is_busy()) return failure(Code::retry, "deleting a partition that is busy");
  if (!hosted.deleted) {
    Result<std::string> renamed = directory_.rename_for_removal(hosted.topic, hosted.key.partition, random_uuid());
    if (!renamed) return std::unexpected(renamed.error());
    hosted.removed_path = std::move(*renamed);
    hosted.deleted = true;
    std::erase(unsynced_, &hosted);
    hosted.in_unsynced_list = false;
    forget_log_start(hosted, Code::unknown_partition);
    fail_lost(hosted, Code::unknown_partition);
    forget_files(hosted);
  }
  hosted.settling = std::make_unique<Settling>();
  settle_name(hosted);
  return {};
}

std::vector<PartitionCheckpoint> Shard::checkpoints() const {
  std::vector<PartitionCheckpoint> checkpoints;
  checkpoints.reserve(hosted_.size());
  for (const auto& [key, hosted] : hosted_) {
    if (hosted->deleted) continue;
    const partition::Partition& partition = *hosted->partition;
    checkpoints.push_back({.topic = hosted->topic,
                           .partition = key.partition,
                           .recovery_point = partition.log().recovery_point(),
                           .log_start_offset = std::max(partition.log_start_offset(), hosted->wanted_log_start),
                           .high_watermark = partition.high_watermark()});
  }
  return checkpoints;
}

Result<void> Shard::write_checkpoints() { return directory_.write_checkpoints(checkpoints()); }

}  // namespace tailrace::server
