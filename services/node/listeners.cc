#include "services/node/listeners.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include <fmt/core.h>

#include "services/node/settings.h"

namespace tailrace::node {
namespace {

std::string capitals(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  }
  return out;
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == ':' || c == '%';
}

// Splits HOST:PORT at the last colon outside brackets.
std::optional<Endpoint> split(std::string_view text) {
  Endpoint endpoint;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') != host.ends_with(']')) return std::nullopt;
  const bool in_brackets = host.starts_with('[');
  if (in_brackets) host = host.substr(1, host.size() - 2);
  if (in_brackets && host.empty()) return std::nullopt;
  if (!in_brackets && std::ranges::count(host, ':') == 1) return std::nullopt;  // a:b:9092 is neither name nor IPv6
  if (!std::ranges::all_of(host, is_host_character)) return std::nullopt;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (error != std::errc{} || end != port.data() + port.size() || port.empty()) return std::nullopt;
  endpoint.host = host;
  return endpoint;
}

bool is_ipv4(std::string_view host) {
  return !host.empty() && std::ranges::all_of(host, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}
bool is_ipv6(std::string_view host) { return host.find(':') != std::string_view::npos; }

// Two listeners may share a port when one is IPv4 and the other IPv6.
bool may_share_port(const Endpoint& a, const Endpoint& b) {
  return (is_ipv4(a.host) && is_ipv6(b.host)) || (is_ipv6(a.host) && is_ipv4(b.host));
}

using Protocols = std::map<std::string, std::string, std::less<>>;

std::expected<Protocols, std::string> parse_protocols(std::string_view text) {
  Protocols protocols = {
      {"PLAINTEXT", "PLAINTEXT"}, {"SSL", "SSL"}, {"SASL_PLAINTEXT", "SASL_PLAINTEXT"}, {"SASL_SSL", "SASL_SSL"}};
  for (std::string_view entry : split_list(text)) {
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      return std::unexpected(fmt::format(
          "Invalid value {} for configuration listener.security.protocol.map: must be NAME:PROTOCOL,...", text));
    }
    protocols[capitals(trim(entry.substr(0, colon)))] = capitals(trim(entry.substr(colon + 1)));
  }
  return protocols;
}

// Error: the protocol of the listener is unknown, or one that is not served.
std::optional<std::string> refuse_protocol(const Endpoint& endpoint, const Protocols& protocols) {
  const auto protocol = protocols.find(endpoint.name);
  if (protocol == protocols.end()) {
    return fmt::format(
        "listeners: no security protocol is defined for the listener {}; name it in listener.security.protocol.map",
        endpoint.name);
  }
  if (protocol->second != "PLAINTEXT") {
    return fmt::format("listeners: the listener {} asks for {}, and only PLAINTEXT is served", endpoint.name,
                       protocol->second);
  }
  return std::nullopt;
}

std::optional<std::string> refuse_pair(const char* key, const Endpoint& a, const Endpoint& b, bool ports_differ) {
  if (a.name == b.name && !may_share_port(a, b)) {
    return fmt::format("{}: each listener must have a different name, and {} comes twice", key, a.name);
  }
  if (ports_differ && a.port != 0 && a.port == b.port && !may_share_port(a, b)) {
    return fmt::format("{}: each listener must have a different port, and {} comes twice", key, a.port);
  }
  return std::nullopt;
}

std::expected<std::vector<Endpoint>, std::string> parse_list(const char* key, std::string_view text, bool ports_differ,
                                                             const std::vector<std::string>& left_out) {
  std::vector<Endpoint> endpoints;
  for (std::string_view entry : split_list(text)) {
    std::expected<Endpoint, std::string> endpoint = parse_endpoint(entry);
    if (!endpoint) return std::unexpected(fmt::format("{}: {}", key, endpoint.error()));
    if (std::ranges::find(left_out, endpoint->name) != left_out.end()) continue;
    for (const Endpoint& other : endpoints) {
      if (const auto refusal = refuse_pair(key, other, *endpoint, ports_differ)) return std::unexpected(*refusal);
    }
    endpoints.push_back(std::move(*endpoint));
  }
  return endpoints;
}

}  // namespace

