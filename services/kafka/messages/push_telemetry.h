// PushTelemetry (key 72, KIP-714): a client's metrics, as OTLP's MetricsData, packed as compression_type tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct PushTelemetryRequest {
  static constexpr MessageInfo kMessage{.name = "PushTelemetryRequest",
                                        .api_key = 72,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  Uuid client_instance_id{};
  std::int32_t subscription_id = 0;
  bool terminating = false;
  std::int8_t compression_type = 0;
  Bytes metrics{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("client_instance_id", m.client_instance_id);
    v("subscription_id", m.subscription_id);
    v("terminating", m.terminating);
    v("compression_type", m.compression_type);
    v("metrics", m.metrics);
  }
};

struct PushTelemetryResponse {
  static constexpr MessageInfo kMessage{.name = "PushTelemetryResponse",
                                        .api_key = 72,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code);
  }
};

}  // namespace tailrace::kafka
