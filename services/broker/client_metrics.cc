#include "services/broker/client_metrics.h"

#include <algorithm>
#include <charconv>

#include "engine/base/crc32c.h"
#include "services/node/settings.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;

// ClientMetricsConfigs
constexpr std::int32_t kIntervalMs = 300'000;
constexpr std::int32_t kIntervalMsMin = 100;
constexpr std::int32_t kIntervalMsMax = 3'600'000;
constexpr std::string_view kAll = "*";
constexpr std::int64_t kSilentMs = 60'000;
constexpr std::int8_t kCompressionMax = 4;  // none, gzip, snappy, lz4, zstd

std::string_view value_of(const node::ConfigMap& config, std::string_view key) {
  const auto at = config.find(key);
  return at == config.end() ? std::string_view{} : std::string_view(at->second);
}

std::size_t bytes_of(const std::vector<MetricSeries>& series) {
  std::size_t bytes = 0;
  for (const MetricSeries& each : series) bytes += sizeof each + each.name.size();
  return bytes;
}

}  // namespace

ClientMetrics::ClientMetrics(std::size_t push_bytes_max) : push_bytes_max_(push_bytes_max) {}
ClientMetrics::~ClientMetrics() = default;

bool ClientMetrics::Subscription::matches(const Uuid& instance, const MetricsClient& client) const {
  return match && std::ranges::all_of(*match, [&](const auto& selector) {
           const auto& [name, pattern] = selector;
           std::string text;
           if (name == "client_instance_id")
             text = instance.text();
           else if (name == "client_id")
             text = client.client_id;
           else if (name == "client_software_name")
             text = client.software_name;
           else if (name == "client_software_version")
             text = client.software_version;
           else if (name == "client_source_address")
             text = client.address;
           else if (name == "client_source_port")
             text = client.port;
           else
             return false;
           return pattern.matches(text);
         });
}

void ClientMetrics::use(std::shared_ptr<const Subscriptions> subscriptions) {
  if (subscriptions == source_) return;
  source_ = std::move(subscriptions);
  subscriptions_.clear();
  ++version_;
  if (source_ == nullptr) return;
  for (const auto& [name, config] : *source_) {
    Subscription& subscription = subscriptions_.emplace_back();
    for (const std::string_view each : node::split_list(value_of(config, "metrics")))
      subscription.metrics.emplace(each);
    subscription.interval_ms = kIntervalMs;
    const std::string_view interval = value_of(config, "interval.ms");
    std::from_chars(interval.data(), interval.data() + interval.size(), subscription.interval_ms);
    subscription.interval_ms = std::clamp(subscription.interval_ms, kIntervalMsMin, kIntervalMsMax);
    // One that cannot be read chooses nobody.
    if (auto match = node::parse_client_match(value_of(config, "match"))) subscription.match = *std::move(match);
  }
}

