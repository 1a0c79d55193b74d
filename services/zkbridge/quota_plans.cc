#include "services/zkbridge/quota_plans.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/core.h>

namespace tailrace::zkbridge {
namespace {

using kafka::ErrorCode;

constexpr std::string_view kUser = "user";
constexpr std::string_view kClientId = "client-id";
constexpr std::string_view kIp = "ip";

enum class QuotaType : std::uint8_t { real, int64, int32 };
struct QuotaKey {
  std::string_view name;
  QuotaType type = QuotaType::real;
  bool is_of_ip = false;
};
constexpr QuotaKey kQuotaKeys[] = {
    {"connection_creation_rate", QuotaType::int32, true}, {"consumer_byte_rate", QuotaType::int64, false},
    {"controller_mutation_rate", QuotaType::real, false}, {"producer_byte_rate", QuotaType::int64, false},
    {"request_percentage", QuotaType::real, false},
};

std::unexpected<Refusal> refuse(ErrorCode code, std::string message) {
  return std::unexpected(Refusal{code, std::move(message)});
}
std::unexpected<Refusal> refuse(std::string message) { return refuse(ErrorCode::INVALID_REQUEST, std::move(message)); }

// Literal addresses alone: asking a name server would hold up everybody else.
bool is_address(std::string_view text) {
  const std::string name(text);
  if (name.find('\0') != std::string::npos) return false;  // where C's text would end
  unsigned char bytes[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, name.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

std::string entity_text(const QuotaWish& wish) {
  std::string text;
  for (const auto& [type, name] : wish.entity) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{}={}", type, name.value_or("null"));
  }
  return text;
}

std::expected<node::QuotaEntity, Refusal> to_entity(const QuotaWish& wish) {
  if (wish.entity.empty()) return refuse("Invalid empty client quota entity");
  node::QuotaEntity entity;
  for (const auto& [type, name] : wish.entity) {
    if (type != kUser && type != kClientId && type != kIp) {
      return refuse(fmt::format("Unhandled client quota entity type: {}", type));
    }
    if (name && name->empty()) return refuse(fmt::format("Empty {} not supported", type));
    auto& part = type == kUser ? entity.user : type == kClientId ? entity.client_id : entity.ip;
    part = node::QuotaName{name ? std::optional<std::string>(*name) : std::nullopt};
  }
  if (entity.ip && (entity.user || entity.client_id)) {
    return refuse("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId");
  }
  if (entity.ip && entity.ip->name && !is_address(*entity.ip->name)) {
    return refuse(fmt::format("{} is not a valid IP or resolvable host.", *entity.ip->name));
  }
  return entity;
}

// As Kafka 3.x writes them: whole numbers without a fraction, others as Java prints a double.
std::expected<std::string, Refusal> to_value(const QuotaKey& key, double value) {
  if (!(value > 0) || std::isinf(value)) return refuse(fmt::format("Quota {} must be greater than 0", key.name));
  if (key.type == QuotaType::real) {
    std::string text = fmt::format("{}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }
  // 2^63 is the first that a long does not hold.
  if (key.type == QuotaType::int64 && value >= 9223372036854775808.0) {
    return refuse(fmt::format("Proposed value for {} is too large for a LONG.", key.name));
  }
  if (key.type == QuotaType::int32 && value > INT32_MAX) {
    return refuse(fmt::format("Proposed value for {} is too large for an INT.", key.name));
  }
  if (value != std::floor(value)) return refuse(fmt::format("{} cannot be a fractional value.", key.name));
  return std::to_string(static_cast<std::int64_t>(value));
}

std::optional<double> to_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What a filter says of one type of entity.
struct Filter {
  enum class Kind : std::int8_t { exact = 0, unnamed = 1, any = 2 };
  Kind kind = Kind::exact;
  std::optional<std::string> name;

  [[nodiscard]] bool takes(const std::optional<node::QuotaName>& part) const {
    return part && (kind == Kind::any || part->name == name);
  }
};
using Filters = std::map<std::string_view, Filter>;

std::expected<Filters, Refusal> to_filters(const kafka::DescribeClientQuotasRequest& request) {
  Filters filters;
  for (const auto& component : request.components) {
    const std::string_view type = component.entity_type;
    if (type.empty()) return refuse("Invalid empty entity type.");
    if (filters.contains(type)) {
      return refuse(fmt::format("Entity type {} cannot appear more than once in the filter.", type));
    }
    if (type != kUser && type != kClientId && type != kIp) {
      return refuse(ErrorCode::UNSUPPORTED_VERSION, fmt::format("Unsupported entity type {}", type));
    }
    Filter& filter = filters[type];
    filter.kind = Filter::Kind{component.match_type};
    switch (filter.kind) {
      case Filter::Kind::exact:
        if (!component.match) return refuse("Request specified MATCH_TYPE_EXACT, but set match string to null.");
        filter.name = std::string(*component.match);
        break;
      case Filter::Kind::unnamed:
        if (component.match) return refuse("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.");
        break;
      case Filter::Kind::any:
        if (component.match) {
          return refuse("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.");
        }
        break;
      default:
        return refuse(fmt::format("Unknown match type {}", component.match_type));
    }
  }
  if (filters.contains(kIp) && filters.size() > 1) {
    return refuse(
        "Invalid entity filter component combination. IP filter component should not be used with user or clientId "
        "filter component.");
  }
  return filters;
}

bool matches(const Filters& filters, bool strict, const node::QuotaEntity& entity) {
  const std::size_t parts = (entity.user ? 1u : 0u) + (entity.client_id ? 1u : 0u) + (entity.ip ? 1u : 0u);
  if (strict && parts != filters.size()) return false;
  return std::ranges::all_of(filters, [&](const auto& each) {
    return each.second.takes(each.first == kUser       ? entity.user
                             : each.first == kClientId ? entity.client_id
                                                       : entity.ip);
  });
}

}  // namespace

std::vector<QuotaWish> quota_wishes(const kafka::AlterClientQuotasRequest& request) {
  std::vector<QuotaWish> wishes;
  std::map<std::map<std::string_view, std::optional<std::string_view>>, std::size_t> seen;
  for (const auto& entry : request.entries) {
    std::map<std::string_view, std::optional<std::string_view>> parts;
    for (const auto& part : entry.entity) parts[part.entity_type] = part.entity_name;
    const auto [at, is_new] = seen.try_emplace(parts, wishes.size());
    if (!is_new) {
      wishes[at->second].is_repeated = true;
      continue;
    }
    wishes.push_back({{parts.begin(), parts.end()}, &entry, false});
  }
  return wishes;
}

std::expected<QuotaChange, Refusal> plan_quota(const QuotaNodes& nodes, const QuotaWish& wish) {
  auto keys_repeat = [&] {
    std::map<std::string_view, int> counts;
    return std::ranges::any_of(wish.entry->ops, [&](const auto& op) { return ++counts[op.key] > 1; });
  };
  if (wish.is_repeated || keys_repeat()) {
    return refuse(fmt::format("Ignoring duplicate entity ClientQuotaEntity(entries={{{}}})", entity_text(wish)));
  }
  const auto entity = to_entity(wish);
  if (!entity) return std::unexpected(entity.error());
  QuotaChange change{node::quota_path(*entity), {}};
  if (const auto at = nodes.find(change.path); at != nodes.end()) change.values = at->second;
  for (const auto& op : wish.entry->ops) {
    const auto key = std::ranges::find_if(
        kQuotaKeys, [&](const QuotaKey& k) { return k.name == op.key && k.is_of_ip == entity->ip.has_value(); });
    const bool is_key = key != std::end(kQuotaKeys);
    if (op.remove) {
      if (is_key) change.values.erase(std::string(op.key));
      continue;
    }
    if (!is_key) return refuse(fmt::format("Invalid configuration key {}", op.key));
    auto value = to_value(*key, op.value);
    if (!value) return std::unexpected(value.error());
    change.values[std::string(op.key)] = *std::move(value);
  }
  return change;
}

std::expected<std::vector<FoundQuota>, Refusal> find_quotas(const QuotaNodes& nodes,
                                                            const kafka::DescribeClientQuotasRequest& request) {
  const auto filters = to_filters(request);
  if (!filters) return std::unexpected(filters.error());
  std::vector<FoundQuota> found;
  for (const auto& [path, values] : nodes) {
    const std::optional<node::QuotaEntity> entity = node::parse_quota_path(path);
    if (!entity || !matches(*filters, request.strict, *entity)) continue;
    FoundQuota quota{*entity, {}};
    for (const QuotaKey& key : kQuotaKeys) {
      const auto at = values.find(key.name);
      const auto number = at == values.end() ? std::nullopt : to_number(at->second);
      if (number) quota.values.emplace_back(key.name, *number);
    }
    if (!quota.values.empty()) found.push_back(std::move(quota));
  }
  return found;
}

node::ConfigMap only_quotas(const node::ConfigMap& values) {
  node::ConfigMap quotas;
  for (const QuotaKey& key : kQuotaKeys) {
    if (const auto at = values.find(key.name); at != values.end()) quotas.insert(*at);
  }
  return quotas;
}

}  // namespace tailrace::zkbridge
