// DataDirectory: what belongs to the directory as a whole, in Kafka's files: the lock, meta.properties, the checkpoints
// of all partitions, the clean-shutdown mark, and the directories that wait for their removal. No sub-directories of
// our own: Kafka refuses to start on a data directory with a name that is not a partition's.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/io/files.h"
#include "engine/log/checkpoint.h"
#include "engine/log/directory_files.h"
#include "engine/log/log.h"
#include "engine/server/checkpoint_write.h"

namespace tailrace::server {

struct FoundPartition {
  std::string topic;
  std::int32_t partition = 0;
  std::string path;
  Uuid topic_id;  // zero: the directory does not say
  log::OpenHints hints;
};

struct PartitionCheckpoint {
  std::string topic;
  std::int32_t partition = 0;
  Offset recovery_point = 0;
  Offset log_start_offset = 0;
  Offset high_watermark = 0;
};

class DataDirectory {
 public:
  DataDirectory(io::Files& files, std::string path)
      : files_(files), path_(std::move(path)), log_starts_(files, path_, log::kLogStartOffsetFile) {}

  // Reads everything; takes the clean-shutdown mark away, since from here on it would be a lie. Errors: not_found,
  // corrupt, io_failed; mismatch, when two directories name one topic: nothing was changed, and the error's text, which
  // lives as long as this, names both.
  Result<std::vector<FoundPartition>> load();

  // Compares with meta.properties, or writes it when there is none. Error: mismatch.
  Result<void> identify(std::string_view cluster_id, BrokerId node_id, const Uuid& new_directory_id);

  [[nodiscard]] std::string partition_path(std::string_view topic, std::int32_t partition) const;
  // Makes the directory; one that an earlier attempt has left is taken.
  Result<std::string> make_partition(std::string_view topic, std::int32_t partition);
  // Writes partition.metadata. The file is to be synced and closed, and the partition's directory to be synced; until
  // then a crash may leave one that cannot be read, as good as none.
  Result<io::File> write_topic_id(const std::string& partition_path, const Uuid& topic_id);
  Result<io::File> open_topic_id(const std::string& partition_path);
  // Renames to `-delete` and returns the new path. Once that is durable, remove_later has the files removed.
  Result<std::string> rename_for_removal(std::string_view topic, std::int32_t partition, const Uuid& unique);
  void remove_later(const std::string& renamed_path) { to_remove_.push_back(renamed_path); }
  // Makes the names of all partitions durable that were made or renamed before.
  void sync(io::Completion& done) { files_.sync_directory(path_, done); }
  // Renames to `-stray`, to be kept for a person to look at. Nothing may get the name before sync_strays() has
  // succeeded, which may be tried again.
  Result<void> rename_as_stray(std::string_view topic, std::int32_t partition, const Uuid& unique);
  Result<void> sync_strays();
  // Removes one file or directory of what waits; false: nothing waits. Small steps, so that a turn stays short.
  bool remove_some();

  // All three, durable when it returns. A log start that is being written by start_log_starts may be in them already.
  Result<void> write_checkpoints(const std::vector<PartitionCheckpoint>& partitions);
  // The log starts alone, in the background; see CheckpointWrite::start. What write_checkpoints writes meanwhile must
  // be as new.
  Result<void> start_log_starts(const std::vector<PartitionCheckpoint>& partitions, io::Completion& done);
  [[nodiscard]] bool is_writing_log_starts() const { return log_starts_.is_running(); }
  // True: the checkpoints on disk may speak of a partition of this name.
  [[nodiscard]] bool is_checkpointed(std::string_view topic, std::int32_t partition) const;
  Result<void> mark_clean();

 private:
  Result<std::string> rename(std::string_view topic, std::int32_t partition, log::DirectoryState state,
                             const Uuid& unique);

  io::Files& files_;
  std::string path_;
  CheckpointWrite log_starts_;
  std::vector<std::string> to_remove_;
  bool strays_are_unsynced_ = false;
  std::set<log::TopicPartition> checkpointed_;
  std::string problem_;  // what the error of load() speaks of
};

}  // namespace tailrace::server
