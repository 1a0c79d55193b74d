#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/configs_describe.h"
#include "cli/entity_options.h"
#include "cli/output.h"
#include "cli/quota_text.h"
#include "cli/verdicts.h"

namespace tailrace::cli {
namespace {

constexpr std::string_view kAlter = "configs alter";

struct AlterOptions : CommandOptions {
  EntityArguments entities;
  std::vector<std::string> add;
  std::vector<std::string> add_files;
  std::vector<std::string> remove;
  std::vector<std::string> append;
  std::vector<std::string> subtract;
  bool validate_only = false;
};

Outcome<void> add_changes(ChangeKind kind, const std::vector<std::string>& texts, std::string_view option,
                          std::vector<Change>& changes) {
  for (const std::string& text : texts) {
    auto pairs = parse_key_values(text);
    if (!pairs) return std::unexpected(fmt::format("{}: {}", option, pairs.error()));
    for (auto& [key, value] : *pairs) changes.push_back({kind, std::move(key), std::move(value)});
  }
  return {};
}

Outcome<std::vector<Change>> parse_changes(const AlterOptions& options) {
  std::vector<Change> changes;
  for (const std::string& file : options.add_files) {
    auto text = read_text_file(file);
    if (!text) return std::unexpected(text.error());
    auto pairs = parse_properties(*text);
    if (!pairs) return std::unexpected(fmt::format("{}: {}", file, pairs.error()));
    for (auto& [key, value] : *pairs) changes.push_back({ChangeKind::set, std::move(key), std::move(value)});
  }
  if (auto added = add_changes(ChangeKind::set, options.add, "--add-config", changes); !added) {
    return std::unexpected(added.error());
  }
  if (auto added = add_changes(ChangeKind::append, options.append, "--append-config", changes); !added) {
    return std::unexpected(added.error());
  }
  if (auto added = add_changes(ChangeKind::subtract, options.subtract, "--subtract-config", changes); !added) {
    return std::unexpected(added.error());
  }
  for (const std::string& text : options.remove) {
    for (const std::string& name : split_list(text)) changes.push_back({ChangeKind::remove, name, ""});
  }
  if (changes.empty()) {
    return std::unexpected(
        std::string("nothing is to be changed; --add-config, --add-config-file, --delete-config, --append-config and "
                    "--subtract-config say what"));
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (changes[i].name == changes[k].name) {
        return std::unexpected(fmt::format("{} is to be changed twice", changes[i].name));
      }
    }
  }
  return changes;
}

int alter_quotas_of(const AlterOptions& options, const std::vector<Entity>& entities,
                    const std::vector<Change>& changes) {
  QuotaEntity entity;
  for (const Entity& one : entities) {
    if (one.name.kind == EntityName::Kind::all) {
      return misuse(kAlter,
                    fmt::format("--entity-name or --entity-default says which of the {}", entity_type_name(one.type)));
    }
    entity.push_back(to_quota_part(one));
  }
  std::vector<QuotaChange> quotas;
  for (const Change& change : changes) {
    if (change.kind == ChangeKind::append || change.kind == ChangeKind::subtract) {
      return misuse(kAlter, "quotas are no lists: there is nothing to append to or to subtract from");
    }
    if (change.kind == ChangeKind::remove) {
      if (auto known = check_quota_name(entity, change.name); !known) return misuse(kAlter, known.error());
      quotas.push_back({.key = change.name, .value = std::nullopt});
      continue;
    }
    auto quota = parse_quota(entity, change.name, change.value);
    if (!quota) return misuse(kAlter, quota.error());
    quotas.push_back(std::move(*quota));
  }
  auto client = Client::connect(options.client);
  if (!client) return fail(kAlter, client.error());
  auto verdict = alter_quotas(*client, entity, quotas, options.validate_only);
  if (!verdict) return fail(kAlter, verdict.error());
  return report({.command = kAlter,
                 .kind = "",
                 .done = options.validate_only ? "Could alter the quotas of" : "Altered the quotas of",
                 .json = options.json},
                {*verdict});
}

int alter(const AlterOptions& options) {
  auto entities = parse_entities(options.entities);
  if (!entities) return misuse(kAlter, entities.error());
  auto changes = parse_changes(options);
  if (!changes) return misuse(kAlter, changes.error());
  if (has_quotas(entities->front().type)) return alter_quotas_of(options, *entities, *changes);
  std::vector<Resource> resources;
  for (const Entity& entity : *entities) {
    if (entity.name.kind == EntityName::Kind::all) {
      return misuse(kAlter, fmt::format("--entity-name says which of the {}", entity_type_name(entity.type)));
    }
    resources.push_back(to_resource(entity));
  }
  auto client = Client::connect(options.client);
  if (!client) return fail(kAlter, client.error());
  const Report form{.command = kAlter,
                    .kind = "",
                    .done = options.validate_only ? "Could alter the settings of" : "Altered the settings of",
                    .json = options.json};
  // Of several, either all are changed or none that could be known to be refused.
  if (options.validate_only || resources.size() > 1) {
    auto verdicts = alter_settings(*client, resources, *changes, true);
    if (!verdicts) return fail(kAlter, verdicts.error());
    const bool all_well =
        std::all_of(verdicts->begin(), verdicts->end(), [](const auto& one) { return one.is_done(); });
    if (options.validate_only) return report(form, *verdicts);
    if (!all_well) {
      for (const Verdict& one : *verdicts) {
        if (!one.is_done()) fail(kAlter, fmt::format("{}: {}; nothing was changed", one.name, one.error()));
      }
      return kExitFailed;
    }
  }
  auto verdicts = alter_settings(*client, resources, *changes, false);
  if (!verdicts) return fail(kAlter, verdicts.error());
  return report(form, *verdicts);
}

}  // namespace

