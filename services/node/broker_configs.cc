#include "services/node/broker_configs.h"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "engine/base/check.h"
#include "services/node/settings.h"

namespace tailrace::node {
namespace {

constexpr std::int64_t kMinuteMs = 60 * 1000;
constexpr std::int64_t kHourMs = 60 * kMinuteMs;

// Kafka's families: the first that is set counts.
constexpr const char* kFamilies[][3] = {
    {"log.retention.ms", "log.retention.minutes", "log.retention.hours"},
    {"log.roll.ms", "log.roll.hours", nullptr},
    {"log.roll.jitter.ms", "log.roll.jitter.hours", nullptr},
    {"log.flush.interval.ms", "log.flush.scheduler.interval.ms", nullptr},
};

struct TopicSynonyms {
  const char* topic_key;
  ServerSynonym keys[3];
};

// Sorted by topic key.
constexpr TopicSynonyms kTopicSynonyms[] = {
    {"cleanup.policy", {{"log.cleanup.policy"}}},
    {"compression.gzip.level", {{"compression.gzip.level"}}},
    {"compression.lz4.level", {{"compression.lz4.level"}}},
    {"compression.type", {{"compression.type"}}},
    {"compression.zstd.level", {{"compression.zstd.level"}}},
    {"delete.retention.ms", {{"log.cleaner.delete.retention.ms"}}},
    {"file.delete.delay.ms", {{"log.segment.delete.delay.ms"}}},
    {"flush.messages", {{"log.flush.interval.messages"}}},
    {"flush.ms", {{"log.flush.interval.ms"}, {"log.flush.scheduler.interval.ms"}}},
    {"index.interval.bytes", {{"log.index.interval.bytes"}}},
    {"local.retention.bytes", {{"log.local.retention.bytes"}}},
    {"local.retention.ms", {{"log.local.retention.ms"}}},
    {"max.compaction.lag.ms", {{"log.cleaner.max.compaction.lag.ms"}}},
    {"max.decompressed.message.bytes", {{"max.decompressed.message.bytes"}}},
    {"max.message.bytes", {{"message.max.bytes"}}},
    {"message.downconversion.enable", {{"log.message.downconversion.enable"}}},
    {"message.format.version", {{"log.message.format.version"}}},
    {"message.timestamp.after.max.ms", {{"log.message.timestamp.after.max.ms"}}},
    {"message.timestamp.before.max.ms", {{"log.message.timestamp.before.max.ms"}}},
    {"message.timestamp.difference.max.ms", {{"log.message.timestamp.difference.max.ms"}}},
    {"message.timestamp.type", {{"log.message.timestamp.type"}}},
    {"min.cleanable.dirty.ratio", {{"log.cleaner.min.cleanable.ratio"}}},
    {"min.compaction.lag.ms", {{"log.cleaner.min.compaction.lag.ms"}}},
    {"min.insync.replicas", {{"min.insync.replicas"}}},
    {"preallocate", {{"log.preallocate"}}},
    {"remote.copy.lag.bytes", {{"log.remote.copy.lag.bytes"}}},
    {"remote.copy.lag.ms", {{"log.remote.copy.lag.ms"}}},
    {"retention.bytes", {{"log.retention.bytes"}}},
    {"retention.ms", {{"log.retention.ms"}, {"log.retention.minutes", kMinuteMs}, {"log.retention.hours", kHourMs}}},
    {"segment.bytes", {{"log.segment.bytes"}}},
    {"segment.index.bytes", {{"log.index.size.max.bytes"}}},
    {"segment.jitter.ms", {{"log.roll.jitter.ms"}, {"log.roll.jitter.hours", kHourMs}}},
    {"segment.ms", {{"log.roll.ms"}, {"log.roll.hours", kHourMs}}},
    {"unclean.leader.election.enable", {{"unclean.leader.election.enable"}}},
};

void lay_over(ConfigMap& settings, const ConfigMap& dynamic) {
  for (const auto& [key, value] : dynamic) {
    for (const std::string& synonym : broker_synonyms(key)) {
      // A listener's own setting leaves the one of all listeners in place.
      if (listener_prefix_rest(key).empty() || synonym == key) settings.erase(synonym);
    }
    settings[key] = value;
  }
}

}  // namespace

BrokerConfigs only_fixed(const Config& config) {
  static const ConfigMap kNothing;
  return BrokerConfigs{config, kNothing, kNothing};
}

std::vector<std::string> broker_synonyms(std::string_view key) {
  for (const auto& family : kFamilies) {
    std::vector<std::string> names;
    for (const char* name : family) {
      if (name != nullptr) names.emplace_back(name);
    }
    // log.flush.scheduler.interval.ms is a setting of its own too: only the other way round is it a synonym.
    if (key == "log.flush.scheduler.interval.ms") break;
    if (std::ranges::find(names, key) != names.end()) return names;
  }
  if (std::string_view rest = listener_prefix_rest(key); !rest.empty()) {
    // Settings of one SASL mechanism have its name between: listener.name.X.plain.sasl.jaas.config.
    if (const std::size_t sasl = rest.find(".sasl."); sasl != std::string_view::npos) rest.remove_prefix(sasl + 1);
    return {std::string(key), std::string(rest)};
  }
  return {std::string(key)};
}

ConfigMap broker_overrides(const BrokerConfigs& configs) {
  ConfigMap settings = configs.fixed.given;
  lay_over(settings, configs.of_all_brokers);
  lay_over(settings, configs.of_this_broker);
  return settings;
}

std::string broker_value(const BrokerConfigs& configs, std::string_view key) {
  if (const auto at = configs.of_this_broker.find(key); at != configs.of_this_broker.end()) return at->second;
  if (const auto at = configs.of_all_brokers.find(key); at != configs.of_all_brokers.end()) return at->second;
  return configs.fixed.text(key);
}

std::optional<std::string> listener_value(const BrokerConfigs& configs, std::string_view listener,
                                          std::string_view key) {
  const std::string name = listener_prefix(listener) + std::string(key);
  const Setting* const setting = find_broker_setting(key);
  CHECK(setting != nullptr);
  for (const ConfigMap* const map : {&configs.of_this_broker, &configs.of_all_brokers, &configs.fixed.given}) {
    const auto at = map->find(name);
    if (at == map->end()) continue;
    if (auto value = normal_value(*setting, at->second)) return *value;
  }
  return std::nullopt;
}

std::expected<std::string, std::string> check_broker_setting(std::string_view key, std::string_view value,
                                                             bool one_broker) {
  std::string_view base = key;
  if (const std::string_view rest = listener_prefix_rest(key); !rest.empty()) base = rest;
  const Setting* setting = find_broker_setting(base);
  if (setting == nullptr) {
    return std::unexpected(
        fmt::format("Unknown broker config name: {}; the nearest is {}", key, nearest_broker_setting(key)));
  }
  if (setting->update == Update::read_only) {
    return std::unexpected(fmt::format("Cannot update these configs dynamically: {}", key));
  }
  if (!one_broker && (setting->update == Update::per_broker || base != key)) {
    return std::unexpected(fmt::format("Cannot update these configs for all brokers: {} is of one broker", key));
  }
  return normal_value(*setting, value);
}

std::span<const ServerSynonym> server_synonyms(std::string_view topic_key) {
  const auto at = std::lower_bound(std::begin(kTopicSynonyms), std::end(kTopicSynonyms), topic_key,
                                   [](const TopicSynonyms& t, std::string_view k) { return t.topic_key < k; });
  if (at == std::end(kTopicSynonyms) || at->topic_key != topic_key) return {};
  std::size_t count = 0;
  while (count < std::size(at->keys) && at->keys[count].key != nullptr) ++count;
  return std::span(at->keys).first(count);
}

}  // namespace tailrace::node
