#include "cli/entity_options.h"

#include <array>

namespace tailrace::cli {
namespace {

struct ShortForm {
  EntityType type;
  const char* name;
  const char* type_name;
  const char* what;
  const char* defaults;  // null: there are none
  const char* defaults_what;
};
constexpr std::array kShortForms = {
    ShortForm{EntityType::topics, "--topic", "TOPIC", "a topic; may be repeated", nullptr, nullptr},
    ShortForm{EntityType::brokers, "--broker", "ID", "one broker", "--broker-defaults", "what counts for all brokers"},
    ShortForm{EntityType::broker_loggers, "--broker-logger", "ID", "the log levels of a broker", nullptr, nullptr},
    ShortForm{EntityType::client_metrics, "--client-metrics", "NAME", "a subscription to metrics of clients", nullptr,
              nullptr},
    ShortForm{EntityType::groups, "--group", "GROUP", "a group", nullptr, nullptr},
    ShortForm{EntityType::users, "--user", "NAME", "a user", "--user-defaults",
              "all users that have nothing of their own"},
    ShortForm{EntityType::clients, "--client", "ID", "a client id", "--client-defaults",
              "all client ids that have nothing of their own"},
    ShortForm{EntityType::ips, "--ip", "ADDRESS", "an IP address", "--ip-defaults",
              "all addresses that have nothing of their own"},
};

}  // namespace

void add_short_forms(Command command, EntityArguments& arguments, std::initializer_list<EntityType> types) {
  for (const EntityType type : types) {
    const ShortForm& form = kShortForms[static_cast<std::size_t>(type)];
    command
        .add_option_function<std::vector<std::string>>(
            form.name,
            [&arguments, type](const std::vector<std::string>& names) {
              for (const std::string& name : names) {
                arguments.short_forms.push_back({.type = type, .name = {EntityName::Kind::named, name}});
              }
            },
            form.what)
        .type_name(form.type_name)
        .group("Whose");
    if (form.defaults == nullptr) continue;
    command
        .add_flag_callback(
            form.defaults,
            [&arguments, type] {
              arguments.short_forms.push_back({.type = type, .name = {EntityName::Kind::defaults, ""}});
            },
            form.defaults_what)
        .group("Whose");
  }
}

void add_entity_options(Command command, EntityArguments& arguments) {
  add_short_forms(command, arguments,
                  {EntityType::topics, EntityType::brokers, EntityType::broker_loggers, EntityType::client_metrics,
                   EntityType::groups, EntityType::users, EntityType::clients, EntityType::ips});
  command
      .add_option("--entity-type", arguments.types,
                  "topics, brokers, broker-loggers, client-metrics, groups, users, clients or ips")
      .type_name("TYPE")
      .group("Whose");
  // Names and defaults belong to types by their order.
  command
      .add_option_function<std::string>(
          "--entity-name", [&arguments](const std::string& name) { arguments.names.emplace_back(name); },
          "the name that goes with --entity-type (default: all of them)")
      .type_name("NAME")
      .take_last()
      .trigger_on_parse()
      .group("Whose");
  command
      .add_flag_callback(
          "--entity-default", [&arguments] { arguments.names.emplace_back(std::nullopt); },
          "or what counts for those without anything of their own")
      .take_last()
      .trigger_on_parse()
      .group("Whose");
}

}  // namespace tailrace::cli
