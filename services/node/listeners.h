// Where a node listens and what it tells clients: Kafka's `listeners` and `advertised.listeners`. PURE.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace::node {

struct Endpoint {
  std::string name = "PLAINTEXT";  // of the listener, in capitals
  std::string host;                // a name, IPv4 or IPv6 address without brackets; empty: every interface
  std::uint16_t port = 0;          // 0: the system picks one
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// "NAME://HOST:PORT", with HOST as 10.0.0.1, [::1], a name, or empty.
std::expected<Endpoint, std::string> parse_endpoint(std::string_view text);
// "HOST:PORT", as on the command line; [::1]:9092 for IPv6.
std::expected<Endpoint, std::string> parse_host_and_port(std::string_view text);
// "PLAINTEXT://[::1]:9092".
std::string endpoint_text(const Endpoint& endpoint);
// "HOST:PORT".
std::string host_and_port(const Endpoint& endpoint);

struct ListenerSettings {
  std::string_view listeners;           // comma-separated
  std::string_view advertised;          // comma-separated; empty: not set
  std::string_view security_protocols;  // NAME:PROTOCOL,...
  std::string_view controller_names;    // listeners that are left out
};

struct Listeners {
  std::vector<Endpoint> bound;
  std::vector<Endpoint> advertised;  // empty: tell each client the address it connected to
};

// Errors, each naming its key: not an endpoint, two listeners of one name or one port, a protocol that is not served,
// an advertised listener without a listener, without a host or on 0.0.0.0, nothing to listen on.
std::expected<Listeners, std::string> parse_listeners(const ListenerSettings& settings);

// A numeric address in its plain form: 2001:DB8:0::1 is 2001:db8::1, ::ffff:10.0.0.1 is 10.0.0.1, without a zone. Other
// text as it is.
std::string plain_ip(std::string_view text);
// max.connections.per.ip.overrides: "ADDRESS:COUNT,...", addresses in their plain form. Error: not that.
std::expected<std::map<std::string, std::int64_t>, std::string> parse_ip_limits(std::string_view text);

}  // namespace tailrace::node
