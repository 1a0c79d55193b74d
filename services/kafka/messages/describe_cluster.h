// DescribeCluster (key 60): cluster id, controller and brokers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct DescribeClusterRequest {
  static constexpr MessageInfo kMessage{.name = "DescribeClusterRequest",
                                        .api_key = 60,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 2,
                                        .flexible_from = 0};

  bool include_cluster_authorized_operations = false;
  std::int8_t endpoint_type = 1;
  bool include_fenced_brokers = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("include_cluster_authorized_operations", m.include_cluster_authorized_operations);
    v("endpoint_type", m.endpoint_type, since(1));
    v("include_fenced_brokers", m.include_fenced_brokers, since(2));
  }
};

struct DescribeClusterResponse {
  static constexpr MessageInfo kMessage{.name = "DescribeClusterResponse",
                                        .api_key = 60,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 2,
                                        .flexible_from = 0};

  struct DescribeClusterBroker {
    std::int32_t broker_id = 0;
    std::string_view host{};
    std::int32_t port = 0;
    std::optional<std::string_view> rack{};
    bool is_fenced = false;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("broker_id", m.broker_id);
      v("host", m.host);
      v("port", m.port);
      v("rack", m.rack);
      v("is_fenced", m.is_fenced, since(2));
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::optional<std::string_view> error_message{};
  std::int8_t endpoint_type = 1;
  std::string_view cluster_id{};
  std::int32_t controller_id = -1;
  std::vector<DescribeClusterBroker> brokers{};
  std::int32_t cluster_authorized_operations = kInt32Min;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms);
    v("error_code", m.error_code);
    v("error_message", m.error_message);
    v("endpoint_type", m.endpoint_type, since(1));
    v("cluster_id", m.cluster_id);
    v("controller_id", m.controller_id);
    v("brokers", m.brokers);
    v("cluster_authorized_operations", m.cluster_authorized_operations);
  }
};

}  // namespace tailrace::kafka
