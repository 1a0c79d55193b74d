#include "services/node/topic_config.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/core.h>

#include "engine/base/check.h"
#include "services/node/settings.h"

namespace tailrace::node {
namespace {

// Values that stand in the store come from us or from a Kafka; one that does not pass today's checks counts as not set.
std::optional<std::string> sound_override(const ConfigMap& overrides, std::string_view key) {
  const auto at = overrides.find(key);
  const Setting* setting = find_topic_setting(key);
  if (at == overrides.end() || setting == nullptr) return std::nullopt;
  auto value = normal_value(*setting, at->second);
  if (!value) return std::nullopt;
  return std::move(*value);
}

std::int64_t times(std::int64_t value, std::int64_t factor) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(value, factor, &product)) return std::numeric_limits<std::int64_t>::max();
  return product;
}

// The broker's say on a topic setting, where one of its keys was set.
std::optional<std::string> server_value(const ConfigMap& broker, std::string_view key) {
  for (const ServerSynonym& synonym : server_synonyms(key)) {
    const auto at = broker.find(std::string_view(synonym.key));
    if (at == broker.end()) continue;
    if (key == "retention.ms") {  // any negative time is "no bound"
      const std::int64_t ms = times(to_integer(at->second), synonym.factor);
      return std::to_string(ms < 0 ? -1 : ms);
    }
    if (synonym.factor == 1) return at->second;
    return std::to_string(times(to_integer(at->second), synonym.factor));
  }
  return std::nullopt;
}

// Reads one topic's settings; the broker's are laid together once.
class Resolver {
 public:
  Resolver(const BrokerConfigs& broker, const ConfigMap& overrides)
      : broker_(broker_overrides(broker)), overrides_(overrides) {}

  // Set by the topic, or else by the broker.
  [[nodiscard]] std::optional<std::string> explicit_value(std::string_view key) const {
    if (std::optional<std::string> own = sound_override(overrides_, key)) return own;
    return server_value(broker_, key);
  }
  [[nodiscard]] std::string text(std::string_view key) const {
    if (std::optional<std::string> value = explicit_value(key)) return *value;
    const Setting* setting = find_topic_setting(key);
    CHECK(setting != nullptr);
    return setting->default_value == nullptr ? std::string() : std::string(setting->default_value);
  }
  [[nodiscard]] std::int64_t integer(std::string_view key) const { return to_integer(text(key)); }
  [[nodiscard]] std::int32_t integer32(std::string_view key) const { return static_cast<std::int32_t>(integer(key)); }
  [[nodiscard]] bool boolean(std::string_view key) const { return to_boolean(text(key)); }

  // Kafka 3 had one bound for both directions; it counts where the newer key is not set on the same level.
  [[nodiscard]] std::int64_t timestamp_bound(std::string_view key) const {
    constexpr std::string_view kDifference = "message.timestamp.difference.max.ms";
    if (auto own = sound_override(overrides_, key)) return to_integer(*own);
    if (auto own = sound_override(overrides_, kDifference)) return to_integer(*own);
    if (auto server = server_value(broker_, key)) return to_integer(*server);
    if (auto server = server_value(broker_, kDifference)) return to_integer(*server);
    return integer(key);
  }

 private:
  ConfigMap broker_;
  const ConfigMap& overrides_;
};

}  // namespace

