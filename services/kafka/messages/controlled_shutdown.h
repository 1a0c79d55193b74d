// ControlledShutdown (key 7): a broker asks the controller to move its leaders before it stops. Between nodes only.
// Version 0 has a request header without client id.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ControlledShutdownRequest {
  static constexpr MessageInfo kMessage{.name = "ControlledShutdownRequest",
                                        .api_key = 7,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 3,
                                        .flexible_from = 3};

  std::int32_t broker_id = 0;
  std::int64_t broker_epoch = -1;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("broker_id", m.broker_id);
    v("broker_epoch", m.broker_epoch, since(2));
  }
};

struct ControlledShutdownResponse {
  static constexpr MessageInfo kMessage{.name = "ControlledShutdownResponse",
                                        .api_key = 7,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 3,
                                        .flexible_from = 3};

  struct RemainingPartition {
    std::string_view topic_name{};
    std::int32_t partition_index = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("topic_name", m.topic_name);
      v("partition_index", m.partition_index);
    }
  };

  std::int16_t error_code = 0;
  std::vector<RemainingPartition> remaining_partitions{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("error_code", m.error_code);
    v("remaining_partitions", m.remaining_partitions);
  }
};

}  // namespace tailrace::kafka
