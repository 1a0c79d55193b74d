// ClientMetrics: which clients are to push which of their metrics, and what came of it: Kafka's ClientMetricsManager
// (KIP-714). A subscription chooses its clients by regular expressions (RE2: a pattern cannot cost more than its text);
// a client is the instance that it says it is. What is kept of instances is bounded, and goes with their connection or
// when they are silent for three intervals. PURE.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/types.h"
#include "services/broker/otlp.h"
#include "services/kafka/errors.h"
#include "services/node/client_match.h"
#include "services/node/config.h"

namespace tailrace::broker {

// Who asks, as far as a subscription can choose by it.
struct MetricsClient {
  std::string client_id;
  std::string software_name;
  std::string software_version;
  std::string address;
  std::string port;
  const void* connection = nullptr;  // names it, until closed() says that it is over
};

class ClientMetrics {
 public:
  using Subscriptions = std::map<std::string, node::ConfigMap>;  // MetadataImage::ClientMetrics
  static constexpr std::size_t kInstancesMax = 4096;
  // The last values of an instance, and of all together.
  static constexpr std::size_t kSeriesMax = 200;
  static constexpr std::size_t kShownBytesMax = std::size_t{1} << 20;

  // telemetry.max.bytes
  explicit ClientMetrics(std::size_t push_bytes_max);
  ~ClientMetrics();
  void use(std::shared_ptr<const Subscriptions> subscriptions);

  struct Answer {
    kafka::ErrorCode error = kafka::ErrorCode::NONE;
    Uuid instance{};
    std::int32_t subscription_id = 0;
    std::int32_t push_interval_ms = 0;
    std::vector<std::string> metrics{};  // prefixes of names; "*" alone: all
  };
  // A zero id: the client has none yet and gets `fresh`.
  Answer subscriptions_of(const Uuid& instance, const Uuid& fresh, const MetricsClient& client, TimestampMs now);

  struct Push {
    Uuid instance;
    std::int32_t subscription_id = 0;
    bool is_last = false;
    std::int8_t compression = 0;
    std::size_t bytes = 0;  // compressed
  };
  // Whether what was pushed is to be taken; then keep() is called with it.
  kafka::ErrorCode check_push(const Push& push, const MetricsClient& client, TimestampMs now);
  void keep(const Uuid& instance, std::vector<MetricSeries> series, std::size_t bytes, TimestampMs now);
  void closed(const void* connection);
  void forget_silent(TimestampMs now);

  struct Instance {
    MetricsClient client;
    std::int32_t subscription_id = 0;
    std::int32_t push_interval_ms = 0;
    std::set<std::string> metrics;
    std::uint64_t version = 0;  // of the subscriptions
    TimestampMs asked = kNoTimestamp;
    TimestampMs pushed = kNoTimestamp;
    TimestampMs silent_since = 0;
    bool is_ending = false;
    kafka::ErrorCode last_error = kafka::ErrorCode::NONE;
    std::uint64_t pushes = 0;
    std::uint64_t bytes = 0;
    std::vector<MetricSeries> series;  // as last pushed
    std::list<Uuid>::iterator place;
    std::list<Uuid>::iterator shown_place;  // where it has series
  };
  [[nodiscard]] const std::unordered_map<Uuid, Instance, UuidHash>& instances() const { return instances_; }

 private:
  struct Subscription {
    std::set<std::string> metrics;
    std::int32_t interval_ms = 0;
    std::optional<node::ClientMatch> match;
    [[nodiscard]] bool matches(const Uuid& instance, const MetricsClient& client) const;
  };
  Instance& instance_of(const Uuid& id, const MetricsClient& client, TimestampMs now);
  void subscribe(const Uuid& id, Instance& instance) const;
  void forget(const Uuid& id);
  void drop_series(Instance& instance);

  std::size_t push_bytes_max_;
  std::shared_ptr<const Subscriptions> source_;
  std::vector<Subscription> subscriptions_;
  std::uint64_t version_ = 1;
  std::unordered_map<Uuid, Instance, UuidHash> instances_;
  std::list<Uuid> by_use_;  // the one used longest ago first
  std::list<Uuid> shown_;   // those with series, the one that pushed longest ago first
  std::unordered_map<const void*, Uuid> by_connection_;
  std::size_t shown_bytes_ = 0;
};

}  // namespace tailrace::broker
