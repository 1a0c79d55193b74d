// What a client's wish about quotas comes to (AlterClientQuotas), and which of them a filter names
// (DescribeClientQuotas): Kafka's checks, codes and texts (ClientQuotaControlManager, ClientQuotasImage). Nothing is
// changed here. PURE.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/kafka/messages/alter_client_quotas.h"
#include "services/kafka/messages/describe_client_quotas.h"
#include "services/node/client_quotas.h"
#include "services/node/config.h"
#include "services/zkbridge/topic_plans.h"

namespace tailrace::zkbridge {

// By their nodes' paths below /config (node::quota_path), with whatever else Kafka keeps in the same nodes.
using QuotaNodes = std::map<std::string, node::ConfigMap, std::less<>>;

// One entity of a request; of several entries about one entity, the first. A type that is named twice counts once, as
// it is named last.
struct QuotaWish {
  using Entry = kafka::AlterClientQuotasRequest::EntryData;
  std::vector<std::pair<std::string_view, std::optional<std::string_view>>> entity;  // types and names
  const Entry* entry = nullptr;                                                      // borrowed from the request
  bool is_repeated = false;
};
std::vector<QuotaWish> quota_wishes(const kafka::AlterClientQuotasRequest& request);

// What an entity's node holds afterwards; or why not.
struct QuotaChange {
  std::string path;
  node::ConfigMap values;
};
std::expected<QuotaChange, Refusal> plan_quota(const QuotaNodes& nodes, const QuotaWish& wish);

struct FoundQuota {
  node::QuotaEntity entity;
  std::vector<std::pair<std::string_view, double>> values;
};
std::expected<std::vector<FoundQuota>, Refusal> find_quotas(const QuotaNodes& nodes,
                                                            const kafka::DescribeClientQuotasRequest& request);

// The quotas among a node's values: brokers are not told of the others, which may be secrets.
node::ConfigMap only_quotas(const node::ConfigMap& values);

}  // namespace tailrace::zkbridge
