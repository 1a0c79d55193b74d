// What a topic's settings are in force: its own overrides, else the broker's dynamic settings, else server.properties
// (under Kafka's log.* names), else the default. PURE.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "services/node/broker_configs.h"

namespace tailrace::node {

// Kafka's topic settings that the data path obeys, resolved. Times in milliseconds; -1 is no bound where Kafka says so.
struct TopicConfig {
  bool cleanup_delete = true;
  bool cleanup_compact = false;
  std::string compression_type = "producer";
  std::int32_t gzip_level = -1;
  std::int32_t lz4_level = 9;
  std::int32_t zstd_level = 3;
  std::int32_t max_message_bytes = 1048588;
  std::int32_t max_decompressed_message_bytes = 2147483639;
  std::int32_t min_insync_replicas = 1;
  bool unclean_leader_election = false;
  bool log_append_time = false;
  std::int64_t timestamp_before_max_ms = INT64_MAX;
  std::int64_t timestamp_after_max_ms = 3600000;
  std::int64_t retention_ms = 604800000;
  std::int64_t retention_bytes = -1;
  std::int32_t segment_bytes = 1 << 30;
  std::int64_t segment_ms = 604800000;
  std::int64_t segment_jitter_ms = 0;
  std::int32_t segment_index_bytes = 10 << 20;
  std::int32_t index_interval_bytes = 4096;
  std::int64_t file_delete_delay_ms = 60000;
  std::int64_t delete_retention_ms = 86400000;
  std::int64_t min_compaction_lag_ms = 0;
  std::int64_t max_compaction_lag_ms = INT64_MAX;
  double min_cleanable_dirty_ratio = 0.5;
  friend bool operator==(const TopicConfig&, const TopicConfig&) = default;
};

// `overrides` are the topic's own settings as stored; ones that are unknown or broken (a store made by others) count as
// not there.
TopicConfig topic_config(const BrokerConfigs& broker, const ConfigMap& overrides);

// One setting of a topic as text, in normal form; `key` must be in the table. "" where there is neither value nor
// default.
std::string topic_value(const BrokerConfigs& broker, const ConfigMap& overrides, std::string_view key);

// All of them, by key; keys without a value are left out.
ConfigMap topic_values(const BrokerConfigs& broker, const ConfigMap& overrides);

// KIP-4's rules for names: at most 249 of [a-zA-Z0-9._-], not "." or "..". What is wrong in Kafka's words, "" if
// nothing.
std::string topic_name_fault(std::string_view name);

// For a client that sets a topic's settings. Answers the value in normal form; errors (INVALID_CONFIG) name what is
// wrong.
std::expected<std::string, std::string> check_topic_setting(std::string_view key, std::string_view value);
// What must hold between the settings of one topic; each has passed check_topic_setting.
std::expected<void, std::string> check_topic_settings(const BrokerConfigs& broker, const ConfigMap& overrides);

}  // namespace tailrace::node
