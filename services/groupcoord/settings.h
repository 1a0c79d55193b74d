// What the configuration says about groups. PURE.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::node {
struct Config;
}

namespace tailrace::groupcoord {

// Names and defaults as of Kafka 4.4 (docs/configuration.md).
struct Settings {
  // Classic groups.
  std::int32_t session_timeout_min_ms = 6'000;
  std::int32_t session_timeout_max_ms = 1'800'000;
  std::size_t group_size_max = 2'147'483'647;
  Duration initial_rebalance_delay = std::chrono::seconds(3);
  // A group whose record would be larger (key and value, in bytes) does not become stable. What the log takes by
  // default (max.message.bytes, 1,048,588), less than the batch around it.
  std::size_t record_size_max = 1'048'488;

  // Offsets.
  std::int32_t metadata_size_max = 4'096;  // of OffsetCommit's metadata, in UTF-16 code units as Kafka counts
  std::int64_t offsets_retention_ms = 7 * 24 * 3'600'000LL;
  Duration offsets_retention_check = std::chrono::minutes(10);

  // Consumer groups (KIP-848).
  std::int32_t consumer_session_timeout_ms = 45'000;
  std::int32_t consumer_session_timeout_min_ms = 45'000;
  std::int32_t consumer_session_timeout_max_ms = 60'000;
  std::int32_t consumer_heartbeat_interval_ms = 5'000;
  std::int32_t consumer_heartbeat_interval_min_ms = 5'000;
  std::int32_t consumer_heartbeat_interval_max_ms = 15'000;
  std::size_t consumer_group_size_max = 2'147'483'647;
  std::vector<std::string> consumer_assignors{"uniform", "range"};  // the first is the default
  std::int32_t consumer_assignment_interval_ms = 1'000;             // KIP-1263
  std::int32_t consumer_assignment_interval_min_ms = 0;
  std::int32_t consumer_assignment_interval_max_ms = 15'000;
  Duration consumer_regex_refresh = std::chrono::minutes(10);
  bool may_upgrade = true;               // group.consumer.migration.policy: a classic group may become a consumer group
  bool may_downgrade = true;             // and the other way round
  bool serves_consumer_protocol = true;  // group.coordinator.rebalance.protocols
};

// `config` is sound (make_config has looked).
Settings settings_from(const node::Config& config);

}  // namespace tailrace::groupcoord
