// The table of settings: every key that a Kafka broker (4.4 and 3.9) or a topic can be given, and our own `tailrace.`
// keys, with type, default, what is allowed and, for keys that we use, what they mean. Everything that is said about a
// setting (checks, DescribeConfigs, docs/configuration.md) comes from here. Constant data; any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace::node {

// The numbers are those of DescribeConfigs' ConfigType.
enum class SettingType : std::uint8_t {
  unknown = 0,
  boolean = 1,
  string = 2,
  int32 = 3,
  int16 = 4,
  int64 = 5,
  float64 = 6,
  list = 7,
  class_name = 8,
  password = 9,
};

// What may be changed while a broker runs (Kafka's DynamicBrokerConfig); topic settings always may.
enum class Update : std::uint8_t { read_only, per_broker, cluster_wide };

struct Allowed {
  enum class Kind : std::uint8_t { anything, range, real_range, one_of, one_of_any_case, list_of, replicas, not_empty };
  Kind kind = Kind::anything;
  bool or_minus_one = false;
  std::int64_t min = INT64_MIN;
  std::int64_t max = INT64_MAX;
  double real_min = 0;
  double real_max = 0;
  const char* choices = nullptr;  // separated by commas
};

namespace allow {
constexpr Allowed anything() { return {}; }
constexpr Allowed at_least(std::int64_t min) { return {.kind = Allowed::Kind::range, .min = min}; }
constexpr Allowed between(std::int64_t min, std::int64_t max) {
  return {.kind = Allowed::Kind::range, .min = min, .max = max};
}
constexpr Allowed between_or_minus_one(std::int64_t min, std::int64_t max) {
  return {.kind = Allowed::Kind::range, .or_minus_one = true, .min = min, .max = max};
}
constexpr Allowed real_between(double min, double max) {
  return {.kind = Allowed::Kind::real_range, .real_min = min, .real_max = max};
}
constexpr Allowed one_of(const char* choices) { return {.kind = Allowed::Kind::one_of, .choices = choices}; }
constexpr Allowed one_of_any_case(const char* choices) {
  return {.kind = Allowed::Kind::one_of_any_case, .choices = choices};
}
constexpr Allowed list_of(const char* choices) { return {.kind = Allowed::Kind::list_of, .choices = choices}; }
constexpr Allowed replicas() { return {.kind = Allowed::Kind::replicas}; }  // PARTITION:BROKER,... or *
constexpr Allowed not_empty() { return {.kind = Allowed::Kind::not_empty}; }
}  // namespace allow

enum KnownTo : std::uint8_t {
  kKafka4 = 1,
  kKafka3 = 2,
  kKafka = kKafka4 | kKafka3,
  kOurs = 4,
  kInternal = 8,   // Kafka's own tests use it; DescribeConfigs leaves it out unless it is set
  kUnlisted = 16,  // read by a plug-in of Kafka's; DescribeConfigs leaves it out unless it is set
};

struct Setting {
  const char* name;
  SettingType type;
  const char* default_value;  // as text; nullptr: none
  Allowed allowed;
  Update update;
  int known_to;               // KnownTo bits
  const char* doc = nullptr;  // nullptr: we do not use it
};

std::span<const Setting> broker_settings();                 // sorted by name
std::span<const Setting> topic_settings();                  // sorted by name
std::span<const Setting> client_metrics_settings();         // of a subscription (KIP-714), sorted by name
std::span<const Setting> group_settings();                  // of a group (KIP-848 and its kin), sorted by name
const Setting* find_broker_setting(std::string_view name);  // nullptr: nobody has it
const Setting* find_topic_setting(std::string_view name);
const Setting* find_client_metrics_setting(std::string_view name);
const Setting* find_group_setting(std::string_view name);

// The rest of `listener.name.NAME.REST`, empty for other keys. Kafka takes any setting of a listener under this prefix,
// and plug-ins read keys of their own there.
std::string_view listener_prefix_rest(std::string_view name);
// "listener.name.NAME." of a listener, in small letters, as Kafka wants it.
std::string listener_prefix(std::string_view listener);
// Other prefixes under which Kafka hands keys to plug-ins: rlmm.config., rsm.config., config.providers.
bool is_plugin_key(std::string_view name);

// The known key with the least edit distance, of brokers and ours.
std::string_view nearest_broker_setting(std::string_view name);
std::string_view nearest_topic_setting(std::string_view name);

// "at least 1", "one of: compact, delete"; empty when anything of the type goes.
std::string allowed_text(const Setting& setting);

// `value` in the form in which DescribeConfigs shows it (spaces cut, numbers and booleans in their plain form), or why
// it is not allowed, in Kafka's words: names key, value and what is.
std::expected<std::string, std::string> normal_value(const Setting& setting, std::string_view value);

// Values that passed normal_value, by type.
bool to_boolean(std::string_view value);
std::int64_t to_integer(std::string_view value);
double to_real(std::string_view value);
// A comma-separated list; empty text is the empty list. The views point into `text`.
std::vector<std::string_view> split_list(std::string_view text);
std::string_view trim(std::string_view text);

}  // namespace tailrace::node
