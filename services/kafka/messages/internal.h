// Messages of our own, in the clothes of Kafka's, for the sessions between tailrace-zkbridge and the other processes of
// a node. They never leave the machine, and all processes come from one build, so they have one version.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/kafka/describe.h"

namespace tailrace::kafka {

// Keys of internal messages: beyond Kafka's, so that a frame names its kind by its key alone.
constexpr std::int16_t kConfigImageKey = 1000;
constexpr std::int16_t kNodeRegistrationKey = 1001;

constexpr std::int8_t kTopicEntity = 2;   // the numbers of Kafka's ConfigResource.Type
constexpr std::int8_t kBrokerEntity = 4;  // the name is a broker id, or empty for the defaults of all brokers
constexpr std::int8_t kClientMetricsEntity = 16;
constexpr std::int8_t kGroupEntity = 32;
constexpr std::int8_t kQuotaEntity = 100;  // none of Kafka's numbers; the name is node::quota_path

// zkbridge tells the other processes which settings differ from server.properties: the whole of it at the start of a
// session, and each changed entity after that. An entity carries all of its entries.
struct ConfigImage {
  static constexpr MessageInfo kMessage{.name = "ConfigImage",
                                        .api_key = kConfigImageKey,
                                        .kind = MessageKind::internal,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct Entry {
    std::string_view key{};
    std::optional<std::string_view> value{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("key", m.key);
      v("value", m.value);
    }
  };

  struct Entity {
    std::int8_t type = 0;
    std::string_view name{};
    std::vector<Entry> entries{};
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("type", m.type);
      v("name", m.name);
      v("entries", m.entries);
    }
  };

  bool is_whole = false;  // entities that are not in it have no settings of their own
  std::vector<Entity> entities{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("is_whole", m.is_whole);
    v("entities", m.entities);
  }
};

// The broker tells zkbridge under which names clients reach it, once its listeners are open. zkbridge registers the
// node with the controller and answers.
struct NodeRegistrationRequest {
  static constexpr MessageInfo kMessage{.name = "NodeRegistrationRequest",
                                        .api_key = kNodeRegistrationKey,
                                        .kind = MessageKind::internal,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  struct Endpoint {
    std::string_view listener{};
    std::string_view host{};
    std::int32_t port = 0;
    std::int16_t security_protocol = 0;  // as in UpdateMetadata: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
    UnknownTaggedFields unknown_tagged_fields{};

    template <class M, class V>
    static void describe(M& m, V& v) {
      v("listener", m.listener);
      v("host", m.host);
      v("port", m.port);
      v("security_protocol", m.security_protocol);
    }
  };

  std::vector<Endpoint> endpoints{};
  std::optional<std::string_view> rack{};
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("endpoints", m.endpoints);
    v("rack", m.rack);
  }
};

struct NodeRegistrationResponse {
  static constexpr MessageInfo kMessage{.name = "NodeRegistrationResponse",
                                        .api_key = kNodeRegistrationKey,
                                        .kind = MessageKind::internal,
                                        .version_min = 0,
                                        .version_max = 0,
                                        .flexible_from = 0};

  std::int16_t error_code = 0;
  std::string_view cluster_id{};
  std::int32_t broker_id = -1;
  std::int64_t broker_epoch = -1;
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("error_code", m.error_code);
    v("cluster_id", m.cluster_id);
    v("broker_id", m.broker_id);
    v("broker_epoch", m.broker_epoch);
  }
};

}  // namespace tailrace::kafka
