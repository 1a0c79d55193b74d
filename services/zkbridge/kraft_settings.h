// The settings in the metadata log of a Kafka 4 (folder __cluster_metadata-0): what topics and brokers were set to, so
// that a directory that is taken over keeps them. Reads the newest snapshot and the log behind it; only records about
// settings and the names of topics are looked at.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>

#include "engine/base/bytes.h"
#include "engine/base/types.h"
#include "engine/io/files.h"
#include "services/node/config.h"

namespace tailrace::zkbridge {

// The fold of metadata records, in order.
class KraftSettings {
 public:
  // A record's value. False: it does not read (records of kinds that say nothing about settings always do).
  bool apply(Bytes value);

  [[nodiscard]] const std::map<std::string, node::ConfigMap, std::less<>>& topics() const { return topics_; }
  // By id; "" for all brokers.
  [[nodiscard]] const std::map<std::string, node::ConfigMap, std::less<>>& brokers() const { return brokers_; }

 private:
  std::map<std::string, node::ConfigMap, std::less<>> topics_;
  std::map<std::string, node::ConfigMap, std::less<>> brokers_;
  std::map<Uuid, std::string> names_;
};

// nullopt: the directory has no such log. Error: it has one that does not read.
std::expected<std::optional<KraftSettings>, std::string> read_kraft_settings(io::Files& files,
                                                                             const std::string& directory);

}  // namespace tailrace::zkbridge