void add_configs_command(Command app, int& exit_code) {
  const Command configs = add_group(app, "configs", "Show and change settings while the node runs");

  auto describe_options = std::make_shared<ConfigsDescribeOptions>();
  Command command = add_command(configs, "describe", "Show settings", describe_options, exit_code, describe_configs);
  command.description(
      "Show settings\nWithout --all only those that were given at run time. \"from\" says where a value comes from: "
      "the "
      "topic, the broker, all brokers, the file of the broker, or the default.");
  add_entity_options(command, describe_options->entities);
  command.add_flag("--all", describe_options->all, "also what comes from the broker's file, and defaults");
  command.add_option("--config", describe_options->names, "only this setting; may be repeated (implies --all)")
      .type_name("NAME");
  add_examples(command,
               {"configs describe --topic events --all", "configs describe --broker-defaults",
                "configs describe --broker 0 --config log.retention.ms", "configs describe --entity-type users"});

  auto options = std::make_shared<AlterOptions>();
  command =
      add_command(configs, "alter", "Change settings, or quotas of users, clients and ips", options, exit_code, alter);
  add_entity_options(command, options->entities);
  command
      .add_option("--add-config", options->add,
                  "settings and their new values: k1=v1,k2=[v1,v2]; square brackets hold values with commas")
      .type_name("KEY=VALUE,...");
  command.add_option("--add-config-file", options->add_files, "the same from a .properties file; - is standard input")
      .type_name("FILE");
  command.add_option("--delete-config", options->remove, "settings that get their default again: k1,k2")
      .type_name("KEY,...");
  command.add_option("--append-config", options->append, "what is added to lists: k1=v1").type_name("KEY=VALUE,...");
  command.add_option("--subtract-config", options->subtract, "what is taken out of lists: k1=v1")
      .type_name("KEY=VALUE,...");
  command.add_flag("--validate-only", options->validate_only, "only say whether it could be done");
  command.footer("Either all settings of a resource are changed or none.");
  add_examples(command,
               {"configs alter --topic events --add-config retention.ms=3600000,cleanup.policy=[compact,delete]",
                "configs alter --topic events --delete-config retention.ms",
                "configs alter --broker-defaults --add-config log.retention.ms=86400000",
                "configs alter --user alice --client app --add-config producer_byte_rate=1048576"});
}

}  // namespace tailrace::cli
