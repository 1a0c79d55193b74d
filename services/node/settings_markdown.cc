#include "services/node/settings_markdown.h"

#include <span>

#include <fmt/core.h>

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
      "and Tailrace does not use are accepted and listed once at the start. Topics are given their settings when they\n"
      "are created and keep them; what a topic does not say, the node's settings say.\n\n"
      "## Settings of a node\n\n";
  add_used(out, broker_settings());
  out += "\n## Settings of a topic\n\n";
  add_used(out, topic_settings());
  out += "\n## Keys of Kafka's that have no effect\n\nOf a node:\n\n";
  add_unused(out, broker_settings());
  out += "\nOf a topic:\n\n";
  add_unused(out, topic_settings());
  return out;
}

}  // namespace tailrace::node
