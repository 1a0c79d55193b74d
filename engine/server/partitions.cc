// The partitions of a Shard: how they are opened, made, given to another topic, removed, and noted in the checkpoints.
#include <algorithm>
#include <chrono>

#include "engine/base/observe.h"
#include "engine/server/shard_parts.h"

namespace tailrace::server {
namespace {

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
    log_debug("partition opened name={} start={} end={}", hosted.name, hosted.partition->log_start_offset(),
              hosted.partition->log().end_offset());
  }
  // A recovery point above an end would hide what is written there next from the recovery after this one.
  if (lost_below_checkpoint) {
    if (Result<void> written = write_checkpoints(); !written) return written;
  }
  io_.arm(checkpoint_timer_, io_.now() + std::chrono::milliseconds(settings_.checkpoint_interval_ms));
  io_.arm(expiry_timer_, io_.now() + std::chrono::milliseconds(settings_.producer_expiration_check_interval_ms));
  io_.arm(removal_timer_, io_.now() + std::chrono::milliseconds(settings_.file_delete_delay_ms));
  return {};
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
  return found == hosted_.end() || found->second->deleted ? nullptr : found->second.get();
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
    answer.log_start_offset = partition.log_start_offset();
    answer.end_offset = partition.log().end_offset();
  } else if (led.error().code != Code::fenced_epoch && api::to_code(led) != request.last_code) {
    log_error("role not set partition={}-{} reason=\"{}\"", name, request.partition.partition, led.error().text());
  }
  answer.code = api::to_code(led);
  reply(session, answer);
}

Result<Shard::Hosted*> Shard::find_or_create(const api::SetRole& request, const std::string& name,
                                             const log::LogConfig& config) {
  if (Hosted* const known = find(request.partition)) return known;
  const TopicIdPartition key{request.partition.topic_id, request.partition.partition};
  const std::string path = directory_.partition_path(name, key.partition);
  if (hosted_.contains(key)) return failure(Code::retry, "making a partition while its old one is being deleted");

  // The name may be taken by an adopted directory without an id, which becomes this topic's, or by an older topic of
  // the same name.
  const auto taken = std::find_if(hosted_.begin(), hosted_.end(), [&](const auto& each) {
    return each.second->topic == name && each.second->key.partition == key.partition && !each.second->deleted;
  });
  if (taken != hosted_.end()) {
    std::unique_ptr<Hosted>& old = taken->second;
    if (!old->has_topic_id) {
      if (Result<void> noted = directory_.note_topic_id(path, key.topic_id); !noted)
        return std::unexpected(noted.error());
      auto node = hosted_.extract(taken);
      node.key() = key;
      node.mapped()->key = key;
      node.mapped()->has_topic_id = true;
      return hosted_.insert(std::move(node)).position->second.get();
    }
    if (old->writing || old->syncing || old->in_staged_list)
      return failure(Code::retry, "setting an old partition aside");
    log_warning("partition set aside name={} topic_id={} reason=\"a new topic has its name\"", old->name,
                old->key.topic_id.text());
    if (Result<void> closed = old->partition->close(); !closed) return std::unexpected(closed.error());
    if (Result<void> renamed = directory_.rename_as_stray(name, key.partition, random_uuid()); !renamed) {
      return std::unexpected(renamed.error());
    }
    forget_files(*old);
    std::erase(unsynced_, old.get());
    hosted_.erase(taken);
  }
  if (request.create == 0) return failure(Code::not_found, "looking for a partition");
  // What the checkpoints say of an older partition of this name must not be believed of the new one.
  if (directory_.is_checkpointed(name, key.partition)) {
    if (Result<void> written = write_checkpoints(); !written) return std::unexpected(written.error());
  }
  Result<std::string> made = directory_.make_partition(name, key.partition, key.topic_id);
  if (!made) return std::unexpected(made.error());
  Result<std::unique_ptr<partition::Partition>> created =
      partition::Partition::create(io_.files(), *made, config, io_.wall_clock_ms());
  if (!created) return std::unexpected(created.error());
  return &host(key, name, std::move(*created));
}

void Shard::on_delete_partition(Session& session, const api::DeletePartition& request) {
  api::Done answer{.request = request.request};
  const auto found = hosted_.find(TopicIdPartition{request.partition.topic_id, request.partition.partition});
  if (found != hosted_.end()) {
    Result<void> removed = remove(*found->second);
    if (!removed && removed.error().code != Code::retry && api::to_code(removed) != request.last_code) {
      log_error("partition not deleted name={} reason=\"{}\"", found->second->name, removed.error().text());
    }
    if (removed) hosted_.erase(found);
    answer.code = api::to_code(removed);
  }
  partitions_.set(hosted_.size());
  reply(session, answer);
}

// Until it has succeeded the client asks again: a partition that has lost its name but not yet durably stays, as
// deleted.
Result<void> Shard::remove(Hosted& hosted) {
  if (hosted.writing || hosted.syncing || hosted.in_staged_list)
    return failure(Code::retry, "deleting a partition that is busy");
  if (!hosted.deleted) {
    Result<std::string> renamed = directory_.rename_for_removal(hosted.topic, hosted.key.partition, random_uuid());
    if (!renamed) return std::unexpected(renamed.error());
    hosted.removed_path = std::move(*renamed);
    hosted.deleted = true;
    std::erase(unsynced_, &hosted);
    hosted.in_unsynced_list = false;
    fail_lost(hosted, Code::unknown_partition);
    forget_files(hosted);
  }
  return directory_.finish_removal(hosted.removed_path);
}

Result<void> Shard::write_checkpoints() {
  std::vector<PartitionCheckpoint> checkpoints;
  checkpoints.reserve(hosted_.size());
  for (const auto& [key, hosted] : hosted_) {
    if (hosted->deleted) continue;
    const partition::Partition& partition = *hosted->partition;
    checkpoints.push_back({.topic = hosted->topic,
                           .partition = key.partition,
                           .recovery_point = partition.log().recovery_point(),
                           .log_start_offset = partition.log_start_offset(),
                           .high_watermark = partition.high_watermark()});
  }
  return directory_.write_checkpoints(checkpoints);
}

}  // namespace tailrace::server
