#include "services/node/describe_configs.h"

#include <algorithm>
#include <set>

#include "services/node/group_config.h"
#include "services/node/topic_config.h"

namespace tailrace::node {
namespace {

// Where the setting is defined: a listener's own settings are defined by the key behind the prefix.
const Setting* definition(std::string_view key) {
  if (const Setting* setting = find_broker_setting(key)) return setting;
  const std::vector<std::string> synonyms = broker_synonyms(key);
  return find_broker_setting(synonyms.back());
}

// What nobody defines may be a password.
bool is_sensitive(const Setting* setting) { return setting == nullptr || setting->type == SettingType::password; }

void add_from(const ConfigMap& settings, const std::vector<std::string>& names, ConfigOrigin source, bool sensitive,
              std::vector<ConfigSynonym>& to) {
  for (const std::string& name : names) {
    const auto at = settings.find(name);
    if (at == settings.end()) continue;
    to.push_back({name, sensitive ? std::nullopt : std::optional(at->second), source});
  }
}

// Everything that was said about a broker setting, what counts first first. What stands before the key's own first
// mention is about other keys (a listener's override, a finer unit) and left out, as in Kafka.
std::vector<ConfigSynonym> synonyms_of(const BrokerConfigs& broker, std::string_view key, bool sensitive) {
  const std::vector<std::string> names = broker_synonyms(key);
  std::vector<ConfigSynonym> all;
  add_from(broker.of_this_broker, names, ConfigOrigin::this_broker, sensitive, all);
  add_from(broker.of_all_brokers, names, ConfigOrigin::all_brokers, sensitive, all);
  add_from(broker.fixed.given, names, ConfigOrigin::fixed, sensitive, all);
  for (const std::string& name : names) {
    const Setting* setting = find_broker_setting(name);
    if (setting == nullptr || setting->default_value == nullptr) continue;
    all.push_back({name, sensitive ? std::nullopt : std::optional<std::string>(setting->default_value),
                   ConfigOrigin::default_value});
  }
  const auto own = std::ranges::find_if(all, [&](const ConfigSynonym& s) { return s.name == key; });
  all.erase(all.begin(), own);
  return all;
}

ConfigRow broker_row(const BrokerConfigs& broker, const ConfigMap& in_force, const std::string& key) {
  const Setting* setting = definition(key);
  ConfigRow row;
  row.name = key;
  row.sensitive = is_sensitive(setting);
  row.type = setting == nullptr ? SettingType::unknown : setting->type;
  const Setting* own = find_broker_setting(key);
  row.read_only = own == nullptr || own->update == Update::read_only;
  row.documentation = own == nullptr ? nullptr : own->doc;
  if (!row.sensitive) {
    if (const auto at = in_force.find(key); at != in_force.end()) {
      row.value = at->second;
    } else if (own != nullptr && own->default_value != nullptr) {
      row.value = own->default_value;
    }
  }
  row.synonyms = synonyms_of(broker, key, row.sensitive);
  row.source = row.synonyms.empty() ? ConfigOrigin::default_value : row.synonyms.front().source;
  return row;
}

bool is_listed(const Setting& setting) {
  if ((setting.known_to & (kInternal | kUnlisted)) != 0) return false;
  return (setting.known_to & (kKafka4 | kOurs)) != 0;
}

}  // namespace

std::vector<ConfigRow> describe_broker(const BrokerConfigs& broker, BrokerId broker_id) {
  const ConfigMap in_force = broker_overrides(broker);
  std::set<std::string> keys;
  for (const auto& [key, value] : in_force) keys.insert(key);
  for (const Setting& setting : broker_settings()) {
    if (is_listed(setting)) keys.insert(setting.name);
  }
  std::vector<ConfigRow> rows;
  rows.reserve(keys.size());
  for (const std::string& key : keys) {
    rows.push_back(broker_row(broker, in_force, key));
    if (key == "broker.id" || key == "node.id") rows.back().value = std::to_string(broker_id);
  }
  return rows;
}

std::vector<ConfigRow> describe_all_brokers(const ConfigMap& of_all_brokers) {
  std::vector<ConfigRow> rows;
  for (const auto& [key, value] : of_all_brokers) {
    const Setting* setting = definition(key);
    ConfigRow row;
    row.name = key;
    row.sensitive = is_sensitive(setting);
    row.type = setting == nullptr ? SettingType::unknown : setting->type;
    const Setting* own = find_broker_setting(key);
    row.read_only = own == nullptr || own->update == Update::read_only;
    row.source = ConfigOrigin::all_brokers;
    if (!row.sensitive) row.value = value;
    row.synonyms.push_back({key, row.value, ConfigOrigin::all_brokers});
    row.documentation = setting == nullptr ? nullptr : setting->doc;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ConfigRow> describe_client_metrics(const ConfigMap& settings) {
  std::vector<ConfigRow> rows;
  for (const Setting& setting : client_metrics_settings()) {
    ConfigRow row;
    row.name = setting.name;
    row.value = setting.default_value;
    row.type = setting.type;
    row.documentation = setting.doc;
    if (const auto at = settings.find(row.name); at != settings.end()) {
      row.value = at->second;
      row.source = ConfigOrigin::client_metrics;
      row.synonyms.push_back({row.name, row.value, row.source});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ConfigRow> describe_group(const BrokerConfigs& broker, const ConfigMap& own) {
  std::vector<ConfigRow> rows;
  for (const Setting& setting : group_settings()) {
    const auto at = own.find(std::string_view(setting.name));
    if (!is_listed(setting) && at == own.end()) continue;
    ConfigRow row;
    row.name = setting.name;
    row.value = group_value(broker, own, setting.name);
    row.type = setting.type;
    row.documentation = setting.doc;
    if (at != own.end()) row.synonyms.push_back({row.name, at->second, ConfigOrigin::group});
    if (const std::string synonym = group_synonym(setting.name); !synonym.empty()) {
      for (ConfigSynonym& each : synonyms_of(broker, synonym, false)) row.synonyms.push_back(std::move(each));
    } else {
      row.synonyms.push_back({row.name, setting.default_value, ConfigOrigin::default_value});
    }
    row.source = row.synonyms.front().source;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ConfigRow> describe_topic(const BrokerConfigs& broker, const ConfigMap& overrides) {
  const ConfigMap values = topic_values(broker, overrides);
  std::vector<ConfigRow> rows;
  for (const Setting& setting : topic_settings()) {
    const auto own = overrides.find(std::string_view(setting.name));
    if (!is_listed(setting) && own == overrides.end()) continue;
    ConfigRow row;
    row.name = setting.name;
    row.type = setting.type;
    row.documentation = setting.doc;
    if (const auto at = values.find(std::string_view(setting.name)); at != values.end()) row.value = at->second;
    if (own != overrides.end()) row.synonyms.push_back({row.name, own->second, ConfigOrigin::topic});
    const std::span<const ServerSynonym> server = server_synonyms(setting.name);
    if (!server.empty()) {
      for (ConfigSynonym& synonym : synonyms_of(broker, server.front().key, false)) {
        row.synonyms.push_back(std::move(synonym));
      }
    }
    row.source = row.synonyms.empty() ? ConfigOrigin::default_value : row.synonyms.front().source;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tailrace::node
