#include "cli/quota_text.h"

#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "cli/config_text.h"
#include "cli/output.h"
#include "cli/text.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

struct Quota {
  std::string_view key;
  bool of_ips;            // else of users and clients
  bool is_whole;          // fractions are refused
  std::string_view unit;  // "": bytes a second
};
// QuotaConfig
constexpr std::array kQuotas = {
    Quota{"producer_byte_rate", false, true, ""},
    Quota{"consumer_byte_rate", false, true, ""},
    Quota{"request_percentage", false, false, "%"},
    Quota{"controller_mutation_rate", false, false, "mutations/s"},
    Quota{"connection_creation_rate", true, true, "connections/s"},
};

bool is_ip(const QuotaEntity& entity) { return !entity.empty() && entity.front().type == "ip"; }

const Quota* find_quota(std::string_view key) {
  for (const Quota& quota : kQuotas) {
    if (quota.key == key) return &quota;
  }
  return nullptr;
}

ordered_json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace

Outcome<void> check_quota_name(const QuotaEntity& entity, std::string_view key) {
  const Quota* quota = find_quota(key);
  if (quota != nullptr && quota->of_ips == is_ip(entity)) return {};
  std::string known;
  for (const Quota& one : kQuotas) {
    if (one.of_ips == is_ip(entity)) known += fmt::format("{}{}", known.empty() ? "" : ", ", one.key);
  }
  return std::unexpected(
      fmt::format("\"{}\" is no quota of {}; there are {}", key, is_ip(entity) ? "ips" : "users and clients", known));
}

Outcome<QuotaChange> parse_quota(const QuotaEntity& entity, std::string_view key, std::string_view value) {
  if (auto checked = check_quota_name(entity, key); !checked) return std::unexpected(checked.error());
  const Quota& quota = *find_quota(key);
  const bool is_bytes = quota.unit.empty();
  const auto parsed = is_bytes ? parse_size(value) : parse_real(value);
  if (!parsed || *parsed <= 0) {
    return std::unexpected(fmt::format("{} takes a positive number{}, not \"{}\"", key,
                                       is_bytes ? " of bytes a second (10MiB, 500kB)" : "", value));
  }
  if (quota.is_whole && *parsed != std::floor(*parsed)) {
    return std::unexpected(fmt::format("{} takes a whole number, not \"{}\"", key, value));
  }
  return QuotaChange{.key = std::string(key), .value = *parsed};
}

std::string quota_value_text(std::string_view key, double value) {
  const Quota* quota = find_quota(key);
  if (quota == nullptr) return fmt::format("{}", value);
  return quota->unit.empty() ? human_bytes(value) + "/s" : fmt::format("{} {}", value, quota->unit);
}

void print_quotas(const std::vector<QuotaEntry>& entries, bool json) {
  if (json) {
    ordered_json all = ordered_json::array();
    for (const QuotaEntry& entry : entries) {
      ordered_json entity = ordered_json::object();
      for (const QuotaPart& part : entry.entity) entity[part.type] = part.name ? ordered_json(*part.name) : nullptr;
      ordered_json values = ordered_json::object();
      for (const auto& [key, value] : entry.values) values[key] = number(value);
      all.push_back({{"entity", std::move(entity)}, {"quotas", std::move(values)}});
    }
    return print_json(all);
  }
  std::vector<std::vector<std::string>> rows = {{"user", "client-id", "ip", "quota", "limit"}};
  for (const QuotaEntry& entry : entries) {
    std::vector<std::string> names = {"-", "-", "-"};
    for (const QuotaPart& part : entry.entity) {
      names[part.type == "user" ? 0 : part.type == "client-id" ? 1 : 2] = part.name.value_or("<default>");
    }
    for (const auto& [key, value] : entry.values) {
      rows.push_back({names[0], names[1], names[2], key, quota_value_text(key, value)});
    }
  }
  if (rows.size() > 1) write_out(table(rows));
}

}  // namespace tailrace::cli
