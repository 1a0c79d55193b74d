// `tailrace quotas`: limits of users, clients and IP addresses, in the units of people.
#include <memory>

#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/entity_options.h"
#include "cli/output.h"
#include "cli/quota_text.h"
#include "cli/verdicts.h"

namespace tailrace::cli {
namespace {

struct QuotasOptions : CommandOptions {
  EntityArguments entities;
  std::vector<std::string> quotas;
  bool all = false;
  bool validate_only = false;
};

Outcome<QuotaEntity> entity_of(const QuotasOptions& options) {
  if (options.entities.short_forms.empty()) {
    return std::unexpected(std::string("--user, --client, --ip or their defaults say whose quotas are meant"));
  }
  auto entities = parse_entities(options.entities);
  if (!entities) return std::unexpected(entities.error());
  QuotaEntity entity;
  for (const Entity& one : *entities) entity.push_back(to_quota_part(one));
  return entity;
}

Outcome<std::vector<QuotaEntry>> find(Client& client, const QuotasOptions& options, bool strict) {
  std::vector<QuotaFilter> filters;
  for (const Entity& entity : options.entities.short_forms) filters.push_back(to_quota_filter(entity));
  return describe_quotas(client, filters, strict);
}

int list(const QuotasOptions& options) {
  if (!options.entities.short_forms.empty()) {
    if (auto entity = entity_of(options); !entity) return misuse("quotas list", entity.error());
  }
  auto client = Client::connect(options.client);
  if (!client) return fail("quotas list", client.error());
  auto entries = find(*client, options, false);
  if (!entries) return fail("quotas list", entries.error());
  print_quotas(*entries, options.json);
  return kExitDone;
}

int describe(const QuotasOptions& options) {
  auto entity = entity_of(options);
  if (!entity) return misuse("quotas describe", entity.error());
  auto client = Client::connect(options.client);
  if (!client) return fail("quotas describe", client.error());
  auto entries = find(*client, options, true);
  if (!entries) return fail("quotas describe", entries.error());
  if (entries->empty() && !options.json) print("No quotas of {}.\n", entity_text(*entity));
  print_quotas(*entries, options.json);
  return kExitDone;
}

int change(std::string_view command, std::string_view done, const QuotasOptions& options, Client& client,
           const QuotaEntity& entity, const std::vector<QuotaChange>& changes) {
  auto verdict = alter_quotas(client, entity, changes, options.validate_only);
  if (!verdict) return fail(command, verdict.error());
  return report({.command = command,
                 .kind = "",
                 .done = options.validate_only ? "Could change the quotas of" : done,
                 .json = options.json},
                {*verdict});
}

int set(const QuotasOptions& options) {
  constexpr std::string_view kCommand = "quotas set";
  auto entity = entity_of(options);
  if (!entity) return misuse(kCommand, entity.error());
  std::vector<QuotaChange> changes;
  for (const std::string& text : options.quotas) {
    auto pairs = parse_key_values(text);
    if (!pairs) return misuse(kCommand, pairs.error());
    for (const auto& [key, value] : *pairs) {
      auto quota = parse_quota(*entity, key, value);
      if (!quota) return misuse(kCommand, quota.error());
      changes.push_back(std::move(*quota));
    }
  }
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  return change(kCommand, "Set the quotas of", options, *client, *entity, changes);
}

int remove(const QuotasOptions& options) {
  constexpr std::string_view kCommand = "quotas remove";
  auto entity = entity_of(options);
  if (!entity) return misuse(kCommand, entity.error());
  std::vector<QuotaChange> changes;
  for (const std::string& text : options.quotas) {
    for (const std::string& name : split_list(text)) {
      if (auto known = check_quota_name(*entity, name); !known) return misuse(kCommand, known.error());
      changes.push_back({.key = name, .value = std::nullopt});
    }
  }
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto entries = find(*client, options, true);
  if (!entries) return fail(kCommand, entries.error());
  for (const QuotaEntry& entry : *entries) {
    for (const auto& [key, value] : entry.values) {
      if (options.all) changes.push_back({.key = key, .value = std::nullopt});
    }
  }
  if (entries->empty()) return fail(kCommand, fmt::format("{} has no quotas", entity_text(*entity)));
  return change(kCommand, "Removed quotas of", options, *client, *entity, changes);
}

}  // namespace

void add_quotas_command(Command app, int& exit_code) {
  const Command group = add_group(app, "quotas", "Limits of users, clients and IP addresses");
  // Each command has options of its own: the short forms gather there.
  const auto add = [&](const char* name, const char* what, int (*run)(const QuotasOptions&)) {
    auto options = std::make_shared<QuotasOptions>();
    Command command = add_command(group, name, what, options, exit_code, run);
    add_short_forms(command, options->entities, {EntityType::users, EntityType::clients, EntityType::ips});
    return std::pair(command, options);
  };
  auto [list_command, list_options] =
      add("list", "Show all quotas, or those that name a user, client or address", list);
  add_examples(list_command, {"quotas list", "quotas list --user alice"});

  auto [describe_command, describe_options] = add("describe", "Show the quotas of exactly one entity", describe);
  add_examples(describe_command, {"quotas describe --user alice --client-defaults"});

  auto [set_command, set_options] = add("set", "Set quotas", set);
  set_command
      .add_option("QUOTA", set_options->quotas,
                  "of users and clients: producer_byte_rate, consumer_byte_rate (bytes per second, as 10MiB or 500kB), "
                  "request_percentage, controller_mutation_rate; of ips: connection_creation_rate")
      .type_name("KEY=VALUE")
      .required();
  set_command.add_flag("--validate-only", set_options->validate_only, "only say whether it could be done");
  set_command.footer("The most specific quota counts: of user and client, of the user, of the client, then defaults.");
  add_examples(set_command, {"quotas set --user alice producer_byte_rate=10MiB request_percentage=50",
                             "quotas set --ip-defaults connection_creation_rate=20"});

  auto [remove_command, remove_options] = add("remove", "Remove quotas", remove);
  const Option names = remove_command.add_option("QUOTA", remove_options->quotas, "their names").type_name("KEY");
  remove_command.add_flag("--all", remove_options->all, "all of the entity").excludes(names);
  remove_command.add_flag("--validate-only", remove_options->validate_only, "only say whether it could be done");
  remove_command.callback([options = remove_options, &exit_code] {
    if (options->quotas.empty() && !options->all) refuse_without("QUOTA or --all");
    exit_code = remove(*options);
  });
  add_examples(remove_command, {"quotas remove --user alice producer_byte_rate", "quotas remove --user alice --all"});
}

}  // namespace tailrace::cli
