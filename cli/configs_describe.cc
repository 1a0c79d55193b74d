#include "cli/configs_describe.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/absent.h"
#include "cli/output.h"
#include "cli/quota_text.h"
#include "cli/text.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kCommand = "configs describe";

ordered_json to_json(const Setting& setting) {
  ordered_json synonyms = ordered_json::array();
  for (const Setting::Synonym& one : setting.synonyms) {
    synonyms.push_back({{"name", one.name}, {"value", or_null(one.value)}, {"source", source_name(one.source)}});
  }
  ordered_json out = {{"name", setting.name},
                      {"value", or_null(setting.value)},
                      {"source", source_name(setting.source)},
                      {"type", setting_type_name(setting.type)},
                      {"read_only", setting.is_read_only},
                      {"sensitive", setting.is_sensitive},
                      {"synonyms", std::move(synonyms)}};
  if (!setting.documentation.empty()) out["documentation"] = setting.documentation;
  return out;
}

ordered_json to_json(const ResourceSettings& from) {
  ordered_json settings = ordered_json::array();
  for (const Setting& setting : from.settings) settings.push_back(to_json(setting));
  return {
      {"resource", resource_text(from.resource)},
      {"name", from.resource.name},
      {"error", from.error_code == 0 ? ordered_json() : ordered_json(describe_error(from.error_code, from.message))},
      {"configs", std::move(settings)}};
}

void print_block(const ResourceSettings& one, bool all) {
  if (one.settings.empty()) {
    print("Settings of {}: {}.\n", resource_text(one.resource), all ? "none" : "none of its own");
    return;
  }
  print("Settings of {}:\n", resource_text(one.resource));
  std::vector<std::vector<std::string>> rows = {{"", "setting", "value", "from", ""}};
  for (const Setting& setting : one.settings) {
    rows.push_back({"", setting.name, setting.shown_value(), std::string(source_word(setting.source)),
                    setting.is_read_only ? "read-only" : ""});
  }
  write_out(table(rows));
}

// All of a type: kafka-configs shows each broker, then what counts for all of them.
Outcome<std::vector<Resource>> all_of(Client& client, EntityType type) {
  std::vector<Resource> resources;
  switch (type) {
    case EntityType::topics: {
      auto cluster = client.describe(nullptr, false);
      if (!cluster) return std::unexpected(cluster.error());
      for (const Topic& topic : cluster->topics) resources.push_back({ResourceType::topic, topic.name});
      return resources;
    }
    case EntityType::brokers:
    case EntityType::broker_loggers: {
      const std::vector<std::string> none;
      auto cluster = client.describe(&none, false);
      if (!cluster) return std::unexpected(cluster.error());
      const Resource form = to_resource({.type = type, .name = {}});
      for (const auto& [id, address] : cluster->brokers) resources.push_back({form.type, std::to_string(id)});
      if (type == EntityType::brokers) resources.push_back({form.type, ""});
      return resources;
    }
    default: {
      const Resource form = to_resource({.type = type, .name = {}});
      auto names = list_resources(client, form.type);
      if (!names) return std::unexpected(names.error());
      for (std::string& name : *names) resources.push_back({form.type, std::move(name)});
      return resources;
    }
  }
}

int describe_quotas_of(const ConfigsDescribeOptions& options, const std::vector<Entity>& entities) {
  std::vector<QuotaFilter> filters;
  for (const Entity& entity : entities) filters.push_back(to_quota_filter(entity));
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto entries = describe_quotas(*client, filters, true);
  if (!entries) return fail(kCommand, entries.error());
  print_quotas(*entries, options.json);
  return kExitDone;
}

}  // namespace

int print_settings(std::string_view command, const std::vector<ResourceSettings>& settings, bool all, bool json) {
  int status = kExitDone;
  ordered_json list = ordered_json::array();
  for (const ResourceSettings& one : settings) {
    if (one.error_code != 0) {
      status = fail(command,
                    fmt::format("{}: {}", resource_text(one.resource), describe_error(one.error_code, one.message)));
    } else if (!json) {
      print_block(one, all);
    }
    if (json) list.push_back(to_json(one));
  }
  if (json) print_json(list);
  return status;
}

int describe_configs(const ConfigsDescribeOptions& options) {
  auto entities = parse_entities(options.entities);
  if (!entities) return misuse(kCommand, entities.error());
  if (has_quotas(entities->front().type)) {
    if (options.all || !options.names.empty()) return misuse(kCommand, "--all and --config are not for quotas");
    return describe_quotas_of(options, *entities);
  }
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  std::vector<Resource> resources;
  for (const Entity& entity : *entities) {
    if (entity.name.kind != EntityName::Kind::all) {
      resources.push_back(to_resource(entity));
      continue;
    }
    auto all = all_of(*client, entity.type);
    if (!all) return fail(kCommand, all.error());
    resources.insert(resources.end(), all->begin(), all->end());
  }
  auto settings = describe_settings(*client, resources, options.json && options.all);
  if (!settings) return fail(kCommand, settings.error());
  const bool all = options.all || !options.names.empty();
  for (ResourceSettings& one : *settings) {
    std::erase_if(one.settings, [&](const Setting& setting) {
      if (options.names.empty()) return !all && !setting.is_dynamic();
      return std::find(options.names.begin(), options.names.end(), setting.name) == options.names.end();
    });
    for (const std::string& name : options.names) {
      const bool is_there = std::any_of(one.settings.begin(), one.settings.end(),
                                        [&](const Setting& setting) { return setting.name == name; });
      if (!is_there && one.error_code == 0) {
        return fail(kCommand, fmt::format("{} has no setting {}", resource_text(one.resource), name));
      }
    }
  }
  return print_settings(kCommand, *settings, all, options.json);
}

}  // namespace tailrace::cli
