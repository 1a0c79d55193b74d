#include "services/node/settings_markdown.h"

#include <span>

#include <fmt/core.h>

#include "services/node/broker_configs.h"
#include "services/node/settings.h"

namespace tailrace::node {
namespace {

std::string type_name(SettingType type) {
  switch (type) {
    case SettingType::boolean:
      return "boolean";
    case SettingType::string:
      return "string";
    case SettingType::int32:
      return "int";
    case SettingType::int16:
      return "short";
    case SettingType::int64:
      return "long";
    case SettingType::float64:
      return "double";
    case SettingType::list:
      return "list";
    case SettingType::class_name:
      return "class";
    case SettingType::password:
      return "password";
    case SettingType::unknown:
      return "string";
  }
  return "string";
}

std::string default_text(const Setting& setting) {
  if (setting.default_value == nullptr) return "none";
  if (*setting.default_value == '\0') return "empty";
  return fmt::format("`{}`", setting.default_value);
}

void add_used_of_node(std::string& out) {
  out += "| key | type | default | allowed | changed | meaning |\n|---|---|---|---|---|---|\n";
  for (const Setting& setting : broker_settings()) {
    if (setting.doc == nullptr) continue;
    out +=
        fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", setting.name, type_name(setting.type), default_text(setting),
                    allowed_text(setting), changes_at_run_time(setting) ? "at run time" : "at the start", setting.doc);
  }
}

void add_used(std::string& out, std::span<const Setting> settings) {
  out += "| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n";
  for (const Setting& setting : settings) {
    if (setting.doc == nullptr) continue;
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", setting.name, type_name(setting.type), default_text(setting),
                       allowed_text(setting), setting.doc);
  }
}

void add_unused(std::string& out, std::span<const Setting> settings) {
  for (const Setting& setting : settings) {
    if (setting.doc == nullptr && (setting.known_to & kInternal) == 0) out += fmt::format("- `{}`\n", setting.name);
  }
}

}  // namespace

std::string settings_markdown() {
  std::string out =
      "# Configuration\n\n"
      "This page is generated from the table of settings (`services/node/settings_*.cc`).\n\n"
      "A node reads one `server.properties` in Kafka's format (`--config FILE`); `--data DIR` stands for `log.dirs`,\n"
      "`--listen HOST:PORT` for `listeners`, and `--set KEY=VALUE` goes before all of them. Without a file the node\n"
      "listens on 127.0.0.1:9092. A key that nobody has is an error that names the nearest key; keys that Kafka has\n"
      "and Tailrace does not use are accepted and listed once at the start.\n\n"
      "Clients (`kafka-configs`, admin APIs) change settings of topics, groups, a node and all nodes while it runs. A "
      "change\n"
      "is on disk before it is answered, and the same client's next request is served by it. It goes before what\n"
      "`server.properties` says; what a topic does not say, the node's settings say. The column `changed` says which "
      "keys\n"
      "of a node this is true of; a change of the others is refused. Keys without effect that Kafka lets one change "
      "are\n"
      "stored and described, and nothing else.\n\n"
      "## Settings of a node\n\n";
  add_used_of_node(out);
  out += "\n## Settings of a topic\n\n";
  add_used(out, topic_settings());
  out += "\n## Settings of a subscription to client metrics\n\n";
  add_used(out, client_metrics_settings());
  out +=
      "\n## Settings of a group\n\n"
      "A consumer group (KIP-848) hears of a change with its members' next heartbeats. What a group does not say, the "
      "node's\nsettings `group.*` say. A value is within the node's bounds; where these become narrower later, the "
      "nearest inside counts.\n\n";
  add_used(out, group_settings());
  out += "\n## Keys of Kafka's that have no effect\n\nOf a node:\n\n";
  add_unused(out, broker_settings());
  out += "\nOf a topic:\n\n";
  add_unused(out, topic_settings());
  out += "\nOf a group (there are no share groups and no streams groups yet):\n\n";
  add_unused(out, group_settings());
  return out;
}

}  // namespace tailrace::node
