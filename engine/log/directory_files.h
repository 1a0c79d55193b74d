// The names and small files of a log directory beside the checkpoints: partition directories and their suffixes,
// meta.properties, partition.metadata, .kafka_cleanshutdown. Text in, values out and back; reading and writing the
// files is the owner's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/base/types.h"

namespace tailrace::log {

constexpr std::string_view kMetaPropertiesFile = "meta.properties";
constexpr std::string_view kPartitionMetadataFile = "partition.metadata";
constexpr std::string_view kCleanShutdownFile = ".kafka_cleanshutdown";
constexpr std::string_view kLockFile = ".lock";

// What stands behind the partition in the name of a directory.
enum class DirectoryState {
  current,  // "orders-0"
  deleted,  // "orders-0.<id>-delete": the topic was deleted, the files go soon
  stray,    // "orders-0.<id>-stray": no longer assigned to this broker
  future,   // "orders-0.<id>-future": being copied from another log directory
};

struct PartitionDirectory {
  std::string topic;
  std::int32_t partition = 0;
  DirectoryState state = DirectoryState::current;
  std::string unique_id;  // 32 hexadecimal digits where there is a suffix
  friend bool operator==(const PartitionDirectory&, const PartitionDirectory&) = default;
};

// Topic names have at most 249 characters of [a-zA-Z0-9._-] and are not "." or "..".
bool is_valid_topic_name(std::string_view topic);
// The name in the file system; with a suffix, a long topic name is cut so that the whole has at most 255 characters.
std::string partition_directory_name(const PartitionDirectory& directory);
// nullopt: not the directory of a partition.
std::optional<PartitionDirectory> parse_partition_directory_name(std::string_view name);

// meta.properties: which cluster and node a directory belongs to. Version 0 (ZooKeeper mode) names the node broker.id,
// version 1 (KRaft) node.id and gives the directory an id.
struct MetaProperties {
  std::int32_t version = 1;
  std::optional<std::string> cluster_id;
  std::optional<std::int32_t> node_id;
  std::optional<Uuid> directory_id;
  std::map<std::string, std::string> others;  // keys we do not know, kept as they are
  friend bool operator==(const MetaProperties&, const MetaProperties&) = default;
};
std::string encode_meta_properties(const MetaProperties& properties);
// Error: corrupt: another version, or a value that cannot be.
Result<MetaProperties> parse_meta_properties(std::string_view text);

// partition.metadata: the id of the topic that a partition directory belongs to.
std::string encode_partition_metadata(const Uuid& topic_id);
// Error: corrupt (also for the id of no topic).
Result<Uuid> parse_partition_metadata(std::string_view text);

// .kafka_cleanshutdown, which stands in the directory only between a clean stop and the next start, holds the broker
// epoch (KIP-966), -1 in ZooKeeper mode; before Kafka 3.7 it was empty. nullopt where there is none to be read: the
// stop was clean all the same.
std::string encode_clean_shutdown(std::int64_t broker_epoch);
std::optional<std::int64_t> parse_clean_shutdown(std::string_view text);

}  // namespace tailrace::log
