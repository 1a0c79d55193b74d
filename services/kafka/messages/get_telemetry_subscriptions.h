// GetTelemetrySubscriptions (key 71, KIP-714): what metrics a client shall push, and how often. The id is zero in the
// first request of a client.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct GetTelemetrySubscriptionsRequest {
  static constexpr MessageInfo kMessage{.name = "GetTelemetrySubscriptionsRequest",
                                        .api_key = 71,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  Uuid client_instance_id{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("client_instance_id", m.client_instance_id);
  }
};

struct GetTelemetrySubscriptionsResponse {
  static constexpr MessageInfo kMessage{.name = "GetTelemetrySubscriptionsResponse",
                                        .api_key = 71,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  Uuid client_instance_id{};
  std::int32_t subscription_id = 0;
  std::vector<std::int8_t> accepted_compression_types{};
  std::int32_t push_interval_ms = 0;
  std::int32_t telemetry_max_bytes = 0;
  bool delta_temporality = false;
  std::vector<std::string_view> requested_metrics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code);
    v("client_instance_id", m.client_instance_id);
    v("subscription_id", m.subscription_id);
    v("accepted_compression_types", m.accepted_compression_types);
    v("push_interval_ms", m.push_interval_ms);
    v("telemetry_max_bytes", m.telemetry_max_bytes);
    v("delta_temporality", m.delta_temporality);
    v("requested_metrics", m.requested_metrics);
  }
};

}  // namespace tailrace::kafka
