#include "engine/server/data_directory.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/base/observe.h"
#include "engine/log/checkpoint.h"

namespace tailrace::server {
namespace {

std::string hex(const Uuid& id) {
  std::string text;
  for (const std::uint8_t byte : id.bytes) text += fmt::format("{:02x}", byte);
  return text;
}

Offset offset_of(const log::OffsetCheckpoint& checkpoint, const std::string& topic, std::int32_t partition) {
  const auto found = checkpoint.find(log::TopicPartition{topic, partition});
  return found == checkpoint.end() ? 0 : found->second;
}

// A checkpoint that cannot be read costs time (everything is scanned), never records: it is no reason to refuse the
// directory.
log::OffsetCheckpoint read_or_empty(io::Files& files, const std::string& path) {
  Result<log::OffsetCheckpoint> checkpoint = log::read_offset_checkpoint(files, path);
  if (checkpoint) return std::move(*checkpoint);
  log_warning("checkpoint ignored file={} reason=\"{}\"", path, checkpoint.error().text());
  return {};
}

// Two directories that name one topic, under two names: one was copied by hand, and which has the topic's records is
// not ours to guess.
std::optional<std::pair<std::string, std::string>> find_copy(const std::vector<FoundPartition>& found) {
  std::unordered_map<Uuid, const FoundPartition*, UuidHash> topics;
  for (const FoundPartition& each : found) {
    if (each.topic_id.is_zero()) continue;
    const FoundPartition& first = *topics.try_emplace(each.topic_id, &each).first->second;
    if (first.topic != each.topic) return std::pair(first.path, each.path);
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<FoundPartition>> DataDirectory::load() {
  // Kafka's cleaner makes this file with its first start, and notes in it which partitions it has cleaned. Where it
  // has, a segment may end early and lack nothing.
  const Result<log::OffsetCheckpoint> cleaned =
      log::read_offset_checkpoint(files_, path_ + "/" + std::string(log::kCleanerOffsetFile));
  const log::OffsetCheckpoint recovery_points =
      read_or_empty(files_, path_ + "/" + std::string(log::kRecoveryPointFile));
  const log::OffsetCheckpoint starts = read_or_empty(files_, path_ + "/" + std::string(log::kLogStartOffsetFile));
  for (const log::OffsetCheckpoint* checkpoint : {&recovery_points, &starts}) {
    for (const auto& [key, offset] : *checkpoint) checkpointed_.insert(key);
  }
  const std::string mark = path_ + "/" + std::string(log::kCleanShutdownFile);
  const bool clean = files_.exists(mark);

  Result<std::vector<io::DirectoryEntry>> entries = files_.list(path_);
  if (!entries) return std::unexpected(entries.error());
  std::vector<FoundPartition> found;
  for (const io::DirectoryEntry& entry : *entries) {
    if (!entry.is_directory) continue;
    const std::optional<log::PartitionDirectory> parsed = log::parse_partition_directory_name(entry.name);
    if (!parsed) {
      log_warning("directory ignored name={} reason=\"not a partition's name\"", entry.name);
      continue;
    }
    const std::string path = path_ + "/" + entry.name;
    if (parsed->state == log::DirectoryState::deleted) to_remove_.push_back(path);
    if (parsed->state != log::DirectoryState::current) continue;
    FoundPartition partition{
        .topic = parsed->topic, .partition = parsed->partition, .path = path, .topic_id = {}, .hints = {}};
    const std::string metadata_path = path + "/" + std::string(log::kPartitionMetadataFile);
    if (files_.exists(metadata_path)) {
      const Result<std::string> content = io::read_file(files_, metadata_path);
      if (!content) return std::unexpected(content.error());
      // Written after the directory was made: a crash in between leaves none, or an empty one.
      if (const Result<Uuid> id = log::parse_partition_metadata(*content)) partition.topic_id = *id;
    }
    partition.hints.clean_shutdown = clean;
    partition.hints.recovery_point = offset_of(recovery_points, parsed->topic, parsed->partition);
    partition.hints.gaps_are_losses = cleaned && !cleaned->contains({parsed->topic, parsed->partition});
    partition.hints.log_start_offset = offset_of(starts, parsed->topic, parsed->partition);
    found.push_back(std::move(partition));
  }
  if (const auto copy = find_copy(found)) {
    problem_ = fmt::format("looking at {} and {}, which name the same topic in their {}", copy->first, copy->second,
                           log::kPartitionMetadataFile);
    return failure(Code::mismatch, problem_.c_str());
  }
  if (clean) {
    if (Result<void> removed = files_.remove(mark); !removed) return std::unexpected(removed.error());
  }
  // Whoever made a directory may have been killed before its name was durable, and nobody will make it again.
  if (Result<void> synced = files_.sync_directory(path_); !synced) return std::unexpected(synced.error());
  return found;
}

Result<void> DataDirectory::identify(std::string_view cluster_id, BrokerId node_id, const Uuid& new_directory_id) {
  const std::string path = path_ + "/" + std::string(log::kMetaPropertiesFile);
  if (!files_.exists(path)) {
    log::MetaProperties properties;
    properties.cluster_id = std::string(cluster_id);
    properties.node_id = node_id;
    properties.directory_id = new_directory_id;
    return io::replace_file(files_, path, log::encode_meta_properties(properties));
  }
  const Result<std::string> content = io::read_file(files_, path);
  if (!content) return std::unexpected(content.error());
  const Result<log::MetaProperties> properties = log::parse_meta_properties(*content);
  if (!properties) return std::unexpected(properties.error().at("reading meta.properties"));
  if (properties->cluster_id && *properties->cluster_id != cluster_id) {
    return failure(Code::mismatch, "comparing the cluster id with meta.properties");
  }
  if (properties->node_id && *properties->node_id != node_id) {
    return failure(Code::mismatch, "comparing the node id with meta.properties");
  }
  return {};
}

std::string DataDirectory::partition_path(std::string_view topic, std::int32_t partition) const {
  return path_ + "/" +
         log::partition_directory_name({.topic = std::string(topic), .partition = partition, .unique_id = {}});
}

Result<std::string> DataDirectory::make_partition(std::string_view topic, std::int32_t partition) {
  const std::string path = partition_path(topic, partition);
  const Result<void> made = files_.make_directory(path);
  if (!made && made.error().code != Code::exists) return std::unexpected(made.error());
  return path;
}

Result<io::File> DataDirectory::write_topic_id(const std::string& partition_path, const Uuid& topic_id) {
  Result<io::File> file =
      files_.open(partition_path + "/" + std::string(log::kPartitionMetadataFile), io::OpenMode::open_or_create);
  if (!file) return file;
  Result<void> done = files_.truncate(*file, 0);
  if (done) done = files_.write(*file, as_bytes(log::encode_partition_metadata(topic_id)), 0);
  if (done) return file;
  files_.close(*file);
  return std::unexpected(done.error());
}

Result<io::File> DataDirectory::open_topic_id(const std::string& partition_path) {
  return files_.open(partition_path + "/" + std::string(log::kPartitionMetadataFile), io::OpenMode::read_write);
}

Result<std::string> DataDirectory::rename(std::string_view topic, std::int32_t partition, log::DirectoryState state,
                                          const Uuid& unique) {
  const std::string to =
      path_ + "/" +
      log::partition_directory_name(
          {.topic = std::string(topic), .partition = partition, .state = state, .unique_id = hex(unique)});
  Result<void> renamed = files_.rename(partition_path(topic, partition), to);
  if (!renamed) return std::unexpected(renamed.error());
  return to;
}

Result<std::string> DataDirectory::rename_for_removal(std::string_view topic, std::int32_t partition,
                                                      const Uuid& unique) {
  return rename(topic, partition, log::DirectoryState::deleted, unique);
}

Result<void> DataDirectory::rename_as_stray(std::string_view topic, std::int32_t partition, const Uuid& unique) {
  const Result<std::string> renamed = rename(topic, partition, log::DirectoryState::stray, unique);
  if (!renamed) return std::unexpected(renamed.error());
  strays_are_unsynced_ = true;
  return {};
}

Result<void> DataDirectory::sync_strays() {
  if (!strays_are_unsynced_) return {};
  Result<void> synced = files_.sync_directory(path_);
  strays_are_unsynced_ = !synced;
  return synced;
}

bool DataDirectory::remove_some() {
  if (to_remove_.empty()) return false;
  const std::string& directory = to_remove_.back();
  const Result<std::vector<io::DirectoryEntry>> entries = files_.list(directory);
  Result<void> removed = entries ? Result<void>{} : std::unexpected(entries.error());
  if (entries && !entries->empty()) removed = files_.remove(directory + "/" + entries->front().name);
  if (entries && entries->empty()) removed = files_.remove_directory(directory);
  if (!removed)
    log_warning("deleted partition not removed directory={} reason=\"{}\"", directory, removed.error().text());
  if (!removed || entries->empty()) to_remove_.pop_back();
  return !to_remove_.empty();
}

Result<void> DataDirectory::write_checkpoints(const std::vector<PartitionCheckpoint>& partitions) {
  log::OffsetCheckpoint recovery_points;
  log::OffsetCheckpoint starts;
  log::OffsetCheckpoint high_watermarks;
  for (const PartitionCheckpoint& each : partitions) {
    const log::TopicPartition key{each.topic, each.partition};
    recovery_points[key] = each.recovery_point;
    high_watermarks[key] = each.high_watermark;
    if (each.log_start_offset > 0) starts[key] = each.log_start_offset;
  }
  // Until all three are written the old entries may be there.
  for (const auto& [key, offset] : recovery_points) checkpointed_.insert(key);
  Result<void> written =
      log::write_offset_checkpoint(files_, path_ + "/" + std::string(log::kRecoveryPointFile), recovery_points);
  if (written)
    written = log::write_offset_checkpoint(files_, path_ + "/" + std::string(log::kLogStartOffsetFile), starts);
  // What is still being written may speak of partitions that have gone since.
  if (written && log_starts_.is_running()) log_starts_.supersede();
  if (written)
    written =
        log::write_offset_checkpoint(files_, path_ + "/" + std::string(log::kReplicationOffsetFile), high_watermarks);
  if (written)
    std::erase_if(checkpointed_, [&](const log::TopicPartition& key) { return !recovery_points.contains(key); });
  return written;
}

Result<void> DataDirectory::start_log_starts(const std::vector<PartitionCheckpoint>& partitions, io::Completion& done) {
  log::OffsetCheckpoint starts;
  for (const PartitionCheckpoint& each : partitions) {
    if (each.log_start_offset > 0) starts[{each.topic, each.partition}] = each.log_start_offset;
  }
  for (const auto& [key, offset] : starts) checkpointed_.insert(key);
  return log_starts_.start(log::encode_offset_checkpoint(starts), done);
}

bool DataDirectory::is_checkpointed(std::string_view topic, std::int32_t partition) const {
  return checkpointed_.contains({std::string(topic), partition});
}

Result<void> DataDirectory::mark_clean() {
  return io::replace_file(files_, path_ + "/" + std::string(log::kCleanShutdownFile), log::encode_clean_shutdown(-1));
}

}  // namespace tailrace::server
