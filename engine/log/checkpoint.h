// The checkpoints of a log directory: one offset per partition, in Kafka's text format (OffsetCheckpointFile): version
// 0, the number of entries, "topic partition offset" lines. Whoever owns the directory reads them at start and replaces
// them whole.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/base/types.h"
#include "engine/io/files.h"

namespace tailrace::log {

constexpr std::string_view kRecoveryPointFile = "recovery-point-offset-checkpoint";
constexpr std::string_view kLogStartOffsetFile = "log-start-offset-checkpoint";
constexpr std::string_view kReplicationOffsetFile = "replication-offset-checkpoint";  // high watermarks
constexpr std::string_view kCleanerOffsetFile = "cleaner-offset-checkpoint";

struct TopicPartition {
  std::string topic;
  std::int32_t partition = 0;
  friend auto operator<=>(const TopicPartition&, const TopicPartition&) = default;
};

using OffsetCheckpoint = std::map<TopicPartition, Offset>;

std::string encode_offset_checkpoint(const OffsetCheckpoint& offsets);
// Error: corrupt, for another version, a count that is wrong, or a line that is not an entry.
Result<OffsetCheckpoint> parse_offset_checkpoint(std::string_view text);

// A file that is not there has no entries. Error: corrupt, or the file is not readable.
Result<OffsetCheckpoint> read_offset_checkpoint(io::Files& files, const std::string& path);
// Durable when it returns.
Result<void> write_offset_checkpoint(io::Files& files, const std::string& path, const OffsetCheckpoint& offsets);

}  // namespace tailrace::log