// The subscription's id changes with what is asked for, and differs between instances.
void ClientMetrics::subscribe(const Uuid& id, Instance& instance) const {
  instance.version = version_;
  instance.metrics.clear();
  instance.push_interval_ms = kIntervalMs;
  instance.asked = instance.pushed = kNoTimestamp;
  instance.is_ending = false;
  instance.last_error = ErrorCode::NONE;
  for (const Subscription& each : subscriptions_) {
    if (!each.matches(id, instance.client)) continue;
    instance.metrics.insert(each.metrics.begin(), each.metrics.end());
    instance.push_interval_ms = std::min(instance.push_interval_ms, each.interval_ms);
  }
  if (instance.metrics.contains(std::string(kAll))) instance.metrics = {std::string(kAll)};
  std::string text = std::to_string(instance.push_interval_ms);
  for (const std::string& metric : instance.metrics) text += ',' + metric;
  text.append(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
  instance.subscription_id = static_cast<std::int32_t>(crc32c(as_bytes(text)));
}

void ClientMetrics::drop_series(Instance& instance) {
  if (instance.series.empty()) return;
  shown_.erase(instance.shown_place);
  shown_bytes_ -= bytes_of(instance.series);
  instance.series.clear();
}

void ClientMetrics::forget(const Uuid& id) {
  const auto found = instances_.find(id);
  if (found == instances_.end()) return;
  drop_series(found->second);
  by_use_.erase(found->second.place);
  const auto connection = by_connection_.find(found->second.client.connection);
  if (connection != by_connection_.end() && connection->second == id) by_connection_.erase(connection);
  instances_.erase(found);
}

ClientMetrics::Instance& ClientMetrics::instance_of(const Uuid& id, const MetricsClient& client, TimestampMs now) {
  const auto [found, is_new] = instances_.try_emplace(id);
  Instance& instance = found->second;
  if (is_new) {
    instance.place = by_use_.insert(by_use_.end(), id);
    instance.client = client;
    // A connection speaks for one instance at a time.
    const auto before = by_connection_.find(client.connection);
    if (before != by_connection_.end()) {
      const Uuid other = before->second;
      forget(other);
    }
    by_connection_[client.connection] = id;
    subscribe(id, instance);
    if (instances_.size() > kInstancesMax) {
      const Uuid oldest = by_use_.front();
      forget(oldest);
    }
  } else {
    by_use_.splice(by_use_.end(), by_use_, instance.place);
    if (instance.client.connection != client.connection) {
      by_connection_.erase(instance.client.connection);
      instance.client = client;
      by_connection_[client.connection] = id;
    }
    if (instance.version != version_) subscribe(id, instance);
  }
  instance.silent_since = now;
  return instance;
}

ClientMetrics::Answer ClientMetrics::subscriptions_of(const Uuid& id, const Uuid& fresh, const MetricsClient& client,
                                                      TimestampMs now) {
  const Uuid known = id.is_zero() ? fresh : id;
  Instance& instance = instance_of(known, client, now);
  const TimestampMs last = std::max(instance.asked, instance.pushed);
  const bool may_ask_now = last == kNoTimestamp || now - last >= instance.push_interval_ms ||
                           instance.last_error == ErrorCode::UNKNOWN_SUBSCRIPTION_ID ||
                           instance.last_error == ErrorCode::UNSUPPORTED_COMPRESSION_TYPE;
  if (!may_ask_now) return {.error = ErrorCode::THROTTLING_QUOTA_EXCEEDED};
  instance.asked = now;
  instance.last_error = ErrorCode::NONE;
  return {.instance = known,
          .subscription_id = instance.subscription_id,
          .push_interval_ms = instance.push_interval_ms,
          .metrics = {instance.metrics.begin(), instance.metrics.end()}};
}

ErrorCode ClientMetrics::check_push(const Push& push, const MetricsClient& client, TimestampMs now) {
  if (push.instance.is_zero()) return ErrorCode::INVALID_REQUEST;
  Instance& instance = instance_of(push.instance, client, now);
  const auto refuse = [&](ErrorCode error) {
    instance.is_ending = instance.is_ending || push.is_last;
    return instance.last_error = error;
  };
  if (instance.is_ending) return refuse(ErrorCode::INVALID_REQUEST);
  // The first one after the question may come at any time: clients shift it by chance, so that they do not all push at
  // once.
  const bool is_due = instance.pushed == kNoTimestamp || instance.asked > instance.pushed ||
                      now - instance.pushed >= instance.push_interval_ms;
  if (is_due)
    instance.pushed = now;
  else if (!push.is_last)
    return refuse(ErrorCode::THROTTLING_QUOTA_EXCEEDED);
  if (push.subscription_id != instance.subscription_id) return refuse(ErrorCode::UNKNOWN_SUBSCRIPTION_ID);
  if (push.compression < 0 || push.compression > kCompressionMax) {
    return refuse(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
  }
  if (push.bytes > push_bytes_max_) return refuse(ErrorCode::TELEMETRY_TOO_LARGE);
  return refuse(ErrorCode::NONE);
}

void ClientMetrics::keep(const Uuid& id, std::vector<MetricSeries> series, std::size_t bytes, TimestampMs now) {
  const auto found = instances_.find(id);
  if (found == instances_.end()) return;
  Instance& instance = found->second;
  ++instance.pushes;
  instance.bytes += bytes;
  instance.silent_since = now;
  drop_series(instance);
  if (series.size() > kSeriesMax) series.resize(kSeriesMax);
  instance.series = std::move(series);
  if (instance.series.empty()) return;
  instance.shown_place = shown_.insert(shown_.end(), id);
  shown_bytes_ += bytes_of(instance.series);
  while (shown_bytes_ > kShownBytesMax) {
    const Uuid oldest = shown_.front();
    drop_series(instances_.find(oldest)->second);
  }
}

void ClientMetrics::closed(const void* connection) {
  if (by_connection_.empty()) return;
  const auto found = by_connection_.find(connection);
  if (found == by_connection_.end()) return;
  const Uuid id = found->second;
  forget(id);
}

void ClientMetrics::forget_silent(TimestampMs now) {
  std::vector<Uuid> silent;
  for (const auto& [id, instance] : instances_) {
    const std::int64_t limit = std::max<std::int64_t>(kSilentMs, 3 * std::int64_t{instance.push_interval_ms});
    if (now - instance.silent_since > limit) silent.push_back(id);
  }
  for (const Uuid& id : silent) forget(id);
}

}  // namespace tailrace::broker
