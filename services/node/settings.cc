#include "services/node/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

namespace tailrace::node {
namespace {

const Setting* find(std::span<const Setting> table, std::string_view name) {
  const auto at = std::lower_bound(table.begin(), table.end(), name,
                                   [](const Setting& s, std::string_view n) { return std::string_view(s.name) < n; });
  return at != table.end() && name == at->name ? &*at : nullptr;
}

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string_view nearest(std::span<const Setting> table, std::string_view name) {
  // A key is at most a few hundred bytes; what is longer resembles nothing, and the distance costs its square.
  name = name.substr(0, 256);
  std::string_view best;
  std::size_t best_distance = SIZE_MAX;
  for (const Setting& setting : table) {
    if ((setting.known_to & kInternal) != 0) continue;
    const std::size_t distance = edit_distance(name, setting.name);
    if (distance < best_distance) {
      best_distance = distance;
      best = setting.name;
    }
  }
  return best;
}

std::string spaced(std::string_view choices) {
  std::string out;
  for (char c : choices) out += c == ',' ? std::string(", ") : std::string(1, c);
  return out;
}

// Kafka's name of a type, as its parser says it.
const char* type_name(SettingType type) {
  switch (type) {
    case SettingType::int32:
      return "INT";
    case SettingType::int16:
      return "SHORT";
    case SettingType::int64:
      return "LONG";
    case SettingType::float64:
      return "DOUBLE";
    case SettingType::boolean:
    case SettingType::list:
    case SettingType::string:
    case SettingType::class_name:
    case SettingType::password:
    case SettingType::unknown:
      break;
  }
  return "STRING";
}

// In Kafka's words (ConfigException), which tools show to people.
std::unexpected<std::string> refuse(const Setting& setting, std::string_view value, const std::string& why) {
  const std::string_view shown = setting.type == SettingType::password ? "[hidden]" : value;
  return std::unexpected(fmt::format("Invalid value {} for configuration {}: {}", shown, setting.name, why));
}

std::unexpected<std::string> refuse_type(const Setting& setting, std::string_view value) {
  return refuse(setting, value, fmt::format("Not a number of type {}", type_name(setting.type)));
}

bool equal_any_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

bool among(std::string_view value, const char* choices, bool any_case) {
  for (std::string_view choice : split_list(choices)) {
    if (any_case ? equal_any_case(choice, value) : choice == value) return true;
  }
  return false;
}

template <class T>
bool parse_number(std::string_view text, T& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

// As Java prints a double: always with a fraction, with an exponent from 10^7 on and below 10^-3.
std::string java_double(double value) {
  if (value != 0 && (std::fabs(value) >= 1e7 || std::fabs(value) < 1e-3)) {
    char buffer[64];
    const auto shortest = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
    const std::string text(buffer, shortest.ptr);
    const std::size_t e = text.find('e');
    std::string mantissa = text.substr(0, e);
    if (mantissa.find('.') == std::string::npos) mantissa += ".0";
    int exponent = 0;
    parse_number(std::string_view(text).substr(e + 1), exponent);
    return fmt::format("{}E{}", mantissa, exponent);
  }
  std::string text = fmt::format("{}", value);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

bool is_replica_list(std::string_view value) {
  if (value == "*") return true;
  for (std::string_view entry : split_list(value)) {
    const std::size_t colon = entry.find(':');
    std::int32_t partition = 0;
    std::int32_t broker = 0;
    if (colon == std::string_view::npos || !parse_number(entry.substr(0, colon), partition) ||
        !parse_number(entry.substr(colon + 1), broker) || partition < 0 || broker < 0) {
      return false;
    }
  }
  return true;
}

std::expected<std::string, std::string> normal_integer(const Setting& setting, std::string_view value) {
  std::int64_t number = 0;
  if (!parse_number(value, number)) return refuse_type(setting, value);
  if (setting.type == SettingType::int32 && (number < INT32_MIN || number > INT32_MAX))
    return refuse_type(setting, value);
  if (setting.type == SettingType::int16 && (number < INT16_MIN || number > INT16_MAX))
    return refuse_type(setting, value);
  const Allowed& allowed = setting.allowed;
  if (allowed.kind == Allowed::Kind::range && !(allowed.or_minus_one && number == -1)) {
    const std::string shown = std::to_string(number);
    const bool inside = number >= allowed.min && number <= allowed.max;
    if (!inside && allowed.or_minus_one) {
      return refuse(setting, shown,
                    fmt::format("Value must be between {} and {} or equal to -1", allowed.min, allowed.max));
    }
    if (number < allowed.min) return refuse(setting, shown, fmt::format("Value must be at least {}", allowed.min));
    if (number > allowed.max) return refuse(setting, shown, fmt::format("Value must be no more than {}", allowed.max));
  }
  return std::to_string(number);
}

std::expected<std::string, std::string> normal_real(const Setting& setting, std::string_view value) {
  double number = 0;
  if (!parse_number(value, number) || std::isnan(number)) return refuse_type(setting, value);
  const Allowed& allowed = setting.allowed;
  if (allowed.kind == Allowed::Kind::real_range && number < allowed.real_min) {
    return refuse(setting, java_double(number), fmt::format("Value must be at least {}", allowed.real_min));
  }
  if (allowed.kind == Allowed::Kind::real_range && number > allowed.real_max) {
    return refuse(setting, java_double(number), fmt::format("Value must be no more than {}", allowed.real_max));
  }
  return java_double(number);
}

std::expected<std::string, std::string> normal_list(const Setting& setting, std::string_view value) {
  if (setting.allowed.kind == Allowed::Kind::replicas && !is_replica_list(value)) {
    return refuse(setting, fmt::format("[{}]", value),
                  fmt::format("{} must be the literal '*' or a list of replicas in the following format: "
                              "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
                              setting.name));
  }
  std::string joined;
  bool first = true;
  std::vector<std::string_view> entries = split_list(value);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string_view entry = entries[i];
    if (setting.allowed.kind == Allowed::Kind::list_of && !among(entry, setting.allowed.choices, false)) {
      return refuse(setting, entry, "String must be one of: " + spaced(setting.allowed.choices));
    }
    // A choice is made once, however often it is named.
    const auto before = entries.begin() + static_cast<std::ptrdiff_t>(i);
    if (setting.allowed.kind == Allowed::Kind::list_of && std::find(entries.begin(), before, entry) != before) continue;
    if (!first) joined += ',';
    first = false;
    joined += entry;
  }
  return joined;
}

std::expected<std::string, std::string> normal_text(const Setting& setting, std::string_view value) {
  switch (setting.allowed.kind) {
    case Allowed::Kind::one_of:
      if (among(value, setting.allowed.choices, false)) break;
      return refuse(setting, value, "String must be one of: " + spaced(setting.allowed.choices));
    case Allowed::Kind::one_of_any_case:
      if (among(value, setting.allowed.choices, true)) break;
      return refuse(setting, value, "String must be one of (case insensitive): " + spaced(setting.allowed.choices));
    case Allowed::Kind::not_empty:
      if (value.empty()) return refuse(setting, value, "String must be non-empty");
      break;
    case Allowed::Kind::anything:
    case Allowed::Kind::range:
    case Allowed::Kind::real_range:
    case Allowed::Kind::list_of:
    case Allowed::Kind::replicas:
      break;
  }
  return std::string(value);
}

}  // namespace

const Setting* find_broker_setting(std::string_view name) { return find(broker_settings(), name); }
const Setting* find_topic_setting(std::string_view name) { return find(topic_settings(), name); }
const Setting* find_client_metrics_setting(std::string_view name) { return find(client_metrics_settings(), name); }
const Setting* find_group_setting(std::string_view name) { return find(group_settings(), name); }

std::string listener_prefix(std::string_view listener) {
  std::string prefix = "listener.name.";
  for (const char c : listener) prefix += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return prefix + ".";
}

std::string_view listener_prefix_rest(std::string_view name) {
  constexpr std::string_view kPrefix = "listener.name.";
  if (!name.starts_with(kPrefix)) return {};
  const std::size_t dot = name.find('.', kPrefix.size());
  if (dot == std::string_view::npos || dot == kPrefix.size()) return {};
  return name.substr(dot + 1);
}

bool is_plugin_key(std::string_view name) {
  return name.starts_with("rlmm.config.") || name.starts_with("rsm.config.") || name.starts_with("config.providers.") ||
         name.starts_with("metrics.context.");
}

std::string_view nearest_broker_setting(std::string_view name) { return nearest(broker_settings(), name); }
std::string_view nearest_topic_setting(std::string_view name) { return nearest(topic_settings(), name); }

std::string_view trim(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> entries;
  text = trim(text);
  if (text.empty()) return entries;
  for (;;) {
    const std::size_t comma = text.find(',');
    entries.push_back(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return entries;
    text.remove_prefix(comma + 1);
  }
}

std::string allowed_text(const Setting& setting) {
  const Allowed& allowed = setting.allowed;
  switch (allowed.kind) {
    case Allowed::Kind::anything:
      return {};
    case Allowed::Kind::range: {
      const std::string also = allowed.or_minus_one ? ", or -1" : "";
      if (allowed.max == INT64_MAX) return fmt::format("at least {}{}", allowed.min, also);
      return fmt::format("from {} to {}{}", allowed.min, allowed.max, also);
    }
    case Allowed::Kind::real_range:
      return fmt::format("from {} to {}", allowed.real_min, allowed.real_max);
    case Allowed::Kind::one_of:
      return "one of " + spaced(allowed.choices);
    case Allowed::Kind::one_of_any_case:
      return "one of " + spaced(allowed.choices) + " (in any case)";
    case Allowed::Kind::list_of:
      return "of " + spaced(allowed.choices);
    case Allowed::Kind::replicas:
      return "PARTITION:BROKER each, or *";
    case Allowed::Kind::not_empty:
      return "not empty";
  }
  return {};
}

std::expected<std::string, std::string> normal_value(const Setting& setting, std::string_view value) {
  value = trim(value);
  switch (setting.type) {
    case SettingType::boolean:
      if (equal_any_case(value, "true")) return "true";
      if (equal_any_case(value, "false")) return "false";
      return refuse(setting, value, "Expected value to be either true or false");
    case SettingType::int16:
    case SettingType::int32:
    case SettingType::int64:
      return normal_integer(setting, value);
    case SettingType::float64:
      return normal_real(setting, value);
    case SettingType::list:
      return normal_list(setting, value);
    case SettingType::string:
    case SettingType::class_name:
    case SettingType::password:
    case SettingType::unknown:
      return normal_text(setting, value);
  }
  return normal_text(setting, value);
}

bool to_boolean(std::string_view value) { return equal_any_case(trim(value), "true"); }

std::int64_t to_integer(std::string_view value) {
  std::int64_t number = 0;
  parse_number(trim(value), number);
  return number;
}

double to_real(std::string_view value) {
  double number = 0;
  parse_number(trim(value), number);
  return number;
}

}  // namespace tailrace::node
