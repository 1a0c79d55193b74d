// ConnectionLimits: how many connections there may be, and how many may come per second: of the node, of a listener and
// of an address, as Kafka's ConnectionQuotas has it (KIP-306, 402, 612). Of an address that has too many the next one
// is closed at once, of one that comes too fast after a while; for anything else nobody is accepted until there is
// room, or the rate is within its bound. PURE.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "services/broker/rate.h"
#include "services/node/broker_configs.h"
#include "services/node/client_quotas.h"

namespace tailrace::broker {

constexpr std::int64_t kUnlimited = INT32_MAX;  // Kafka's default for all of these

struct ConnectionSettings {
  struct Listener {
    std::int64_t max = kUnlimited;
    std::int64_t per_second_max = kUnlimited;
  };
  std::int64_t max = kUnlimited;
  std::int64_t per_second_max = kUnlimited;
  std::int64_t per_ip_max = kUnlimited;
  std::map<std::string, std::int64_t, std::less<>> per_ip_overrides;  // by address
  std::vector<Listener> listeners;
};

// What is in force: max.connections, max.connections.per.ip, its .overrides, max.connection.creation.rate, and of each
// listener listener.name.NAME.max.connections and .max.connection.creation.rate.
ConnectionSettings connection_settings(const node::BrokerConfigs& configs);

class ConnectionLimits {
 public:
  using IpQuotas = std::map<std::string, node::ClientQuota>;  // MetadataImage::Quotas
  // Addresses without a connection of which something is known: more are forgotten before their time.
  static constexpr std::size_t kIdleAddressesMax = 4096;

  struct Address {
    std::size_t connections = 0;
    Rate rate;
  };

  // `protected_listener`: connections of it do not wait for others (inter.broker.listener.name, where there are
  // several). `hard_max`: more than that there can never be.
  ConnectionLimits(QuotaWindows windows, std::optional<std::size_t> protected_listener, std::size_t hard_max)
      : windows_(windows), protected_(protected_listener), hard_max_(hard_max) {}
  void use(ConnectionSettings settings);
  void use(const IpQuotas& quotas);

  [[nodiscard]] bool has_room(std::size_t listener) const;
  // One has come. For how many ms it waits, and all behind it at this listener; a window at most.
  std::int64_t wait_ms(std::size_t listener, TimestampMs now);

  struct Verdict {
    Address* address = nullptr;    // let in: until ended() is called with it
    std::int64_t close_in_ms = 0;  // not let in
  };
  Verdict let_in(std::size_t listener, std::string_view ip, TimestampMs now);
  void ended(std::size_t listener, Address& address);

  // So many connections should be closed, those used longest ago, but none of the protected listener.
  [[nodiscard]] std::size_t excess() const;
  [[nodiscard]] bool is_protected(std::size_t listener) const { return protected_ == listener; }
  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t addresses() const { return addresses_.size(); }
  void forget_idle(TimestampMs now);

 private:
  [[nodiscard]] std::int64_t max_of(std::string_view ip) const;
  [[nodiscard]] std::optional<double> rate_of(std::string_view ip) const;

  QuotaWindows windows_;
  std::optional<std::size_t> protected_;
  std::size_t hard_max_;
  ConnectionSettings settings_;
  std::map<std::string, double, std::less<>> ip_rates_;
  std::optional<double> ip_rate_default_;
  Rate rate_;
  std::vector<Rate> listener_rates_;
  std::vector<std::size_t> listener_counts_;
  std::size_t total_ = 0;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, Address, Hash, std::equal_to<>> addresses_;  // keeps places
};

}  // namespace tailrace::broker