std::expected<Endpoint, std::string> parse_endpoint(std::string_view text) {
  const std::size_t slashes = text.find("://");
  if (slashes != std::string_view::npos && slashes != 0) {
    if (std::optional<Endpoint> endpoint = split(text.substr(slashes + 3))) {
      endpoint->name = capitals(text.substr(0, slashes));
      return *endpoint;
    }
  }
  return std::unexpected(fmt::format("'{}' is not NAME://HOST:PORT (a port is 0 to 65535)", text));
}

std::expected<Endpoint, std::string> parse_host_and_port(std::string_view text) {
  if (std::optional<Endpoint> endpoint = split(text)) return *endpoint;
  return std::unexpected(fmt::format("'{}' is not HOST:PORT (a port is 0 to 65535; IPv6 as [::1]:9092)", text));
}

std::string host_and_port(const Endpoint& endpoint) {
  if (is_ipv6(endpoint.host)) return fmt::format("[{}]:{}", endpoint.host, endpoint.port);
  return fmt::format("{}:{}", endpoint.host, endpoint.port);
}

std::string endpoint_text(const Endpoint& endpoint) { return endpoint.name + "://" + host_and_port(endpoint); }

std::expected<Listeners, std::string> parse_listeners(const ListenerSettings& settings) {
  const std::expected<Protocols, std::string> protocols = parse_protocols(settings.security_protocols);
  if (!protocols) return std::unexpected(protocols.error());
  std::vector<std::string> left_out;
  for (std::string_view name : split_list(settings.controller_names)) left_out.push_back(capitals(name));

  auto bound = parse_list("listeners", settings.listeners, true, left_out);
  if (!bound) return std::unexpected(bound.error());
  if (bound->empty()) return std::unexpected("listeners: there is none that clients can reach");
  for (const Endpoint& endpoint : *bound) {
    if (const auto refusal = refuse_protocol(endpoint, *protocols)) return std::unexpected(*refusal);
  }

  auto advertised = parse_list("advertised.listeners", settings.advertised, false, left_out);
  if (!advertised) return std::unexpected(advertised.error());
  for (const Endpoint& endpoint : *advertised) {
    if (std::ranges::none_of(*bound, [&](const Endpoint& b) { return b.name == endpoint.name; })) {
      return std::unexpected(fmt::format("advertised.listeners: {} is not among listeners", endpoint_text(endpoint)));
    }
    if (endpoint.host.empty() || endpoint.host == "0.0.0.0" || endpoint.host == "::") {
      return std::unexpected(
          fmt::format("advertised.listeners: {} is no address that a client can connect to", endpoint_text(endpoint)));
    }
  }
  return Listeners{std::move(*bound), std::move(*advertised)};
}

std::string plain_ip(std::string_view text) {
  const std::string host(text.substr(0, text.find('%')));
  in6_addr address{};
  char plain[INET6_ADDRSTRLEN] = {};
  if (::inet_pton(AF_INET6, host.c_str(), &address) != 1) return std::string(text);
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    return ::inet_ntop(AF_INET, &address.s6_addr[12], plain, sizeof plain) != nullptr ? plain : host;
  }
  return ::inet_ntop(AF_INET6, &address, plain, sizeof plain) != nullptr ? plain : host;
}

std::expected<std::map<std::string, std::int64_t>, std::string> parse_ip_limits(std::string_view text) {
  std::map<std::string, std::int64_t> limits;
  for (const std::string_view entry : split_list(text)) {
    const std::size_t colon = entry.rfind(':');
    std::int32_t count = -1;
    if (colon != std::string_view::npos) {
      const std::string_view digits = trim(entry.substr(colon + 1));
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
      if (error != std::errc{} || end != digits.data() + digits.size()) count = -1;
    }
    std::string ip = count < 0 ? std::string() : plain_ip(trim(entry.substr(0, colon)));
    if (ip.starts_with('[') && ip.ends_with(']')) ip = plain_ip(std::string_view(ip).substr(1, ip.size() - 2));
    in6_addr six{};
    if (::inet_pton(AF_INET, ip.c_str(), &six) != 1 && ::inet_pton(AF_INET6, ip.c_str(), &six) != 1) {
      return std::unexpected(fmt::format(
          "Invalid value {} for configuration max.connections.per.ip.overrides: must be ADDRESS:COUNT,... with numeric "
          "addresses",
          text));
    }
    limits[std::move(ip)] = count;
  }
  return limits;
}

}  // namespace tailrace::node
