#include "services/zkbridge/found.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/core.h>

#include "services/node/properties.h"
#include "services/node/settings.h"
#include "services/zkbridge/kraft_settings.h"

namespace tailrace::zkbridge {
namespace {

constexpr std::string_view kKafkaMetadataTopic = "__cluster_metadata";

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

struct PartitionFolder {
  std::string topic;
  std::int32_t partition = 0;
};

// "payment-0"; folders that are going away (-delete, -stray) or coming (-future) have a '.' and letters behind.
std::optional<PartitionFolder> parse_folder(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::optional<std::int32_t> partition = number<std::int32_t>(name.substr(dash + 1));
  if (!partition || *partition < 0) return std::nullopt;
  return PartitionFolder{std::string(name.substr(0, dash)), *partition};
}

// partition.metadata: "version: 0" and "topic_id: ...". Zero where the file is not there.
std::expected<Uuid, std::string> read_topic_id(io::Files& files, const std::string& path) {
  Uuid id;
  if (!files.exists(path)) return id;
  const Result<std::string> text = io::read_file(files, path);
  if (!text) return std::unexpected(fmt::format("{}: {}", path, text.error().text()));
  const auto lines = node::parse_properties(*text);  // "key: value" is a property too
  if (lines) {
    for (const node::Property& line : *lines) {
      if (line.key == "topic_id" && Uuid::parse(node::trim(line.value), id)) return id;
    }
  }
  return std::unexpected(fmt::format("{} does not name a topic id", path));
}

// leader-epoch-checkpoint: a version, a count, and lines "epoch start_offset". A broken one counts as empty: the engine
// rebuilds it.
LeaderEpoch read_latest_epoch(io::Files& files, const std::string& path) {
  LeaderEpoch latest = kNoLeaderEpoch;
  const Result<std::string> text = io::read_file(files, path);
  if (!text) return latest;
  std::string_view rest = *text;
  for (int line = 0; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view row = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line < 2) continue;
    const std::optional<LeaderEpoch> epoch = number<LeaderEpoch>(row.substr(0, row.find(' ')));
    if (epoch) latest = std::max(latest, *epoch);
  }
  return latest;
}

}  // namespace

std::expected<FoundData, std::string> find_data(io::Files& files, const std::string& directory) {
  const Result<std::vector<io::DirectoryEntry>> entries = files.list(directory);
  if (!entries) return std::unexpected(fmt::format("{}: {}", directory, entries.error().text()));
  std::map<std::string, FoundTopic> topics;
  for (const io::DirectoryEntry& entry : *entries) {
    const std::optional<PartitionFolder> folder = entry.is_directory ? parse_folder(entry.name) : std::nullopt;
    if (!folder || folder->topic == kKafkaMetadataTopic) continue;
    const std::string path = directory + "/" + entry.name;
    const std::expected<Uuid, std::string> id = read_topic_id(files, path + "/partition.metadata");
    if (!id) return std::unexpected(id.error());
    FoundTopic& topic = topics[folder->topic];
    topic.name = folder->topic;
    if (!topic.id.is_zero() && !id->is_zero() && topic.id != *id) {
      return std::unexpected(fmt::format("{}: the folders of topic {} have different topic ids ({} and {})", directory,
                                         topic.name, topic.id.text(), id->text()));
    }
    if (!id->is_zero()) topic.id = *id;
    topic.partitions[folder->partition] = read_latest_epoch(files, path + "/leader-epoch-checkpoint");
  }
  const auto kraft = read_kraft_settings(files, directory);
  if (!kraft) return std::unexpected(kraft.error());
  FoundData found;
  for (auto& [name, topic] : topics) {
    if (*kraft) {
      const auto settings = (*kraft)->topics().find(name);
      topic.settings = settings == (*kraft)->topics().end() ? node::ConfigMap() : settings->second;
    }
    found.topics.push_back(std::move(topic));
  }
  if (*kraft) found.broker_settings = (*kraft)->brokers();
  return found;
}

std::expected<FoundIdentity, std::string> find_identity(io::Files& files, const std::string& directory) {
  FoundIdentity identity;
  const std::string path = directory + "/meta.properties";
  if (!files.exists(path)) return identity;
  const Result<std::string> text = io::read_file(files, path);
  if (!text) return std::unexpected(fmt::format("{}: {}", path, text.error().text()));
  const auto properties = node::parse_properties(*text);
  if (!properties) return std::unexpected(fmt::format("{}: {}", path, properties.error()));
  for (const node::Property& property : *properties) {
    if (property.key == "cluster.id") identity.cluster_id = node::trim(property.value);
    if (property.key != "broker.id" && property.key != "node.id") continue;
    const std::optional<BrokerId> id = number<BrokerId>(node::trim(property.value));
    if (!id || *id < 0) return std::unexpected(fmt::format("{}: {}={} is no id", path, property.key, property.value));
    identity.broker_id = *id;
  }
  if (identity.cluster_id.empty() && identity.broker_id < 0) {
    return std::unexpected(fmt::format("{} names neither a cluster nor a node", path));
  }
  return identity;
}

}  // namespace tailrace::zkbridge
