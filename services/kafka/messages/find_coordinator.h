// FindCoordinator (key 10): which broker coordinates a group (key type 0) or a transactional id (1).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct FindCoordinatorRequest {
  static constexpr MessageInfo kMessage{.name = "FindCoordinatorRequest",
                                        .api_key = 10,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 6,
                                        .flexible_from = 3};

  std::string_view key{};
  std::int8_t key_type = 0;
  std::vector<std::string_view> coordinator_keys{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("key", m.key, until(3));
    v("key_type", m.key_type, since(1));
    v("coordinator_keys", m.coordinator_keys, since(4));
  }
};

struct FindCoordinatorResponse {
  static constexpr MessageInfo kMessage{.name = "FindCoordinatorResponse",
                                        .api_key = 10,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 6,
                                        .flexible_from = 3};

  struct Coordinator {
    std::string_view key{};
    std::int32_t node_id = 0;
    std::string_view host{};
    std::int32_t port = 0;
    std::int16_t error_code = 0;
    std::optional<std::string_view> error_message{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("key", m.key);
      v("node_id", m.node_id);
      v("host", m.host);
      v("port", m.port);
      v("error_code", m.error_code);
      v("error_message", m.error_message);
    }
  };

  std::int32_t throttle_time_ms = 0;
  std::int16_t error_code = 0;
  std::optional<std::string_view> error_message{};
  std::int32_t node_id = 0;
  std::string_view host{};
  std::int32_t port = 0;
  std::vector<Coordinator> coordinators{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("throttle_time_ms", m.throttle_time_ms, since(1));
    v("error_code", m.error_code, until(3));
    v("error_message", m.error_message, since(1).until(3));
    v("node_id", m.node_id, until(3));
    v("host", m.host, until(3));
    v("port", m.port, until(3));
    v("coordinators", m.coordinators, since(4));
  }
};

}  // namespace tailrace::kafka
