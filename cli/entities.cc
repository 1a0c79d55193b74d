#include "cli/entities.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "cli/config_text.h"

namespace tailrace::cli {
namespace {

struct TypeInfo {
  EntityType type;
  std::string_view name;
  std::string_view singular;
  ResourceType resource;        // of resources
  std::string_view quota_part;  // of those with quotas; else empty
  bool has_default;
};
constexpr std::array kTypes = {
    TypeInfo{EntityType::topics, "topics", "topic", ResourceType::topic, "", false},
    TypeInfo{EntityType::brokers, "brokers", "broker", ResourceType::broker, "", true},
    TypeInfo{EntityType::broker_loggers, "broker-loggers", "broker-logger", ResourceType::broker_logger, "", false},
    TypeInfo{EntityType::client_metrics, "client-metrics", "client-metric", ResourceType::client_metrics, "", false},
    TypeInfo{EntityType::groups, "groups", "group", ResourceType::group, "", false},
    TypeInfo{EntityType::users, "users", "user", {}, "user", true},
    TypeInfo{EntityType::clients, "clients", "client", {}, "client-id", true},
    TypeInfo{EntityType::ips, "ips", "ip", {}, "ip", true},
};

const TypeInfo& info(EntityType type) { return kTypes[static_cast<std::size_t>(type)]; }

std::unexpected<std::string> wrong(std::string text) { return std::unexpected(std::move(text)); }

Outcome<void> check(const Entity& entity) {
  const TypeInfo& type = info(entity.type);
  if (entity.name.kind == EntityName::Kind::defaults && !type.has_default) {
    return wrong(fmt::format("{} have no defaults of their own", type.name));
  }
  if (entity.name.kind != EntityName::Kind::named) return {};
  if (entity.name.name.empty()) return wrong(fmt::format("the name of a {} is empty", type.singular));
  if (entity.type == EntityType::brokers || entity.type == EntityType::broker_loggers) {
    const auto id = parse_integer(entity.name.name);
    if (!id || *id < 0 || *id > 0x7FFFFFFF) return wrong(fmt::format("\"{}\" is no broker id", entity.name.name));
  }
  return {};
}

Outcome<void> check_combination(const std::vector<Entity>& entities) {
  if (entities.empty()) return wrong("no entity is named; --entity-type, --topic, --broker, --user ... say which");
  const auto same_type = [&](const Entity& one) { return one.type == entities.front().type; };
  const bool all_same = std::all_of(entities.begin(), entities.end(), same_type);
  if (all_same && !has_quotas(entities.front().type)) return {};
  if (entities.size() == 1) return {};
  if (entities.size() == 2 && entities[0].type == EntityType::users && entities[1].type == EntityType::clients)
    return {};
  if (all_same) return wrong(fmt::format("only one of the {} at a time", info(entities.front().type).name));
  return wrong("only a user and a client may be combined");
}

}  // namespace

std::optional<EntityType> parse_entity_type(std::string_view text) {
  for (const TypeInfo& type : kTypes) {
    if (text == type.name || text == type.singular) return type.type;
  }
  return std::nullopt;
}

std::string_view entity_type_name(EntityType type) { return info(type).name; }

bool has_quotas(EntityType type) { return !info(type).quota_part.empty(); }

Outcome<std::vector<Entity>> parse_entities(const EntityArguments& arguments) {
  std::vector<Entity> entities;
  for (const std::string& text : arguments.types) {
    const auto type = parse_entity_type(text);
    if (!type) {
      std::string known;
      for (const TypeInfo& one : kTypes) known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
      return wrong(fmt::format("\"{}\" is no entity type; there are {}", text, known));
    }
    entities.push_back({.type = *type, .name = {}});
  }
  if (arguments.names.size() > entities.size()) {
    return wrong("there are more entity names than types; --entity-type says what a name is of");
  }
  for (std::size_t i = 0; i < arguments.names.size(); ++i) {
    const auto& name = arguments.names[i];
    entities[i].name = {.kind = name ? EntityName::Kind::named : EntityName::Kind::defaults, .name = name.value_or("")};
  }
  entities.insert(entities.end(), arguments.short_forms.begin(), arguments.short_forms.end());
  // In the order of types; those of one type stay as they came.
  std::vector<Entity> sorted;
  for (const TypeInfo& type : kTypes) {
    std::copy_if(entities.begin(), entities.end(), std::back_inserter(sorted),
                 [&](const Entity& one) { return one.type == type.type; });
  }
  entities = std::move(sorted);
  for (const Entity& entity : entities) {
    if (auto checked = check(entity); !checked) return std::unexpected(checked.error());
  }
  if (auto checked = check_combination(entities); !checked) return std::unexpected(checked.error());
  return entities;
}

Resource to_resource(const Entity& entity) { return {.type = info(entity.type).resource, .name = entity.name.name}; }

QuotaFilter to_quota_filter(const Entity& entity) {
  using Match = QuotaFilter::Match;
  const Match match = entity.name.kind == EntityName::Kind::all     ? Match::any
                      : entity.name.kind == EntityName::Kind::named ? Match::exact
                                                                    : Match::is_default;
  return {.type = std::string(info(entity.type).quota_part), .match = match, .name = entity.name.name};
}

QuotaPart to_quota_part(const Entity& entity) {
  QuotaPart part{.type = std::string(info(entity.type).quota_part), .name = std::nullopt};
  if (entity.name.kind == EntityName::Kind::named) part.name = entity.name.name;
  return part;
}

}  // namespace tailrace::cli
