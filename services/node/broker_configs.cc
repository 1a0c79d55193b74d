#include "services/node/broker_configs.h"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "engine/base/check.h"
#include "services/node/listeners.h"
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

// What Kafka changes while it runs and this node reads once, when it starts.
constexpr std::string_view kReadAtStart[] = {"listener.security.protocol.map", "listeners",
                                             "producer.id.expiration.ms"};
// Kafka's DynamicSecurityConfigs.
constexpr std::string_view kOfListeners[] = {
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
};
// Settings of a listener that may be set for all brokers.
constexpr std::string_view kAlsoOfAllBrokers[] = {"max.connection.creation.rate", "max.connections",
                                                  "num.network.threads"};

bool is_among(std::span<const std::string_view> keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

// Keys that have one fault in common: "FAULT: [a, b]".
class KeyList {
 public:
  explicit KeyList(std::string fault) : fault_(std::move(fault)) {}
  void add(std::string_view key) {
    if (!keys_.empty()) keys_ += ", ";
    keys_ += key;
  }
  [[nodiscard]] bool empty() const { return keys_.empty(); }
  [[nodiscard]] std::string text() const { return fmt::format("{}: [{}]", fault_, keys_); }

 private:
  std::string fault_;
  std::string keys_;
};

// HOST:COUNT, separated by commas.
std::expected<void, std::string> check_connection_overrides(std::string_view value) {
  for (const std::string_view entry : split_list(value)) {
    const std::size_t colon = entry.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
      return std::unexpected(fmt::format(
          "Error parsing configuration property 'max.connections.per.ip.overrides': {} is not HOST:COUNT", entry));
    }
    const std::string_view host = entry.substr(0, colon);
    if (!std::ranges::all_of(host, [](char c) { return c > ' ' && c != '/' && c != ','; })) {
      return std::unexpected(fmt::format("max.connections.per.ip.overrides contains invalid addresses : {}", host));
    }
    const std::string_view count = trim(entry.substr(colon + 1));
    if (count.empty() || count.size() > 9 || count.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::unexpected(fmt::format("For input string: \"{}\"", count));
    }
  }
  // A name is an address to Kafka, too; here it would not be read, and with it none of the others.
  if (auto limits = parse_ip_limits(value); !limits) return std::unexpected(std::move(limits.error()));
  return {};
}

// GroupCoordinatorConfig: what a broker says for all groups is within the bounds of what a group may say.
std::expected<void, std::string> check_assignment_interval(const BrokerConfigs& now, const std::string& key,
                                                           std::string_view value) {
  for (const std::string_view kind : {"consumer", "share", "streams"}) {
    if (key != fmt::format("group.{}.assignment.interval.ms", kind)) continue;
    const std::string min = fmt::format("group.{}.min.assignment.interval.ms", kind);
    const std::string max = fmt::format("group.{}.max.assignment.interval.ms", kind);
    if (to_integer(value) < to_integer(broker_value(now, min))) {
      return std::unexpected(fmt::format("{} must be greater than or equal to {}", key, min));
    }
    if (to_integer(value) > to_integer(broker_value(now, max))) {
      return std::unexpected(fmt::format("{} must be less than or equal to {}", key, max));
    }
  }
  return {};
}

// What KafkaConfig demands beyond the single value.
std::expected<void, std::string> check_together(const BrokerConfigs& now, const ConfigList& wanted) {
  const auto in_force = [&](std::string_view key) {
    const auto at = std::ranges::find_if(wanted, [&](const auto& entry) { return entry.first == key; });
    return at == wanted.end() ? broker_value(now, key) : at->second;
  };
  for (const auto& [key, value] : wanted) {
    if (key == "log.retention.ms" && value == "0") {
      return std::unexpected(
          "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1");
    }
    if (key == "log.roll.ms" && to_integer(value) < 1) {
      return std::unexpected("requirement failed: log.roll.ms must be greater than or equal to 1");
    }
    if (key == "log.roll.jitter.ms" && to_integer(value) < 0) {
      return std::unexpected("requirement failed: log.roll.jitter.ms must be greater than or equal to 0");
    }
    if (key == "max.connections.per.ip" && value == "0" && in_force("max.connections.per.ip.overrides").empty()) {
      return std::unexpected(
          "requirement failed: max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides "
          "property is set.");
    }
    if (key == "max.connections.per.ip.overrides") {
      if (auto sound = check_connection_overrides(value); !sound) return sound;
    }
    if (auto sound = check_assignment_interval(now, key, value); !sound) return sound;
  }
  return {};
}

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

bool changes_at_run_time(const Setting& setting) {
  return setting.update != Update::read_only && !is_among(kReadAtStart, setting.name);
}

std::expected<ConfigList, std::string> check_broker_settings(const BrokerConfigs& now, const ConfigList& wanted,
                                                             bool one_broker) {
  KeyList fixed("Cannot update these configs dynamically");
  KeyList per_listener("These security configs can be dynamically updated only per-listener using the listener prefix");
  KeyList per_broker("Cannot update these configs at default cluster level, broker id must be specified");
  for (const auto& [key, value] : wanted) {
    const Setting* const setting = find_broker_setting(key);
    if (setting != nullptr && !changes_at_run_time(*setting)) fixed.add(key);
    if (is_among(kOfListeners, key)) per_listener.add(key);
    const std::string_view rest = listener_prefix_rest(key);
    const bool is_of_listener = !rest.empty() && !is_among(kAlsoOfAllBrokers, rest);
    if (is_of_listener || (setting != nullptr && setting->update == Update::per_broker)) per_broker.add(key);
  }
  if (!fixed.empty()) return std::unexpected(fixed.text());
  if (!per_listener.empty()) return std::unexpected(per_listener.text());
  ConfigList normal;
  for (const auto& [key, value] : wanted) {
    const std::string_view rest = listener_prefix_rest(key);
    const Setting* const setting = find_broker_setting(rest.empty() ? std::string_view(key) : rest);
    if (setting == nullptr) {
      normal.emplace_back(key, value);
      continue;
    }
    auto sound = normal_value(*setting, value);
    if (!sound) return std::unexpected(std::move(sound.error()));
    normal.emplace_back(key, *std::move(sound));
  }
  if (!one_broker && !per_broker.empty()) return std::unexpected(per_broker.text());
  if (auto sound = check_together(now, normal); !sound) return std::unexpected(std::move(sound.error()));
  return normal;
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
