#include "services/node/client_quotas.h"

#include <charconv>
#include <cmath>

#include <fmt/core.h>

namespace tailrace::node {
namespace {

constexpr std::string_view kDefaultName = "<default>";
constexpr std::string_view kUsers = "users/";
constexpr std::string_view kClients = "clients/";
constexpr std::string_view kUsersClients = "/clients/";
constexpr std::string_view kIps = "ips/";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

std::string encode_name(const QuotaName& name) {
  return name.name ? encode_entity_name(*name.name) : std::string(kDefaultName);
}

std::optional<QuotaName> decode_name(std::string_view encoded) {
  if (encoded == kDefaultName) return QuotaName{};
  std::optional<std::string> name = decode_entity_name(encoded);
  return name ? std::optional(QuotaName{std::move(name)}) : std::nullopt;
}

std::optional<double> number(const ConfigMap& values, std::string_view key) {
  const auto at = values.find(key);
  if (at == values.end()) return std::nullopt;
  double value = 0;
  const char* const last = at->second.data() + at->second.size();
  const auto [end, error] = std::from_chars(at->second.data(), last, value);
  if (error != std::errc{} || end != last) return std::nullopt;
  // Others are no rate: NaN, what is negative or without end.
  return value >= 0 && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string encode_entity_name(std::string_view name) {
  std::string encoded;
  for (const char c : name) {
    if (is_plain(c))
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

std::optional<std::string> decode_entity_name(std::string_view encoded) {
  if (encoded.find('/') != std::string_view::npos) return std::nullopt;
  std::string name;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      name += encoded[i];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = encoded.substr(i + 1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || error != std::errc{} || end != digits.data() + 2) return std::nullopt;
    name += static_cast<char>(value);
    i += 2;
  }
  return name;
}

std::string quota_path(const QuotaEntity& entity) {
  if (entity.ip) return std::string(kIps) + encode_name(*entity.ip);
  if (!entity.user) return entity.client_id ? std::string(kClients) + encode_name(*entity.client_id) : std::string();
  std::string path = std::string(kUsers) + encode_name(*entity.user);
  if (entity.client_id) path += std::string(kUsersClients) + encode_name(*entity.client_id);
  return path;
}

std::optional<QuotaEntity> parse_quota_path(std::string_view path) {
  QuotaEntity entity;
  if (path.starts_with(kIps)) {
    entity.ip = decode_name(path.substr(kIps.size()));
    if (!entity.ip) return std::nullopt;
  } else if (path.starts_with(kClients)) {
    entity.client_id = decode_name(path.substr(kClients.size()));
    if (!entity.client_id) return std::nullopt;
  } else if (path.starts_with(kUsers)) {
    std::string_view user = path.substr(kUsers.size());
    if (const std::size_t at = user.find(kUsersClients); at != std::string_view::npos) {
      entity.client_id = decode_name(user.substr(at + kUsersClients.size()));
      if (!entity.client_id) return std::nullopt;
      user = user.substr(0, at);
    }
    entity.user = decode_name(user);
    if (!entity.user) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return entity;
}

std::optional<ClientQuota> client_quota(std::string_view path, const ConfigMap& values) {
  const std::optional<QuotaEntity> entity = parse_quota_path(path);
  if (!entity) return std::nullopt;
  ClientQuota quota{.entity = *entity,
                    .producer_byte_rate = number(values, "producer_byte_rate"),
                    .consumer_byte_rate = number(values, "consumer_byte_rate"),
                    .request_percentage = number(values, "request_percentage"),
                    .controller_mutation_rate = number(values, "controller_mutation_rate"),
                    .connection_creation_rate = number(values, "connection_creation_rate")};
  if (quota == ClientQuota{.entity = *entity}) return std::nullopt;
  return quota;
}

}  // namespace tailrace::node
