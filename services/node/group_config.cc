#include "services/node/group_config.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "engine/base/check.h"
#include "services/node/settings.h"

namespace tailrace::node {
namespace {

constexpr std::string_view kAssignorName = "streams.assignor.name";
constexpr std::string_view kRackTags = "streams.rack.aware.assignment.tags";
constexpr std::string_view kOffsetReset = "share.auto.offset.reset";
constexpr std::string_view kDeadLetterTopic = "errors.deadletterqueue.topic.name";

// consumer.session.timeout.ms and "min" -> group.consumer.min.session.timeout.ms; the bound of
// streams.num.standby.replicas has no "num". Empty: the broker has no such setting.
std::string bound_key(std::string_view key, std::string_view which) {
  const std::size_t dot = key.find('.');
  std::string_view rest = key.substr(dot + 1);
  constexpr std::string_view kNumber = "num.";
  if (rest.starts_with(kNumber)) rest.remove_prefix(kNumber.size());
  std::string name = fmt::format("group.{}.{}.{}", key.substr(0, dot), which, rest);
  return find_broker_setting(name) == nullptr ? std::string() : name;
}

// java.time.Duration.parse: nullopt where it throws. Answers whether the time is a negative one.
std::optional<bool> is_negative_duration(std::string_view text) {
  static const re2::RE2 kForm(
      "(?i)([-+]?)P(?:([-+]?[0-9]+)D)?(T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)"
      "?)?");
  struct Part {
    std::string text;
    std::int64_t seconds;
  };
  std::string sign;
  std::string time;
  std::string fraction;
  Part days{"", 86'400};
  Part hours{"", 3'600};
  Part minutes{"", 60};
  Part seconds{"", 1};
  if (!re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), kForm, &sign, &days.text, &time, &hours.text,
                           &minutes.text, &seconds.text, &fraction)) {
    return std::nullopt;
  }
  if (time == "T" || time == "t" || (time.empty() && days.text.empty())) return std::nullopt;
  std::int64_t total = 0;
  for (const Part* part : {&days, &hours, &minutes, &seconds}) {
    if (part->text.empty()) continue;
    const std::string_view digits = std::string_view(part->text).substr(part->text.starts_with('+') ? 1 : 0);
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    if (__builtin_mul_overflow(count, part->seconds, &count) || __builtin_add_overflow(total, count, &total)) {
      return std::nullopt;
    }
  }
  const bool has_fraction = fraction.find_first_not_of('0') != std::string::npos;
  const bool is_fraction_negative = has_fraction && seconds.text.starts_with('-');
  const bool is_negative = total < 0 || (total == 0 && is_fraction_negative);
  const bool is_zero = total == 0 && !has_fraction;
  return sign == "-" ? !is_negative && !is_zero : is_negative;
}

bool is_offset_reset(std::string_view value) {
  constexpr std::string_view kByDuration = "by_duration:";
  if (value == "earliest" || value == "latest") return true;
  if (!value.starts_with(kByDuration)) return false;
  const auto is_negative = is_negative_duration(value.substr(kByDuration.size()));
  return is_negative && !*is_negative;
}

// What is wrong beyond the type of the value.
std::expected<void, std::string> check_text(std::string_view key, std::string_view value) {
  if (key == kOffsetReset && !is_offset_reset(value)) {
    return std::unexpected(
        fmt::format("Invalid value {} for configuration {}: Invalid value `{}` for configuration {}. The value must be "
                    "either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
                    value, key, value, key));
  }
  if (key == kRackTags) {
    const std::vector<std::string_view> tags = split_list(value);
    if (std::set<std::string_view>(tags.begin(), tags.end()).size() != tags.size()) {
      return std::unexpected(fmt::format("{} must not contain duplicate tag keys.", key));
    }
    if (std::ranges::find(tags, "") != tags.end()) {
      return std::unexpected(fmt::format("Configuration '{}' values must not be empty.", key));
    }
  }
  return {};
}

// The broker's bounds of a number (group.*.min.* and max.*), ends included; without one, the type's.
std::expected<void, std::string> check_bounds(const BrokerConfigs& broker, std::string_view key,
                                              std::string_view value) {
  const std::string min_key = bound_key(key, "min");
  const std::string max_key = bound_key(key, "max");
  const std::int64_t min = min_key.empty() ? INT64_MIN : to_integer(broker_value(broker, min_key));
  const std::int64_t max = max_key.empty() ? INT64_MAX : to_integer(broker_value(broker, max_key));
  const std::int64_t number = to_integer(value);
  if (number >= min && number <= max) return {};
  if (!min_key.empty() && !max_key.empty()) {
    return std::unexpected(fmt::format("{} must be in the range {} to {} inclusive.", key, min, max));
  }
  return std::unexpected(max_key.empty() ? fmt::format("{} must be greater than or equal to {}", key, min)
                                         : fmt::format("{} must be less than or equal to {}", key, max));
}

std::expected<void, std::string> check_together(const BrokerConfigs& broker, const ConfigMap& own) {
  if (const auto name = own.find(kAssignorName); name != own.end()) {
    const std::string assignors = broker_value(broker, group_synonym(kAssignorName));
    const std::vector<std::string_view> known = split_list(assignors);
    if (std::ranges::find(known, name->second) == known.end()) {
      return std::unexpected(fmt::format("{} '{}' is not a registered task assignor. Registered assignors are: [{}].",
                                         kAssignorName, name->second, fmt::join(known, ", ")));
    }
  }
  for (const std::string_view kind : {"consumer", "share", "streams"}) {
    const std::string session = fmt::format("{}.session.timeout.ms", kind);
    const std::string heartbeat = fmt::format("{}.heartbeat.interval.ms", kind);
    if (!own.contains(session) && !own.contains(heartbeat)) continue;
    if (to_integer(group_value(broker, own, session)) <= to_integer(group_value(broker, own, heartbeat))) {
      return std::unexpected(fmt::format("{} must be greater than {}", session, heartbeat));
    }
  }
  const auto topic = own.find(kDeadLetterTopic);
  if (topic != own.end() && topic->second.starts_with("__")) {
    return std::unexpected(fmt::format("{}: DLQ topic name must not start with '__'", kDeadLetterTopic));
  }
  return {};
}

}  // namespace

std::string group_synonym(std::string_view key) {
  if (key == kAssignorName) return "group.streams.assignors";  // the first of which is the default
  std::string name = fmt::format("group.{}", key);
  return find_broker_setting(name) == nullptr ? std::string() : name;
}

std::string group_value(const BrokerConfigs& broker, const ConfigMap& own, std::string_view key) {
  if (const auto at = own.find(key); at != own.end()) return at->second;
  const std::string synonym = group_synonym(key);
  if (synonym.empty()) {
    const Setting* const setting = find_group_setting(key);
    CHECK(setting != nullptr);
    return setting->default_value == nullptr ? "" : setting->default_value;
  }
  std::string value = broker_value(broker, synonym);
  if (key == kAssignorName) value.resize(std::min(value.size(), value.find(',')));
  return value;
}

std::expected<ConfigMap, std::string> check_group_settings(const BrokerConfigs& broker, const ConfigMap& own) {
  for (const auto& [key, value] : own) {
    if (find_group_setting(key) == nullptr) return std::unexpected("Unknown group config name: " + key);
  }
  ConfigMap normal;
  for (const auto& [key, value] : own) {
    auto sound = normal_value(*find_group_setting(key), value);
    if (!sound) return std::unexpected(std::move(sound.error()));
    if (auto text = check_text(key, *sound); !text) return std::unexpected(std::move(text.error()));
    normal.emplace(key, *std::move(sound));
  }
  for (const auto& [key, value] : normal) {
    const SettingType type = find_group_setting(key)->type;
    if (type != SettingType::int32 && type != SettingType::int64) continue;
    if (auto inside = check_bounds(broker, key, value); !inside) return std::unexpected(std::move(inside.error()));
  }
  if (auto fits = check_together(broker, normal); !fits) return std::unexpected(std::move(fits.error()));
  return normal;
}

}  // namespace tailrace::node