TopicConfig topic_config(const BrokerConfigs& broker, const ConfigMap& overrides) {
  const Resolver in_force(broker, overrides);
  TopicConfig config;
  const std::string policy = in_force.text("cleanup.policy");
  config.cleanup_delete = config.cleanup_compact = false;
  for (std::string_view entry : split_list(policy)) {
    if (entry == "delete") config.cleanup_delete = true;
    if (entry == "compact") config.cleanup_compact = true;
  }
  config.compression_type = in_force.text("compression.type");
  config.gzip_level = in_force.integer32("compression.gzip.level");
  config.lz4_level = in_force.integer32("compression.lz4.level");
  config.zstd_level = in_force.integer32("compression.zstd.level");
  config.max_message_bytes = in_force.integer32("max.message.bytes");
  config.max_decompressed_message_bytes = in_force.integer32("max.decompressed.message.bytes");
  config.min_insync_replicas = in_force.integer32("min.insync.replicas");
  config.unclean_leader_election = in_force.boolean("unclean.leader.election.enable");
  config.log_append_time = in_force.text("message.timestamp.type") == "LogAppendTime";
  config.timestamp_before_max_ms = in_force.timestamp_bound("message.timestamp.before.max.ms");
  config.timestamp_after_max_ms = in_force.timestamp_bound("message.timestamp.after.max.ms");
  config.retention_ms = in_force.integer("retention.ms");
  config.retention_bytes = in_force.integer("retention.bytes");
  config.segment_bytes = in_force.explicit_value("internal.segment.bytes")
                             ? in_force.integer32("internal.segment.bytes")
                             : in_force.integer32("segment.bytes");
  config.segment_ms = in_force.integer("segment.ms");
  config.segment_jitter_ms = in_force.integer("segment.jitter.ms");
  config.segment_index_bytes = in_force.integer32("segment.index.bytes");
  config.index_interval_bytes = in_force.integer32("index.interval.bytes");
  config.file_delete_delay_ms = in_force.integer("file.delete.delay.ms");
  config.delete_retention_ms = in_force.integer("delete.retention.ms");
  config.min_compaction_lag_ms = in_force.integer("min.compaction.lag.ms");
  config.max_compaction_lag_ms = in_force.integer("max.compaction.lag.ms");
  config.min_cleanable_dirty_ratio = to_real(in_force.text("min.cleanable.dirty.ratio"));
  return config;
}

std::string topic_value(const BrokerConfigs& broker, const ConfigMap& overrides, std::string_view key) {
  return Resolver(broker, overrides).text(key);
}

ConfigMap topic_values(const BrokerConfigs& broker, const ConfigMap& overrides) {
  const Resolver in_force(broker, overrides);
  ConfigMap values;
  for (const Setting& setting : topic_settings()) {
    if (auto value = in_force.explicit_value(setting.name)) {
      values[setting.name] = std::move(*value);
    } else if (setting.default_value != nullptr) {
      values[setting.name] = setting.default_value;
    }
  }
  return values;
}

std::string topic_name_fault(std::string_view name) {
  constexpr std::size_t kNameMax = 249;
  const auto is_sound = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  if (name.empty()) return "Topic name is invalid: the empty string is not allowed";
  if (name == "." || name == "..") return fmt::format("Topic name is invalid: '{}' is not allowed", name);
  if (name.size() > kNameMax) {
    return fmt::format("Topic name is invalid: the length of '{}' is longer than the max allowed length {}", name,
                       kNameMax);
  }
  if (!std::ranges::all_of(name, is_sound)) {
    return fmt::format(
        "Topic name is invalid: '{}' contains one or more characters other than ASCII alphanumerics, "
        "'.', '_' and '-'",
        name);
  }
  return {};
}

std::expected<std::string, std::string> check_topic_setting(std::string_view key, std::string_view value) {
  const Setting* setting = find_topic_setting(key);
  if (setting == nullptr) return std::unexpected(fmt::format("Unknown topic config name: {}", key));
  return normal_value(*setting, value);
}

std::expected<void, std::string> check_topic_settings(const BrokerConfigs& broker, const ConfigMap& overrides) {
  const TopicConfig config = topic_config(broker, overrides);
  if (config.min_compaction_lag_ms > config.max_compaction_lag_ms) {
    return std::unexpected(
        fmt::format("conflict topic config setting min.compaction.lag.ms ({}) > max.compaction.lag.ms ({})",
                    config.min_compaction_lag_ms, config.max_compaction_lag_ms));
  }
  const auto remote = overrides.find("remote.storage.enable");
  if (remote != overrides.end() && to_boolean(remote->second)) {
    return std::unexpected(
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.");
  }
  return {};
}

}  // namespace tailrace::node
