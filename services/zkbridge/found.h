// Topics that a data directory has though the metadata does not know them: a directory of a Kafka's, taken over.
// Looking at the directory is the only I/O here; it happens once, before the controller starts, when the store is new.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/types.h"
#include "engine/io/files.h"
#include "services/node/config.h"

namespace tailrace::zkbridge {

struct FoundTopic {
  std::string name;
  Uuid id;                                           // zero: the directory does not say
  std::map<std::int32_t, LeaderEpoch> partitions{};  // number -> the latest leader epoch in it, -1: none
  std::optional<node::ConfigMap> settings{};         // nullopt: the directory does not say
};

struct FoundData {
  std::vector<FoundTopic> topics;
  std::map<std::string, node::ConfigMap, std::less<>> broker_settings;  // by id; "" for all brokers
};

// What meta.properties says.
struct FoundIdentity {
  std::string cluster_id;   // empty: not there
  BrokerId broker_id = -1;  // -1: not there
};

// `directory` is Kafka's log.dirs. Error: what could not be read. Folders that are not partitions are passed over, and
// so is Kafka's own metadata log. Two folders of one topic with different ids: an error that names them.
std::expected<FoundData, std::string> find_data(io::Files& files, const std::string& directory);
std::expected<FoundIdentity, std::string> find_identity(io::Files& files, const std::string& directory);

}  // namespace tailrace::zkbridge
