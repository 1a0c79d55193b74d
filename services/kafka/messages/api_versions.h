// ApiVersions (key 18): which keys and versions a broker serves. A request of a version that the broker does not know
// is answered with UNSUPPORTED_VERSION in the layout of version 0 (KIP-511).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

struct ApiVersionsRequest {
  static constexpr MessageInfo kMessage{.name = "ApiVersionsRequest",
                                        .api_key = 18,
                                        .kind = MessageKind::request,
                                        .version_min = 0,
                                        .version_max = 5,
                                        .flexible_from = 3};

  std::string_view client_software_name{};
  std::string_view client_software_version{};
  std::optional<std::string_view> cluster_id{};
  std::int32_t node_id = -1;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("client_software_name", m.client_software_name, since(3));
    v("client_software_version", m.client_software_version, since(3));
    v("cluster_id", m.cluster_id, since(5));
    v("node_id", m.node_id, since(5));
  }
};

struct ApiVersionsResponse {
  static constexpr MessageInfo kMessage{.name = "ApiVersionsResponse",
                                        .api_key = 18,
                                        .kind = MessageKind::response,
                                        .version_min = 0,
                                        .version_max = 5,
                                        .flexible_from = 3};

  struct ApiVersion {
    std::int16_t api_key = 0;
    std::int16_t min_version = 0;
    std::int16_t max_version = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("api_key", m.api_key);
      v("min_version", m.min_version);
      v("max_version", m.max_version);
    }
  };

  struct SupportedFeatureKey {
    std::string_view name{};
    std::int16_t min_version = 0;
    std::int16_t max_version = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("min_version", m.min_version);
      v("max_version", m.max_version);
    }
  };

  struct FinalizedFeatureKey {
    std::string_view name{};
    std::int16_t max_version_level = 0;
    std::int16_t min_version_level = 0;
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("name", m.name);
      v("max_version_level", m.max_version_level);
      v("min_version_level", m.min_version_level);
    }
  };

  std::int16_t error_code = 0;
  std::vector<ApiVersion> api_keys{};
  std::int32_t throttle_time_ms = 0;
  std::vector<SupportedFeatureKey> supported_features{};
  std::int64_t finalized_features_epoch = -1;
  std::vector<FinalizedFeatureKey> finalized_features{};
  bool zk_migration_ready = false;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("error_code", m.error_code);
    v("api_keys", m.api_keys);
    v("throttle_time_ms", m.throttle_time_ms, since(1));
    v.tagged(0, "supported_features", m.supported_features, since(3));
    v.tagged(1, "finalized_features_epoch", m.finalized_features_epoch, since(3), std::int64_t{-1});
    v.tagged(2, "finalized_features", m.finalized_features, since(3));
    v.tagged(3, "zk_migration_ready", m.zk_migration_ready, since(3));
  }
};

}  // namespace tailrace::kafka
