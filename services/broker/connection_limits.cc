#include "services/broker/connection_limits.h"

#include <algorithm>

#include "engine/base/check.h"
#include "services/node/listeners.h"
#include "services/node/settings.h"

namespace tailrace::broker {

ConnectionSettings connection_settings(const node::BrokerConfigs& configs) {
  ConnectionSettings settings;
  const auto integer = [&](std::string_view key) { return node::to_integer(node::broker_value(configs, key)); };
  settings.max = integer("max.connections");
  settings.per_second_max = integer("max.connection.creation.rate");
  settings.per_ip_max = integer("max.connections.per.ip");
  if (auto overrides = node::parse_ip_limits(node::broker_value(configs, "max.connections.per.ip.overrides"))) {
    for (auto& [ip, max] : *overrides) settings.per_ip_overrides[ip] = max;
  }
  for (const node::Endpoint& endpoint : configs.fixed.listeners.bound) {
    const auto of_listener = [&](const char* key, std::int64_t otherwise) {
      const std::optional<std::string> value = node::listener_value(configs, endpoint.name, key);
      return value ? node::to_integer(*value) : otherwise;
    };
    settings.listeners.push_back(
        {.max = of_listener("max.connections", settings.max),
         .per_second_max = of_listener("max.connection.creation.rate", settings.per_second_max)});
  }
  return settings;
}

void ConnectionLimits::use(ConnectionSettings settings) {
  settings_ = std::move(settings);
  listener_rates_.resize(settings_.listeners.size());
  listener_counts_.resize(settings_.listeners.size());
}

void ConnectionLimits::use(const IpQuotas& quotas) {
  ip_rates_.clear();
  ip_rate_default_.reset();
  for (const auto& [path, quota] : quotas) {
    if (!quota.entity.ip || !quota.connection_creation_rate) continue;
    if (quota.entity.ip->name)
      ip_rates_[node::plain_ip(*quota.entity.ip->name)] = *quota.connection_creation_rate;
    else
      ip_rate_default_ = quota.connection_creation_rate;
  }
}

bool ConnectionLimits::has_room(std::size_t listener) const {
  if (total_ >= hard_max_) return false;
  if (static_cast<std::int64_t>(listener_counts_[listener]) >= settings_.listeners[listener].max) return false;
  return is_protected(listener) || static_cast<std::int64_t>(total_) < settings_.max;
}

std::int64_t ConnectionLimits::wait_ms(std::size_t listener, TimestampMs now) {
  std::int64_t wait = 0;
  const auto record = [&](Rate& rate, std::int64_t max) {
    rate.record(1, now, windows_);
    if (max < kUnlimited) wait = std::max(wait, rate.throttle_ms(static_cast<double>(max), now, windows_));
  };
  if (!is_protected(listener)) record(rate_, settings_.per_second_max);
  record(listener_rates_[listener], settings_.listeners[listener].per_second_max);
  return std::min(wait, windows_.window_ms);
}

std::int64_t ConnectionLimits::max_of(std::string_view ip) const {
  const auto at = settings_.per_ip_overrides.find(ip);
  return at == settings_.per_ip_overrides.end() ? settings_.per_ip_max : at->second;
}

std::optional<double> ConnectionLimits::rate_of(std::string_view ip) const {
  const auto at = ip_rates_.find(ip);
  return at == ip_rates_.end() ? ip_rate_default_ : at->second;
}

ConnectionLimits::Verdict ConnectionLimits::let_in(std::size_t listener, std::string_view ip, TimestampMs now) {
  auto found = addresses_.find(ip);
  if (found == addresses_.end()) {
    if (addresses_.size() >= total_ + kIdleAddressesMax) {
      std::erase_if(addresses_, [](const auto& each) { return each.second.connections == 0; });
    }
    found = addresses_.try_emplace(std::string(ip)).first;
  }
  Address& address = found->second;
  if (const std::optional<double> bound = rate_of(ip)) {
    address.rate.record(1, now, windows_);
    const std::int64_t throttle_ms = std::min(address.rate.throttle_ms(*bound, now, windows_), windows_.window_ms);
    if (throttle_ms > 0) {
      // What is not let in does not count, here and there.
      address.rate.record(-1, now, windows_);
      if (!is_protected(listener)) rate_.record(-1, now, windows_);
      listener_rates_[listener].record(-1, now, windows_);
      return {.close_in_ms = throttle_ms};
    }
  }
  if (static_cast<std::int64_t>(address.connections) >= max_of(ip)) {
    if (address.connections == 0 && address.rate.is_idle(now, windows_)) addresses_.erase(found);
    return {};
  }
  ++address.connections;
  ++total_;
  ++listener_counts_[listener];
  return {.address = &address};
}

void ConnectionLimits::ended(std::size_t listener, Address& address) {
  CHECK(address.connections > 0 && total_ > 0 && listener_counts_[listener] > 0);
  --address.connections;
  --total_;
  --listener_counts_[listener];
}

std::size_t ConnectionLimits::excess() const {
  const auto max = static_cast<std::size_t>(std::max<std::int64_t>(settings_.max, 0));
  return total_ > max ? total_ - max : 0;
}

void ConnectionLimits::forget_idle(TimestampMs now) {
  std::erase_if(addresses_, [&](const auto& each) {
    return each.second.connections == 0 && each.second.rate.is_idle(now, windows_);
  });
}

}  // namespace tailrace::broker
