// AllocateProducerIds (key 67): a block of producer ids for a broker. Between nodes only.
#pragma once

#include <cstdint>
#include <string_view>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct AllocateProducerIdsRequest {
  static constexpr MessageInfo kMessage{.name = "AllocateProducerIdsRequest",
                                        .api_key = 67,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  std::int32_t broker_id = 0;
  std::int64_t broker_epoch = -1;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("broker_id", m.broker_id);
    v("broker_epoch", m.broker_epoch);
  }
};

struct AllocateProducerIdsResponse {
  static constexpr MessageInfo kMessage{.name = "AllocateProducerIdsResponse",
                                        .api_key = 67,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::int64_t producer_id_start = 0;
  std::int32_t producer_id_len = 0;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code);
    v("producer_id_start", m.producer_id_start);
    v("producer_id_len", m.producer_id_len);
  }
};

}  // namespace tailrace::kafka
