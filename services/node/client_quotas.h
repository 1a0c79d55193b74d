// Client quotas as they are set: which users, client ids and addresses may do how much. Which of them counts for a
// connection, and what happens then, is the broker's business. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/node/config.h"

namespace tailrace::node {

// A name in an entity; without one it is the default of all that have no entry of their own.
struct QuotaName {
  std::optional<std::string> name{};
  friend auto operator<=>(const QuotaName&, const QuotaName&) = default;
};

// What quotas are set for: users, client ids, both, or (alone) IP addresses (KIP-13, KIP-55, KIP-612).
struct QuotaEntity {
  std::optional<QuotaName> user{};
  std::optional<QuotaName> client_id{};
  std::optional<QuotaName> ip{};
  friend auto operator<=>(const QuotaEntity&, const QuotaEntity&) = default;
};

// Unset: this entity says nothing about it, and a less specific one counts.
struct ClientQuota {
  QuotaEntity entity;
  std::optional<double> producer_byte_rate{};        // bytes per second
  std::optional<double> consumer_byte_rate{};        // bytes per second
  std::optional<double> request_percentage{};        // of one thread's time
  std::optional<double> controller_mutation_rate{};  // partitions made or deleted per second (KIP-599)
  std::optional<double> connection_creation_rate{};  // per second, of addresses
  friend bool operator==(const ClientQuota&, const ClientQuota&) = default;
};

// Names as they stand in the tree (Kafka's Sanitizer): percent-encoded. nullopt: not such a name.
std::string encode_entity_name(std::string_view name);
std::optional<std::string> decode_entity_name(std::string_view encoded);

// The entity's node below /config in Kafka 3.x's tree: "users/NAME", "users/NAME/clients/NAME", "clients/NAME",
// "ips/NAME"; "<default>" stands for the default.
std::string quota_path(const QuotaEntity& entity);
// nullopt: not such a path.
std::optional<QuotaEntity> parse_quota_path(std::string_view path);

// Keys that are no quotas (SCRAM credentials lie in the same nodes) and values that are no numbers are passed over;
// nullopt where nothing is left.
std::optional<ClientQuota> client_quota(std::string_view path, const ConfigMap& values);

}  // namespace tailrace::node
