// Whose settings `configs` means: kafka-configs' entity types and names, and their short forms. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/admin.h"

namespace tailrace::cli {

enum class EntityType : std::uint8_t { topics, brokers, broker_loggers, client_metrics, groups, users, clients, ips };

struct EntityName {
  enum class Kind : std::uint8_t { all, named, defaults };
  Kind kind = Kind::all;
  std::string name{};
};

struct Entity {
  EntityType type = EntityType::topics;
  EntityName name;
};

// "topics", "topic" ...; nothing: no such type.
std::optional<EntityType> parse_entity_type(std::string_view text);
std::string_view entity_type_name(EntityType type);  // kafka-configs' word: "topics"
// Users, clients and ips have quotas; everything else is a resource.
[[nodiscard]] bool has_quotas(EntityType type);

// What stands on the command line: types and names in the order in which they came (--entity-type, --entity-name,
// --entity-default), and the short forms, each of which is an entity of its own.
struct EntityArguments {
  std::vector<std::string> types;
  std::vector<std::optional<std::string>> names;  // none: --entity-default
  std::vector<Entity> short_forms;
};

// The entities: one, or the user and client (in this order) whose combination is meant; several of one type come from
// the short forms only. Error: what is wrong, also a default or a name that this type cannot have.
Outcome<std::vector<Entity>> parse_entities(const EntityArguments& arguments);

// For resources (not has_quotas), named or default.
Resource to_resource(const Entity& entity);
// For quotas.
QuotaFilter to_quota_filter(const Entity& entity);
QuotaPart to_quota_part(const Entity& entity);

}  // namespace tailrace::cli
