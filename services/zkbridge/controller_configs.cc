// The controller's part that changes and tells settings and quotas (controller.h). Requests that change some are
// carried out one after the other: each is judged by what the ones before it have left. The broker that passed a
// request on hears of the new settings before it hears that the request is done, on the same session, so that what its
// client asks next is answered by them.
#include <algorithm>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "engine/base/check.h"
#include "services/kafka/api_table.h"
#include "services/kafka/messages/alter_client_quotas.h"
#include "services/kafka/messages/alter_configs.h"
#include "services/kafka/messages/describe_client_quotas.h"
#include "services/kafka/messages/incremental_alter_configs.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/list_config_resources.h"
#include "services/zkbridge/config_plans.h"
#include "services/zkbridge/controller.h"
#include "services/zkbridge/controller_replies.h"
#include "services/zkbridge/quota_plans.h"
#include "services/zkbridge/tree.h"
#include "services/zkbridge/znodes.h"

namespace tailrace::zkbridge {
namespace {

using kafka::ErrorCode;

constexpr std::int32_t kAlterationTimeoutMs = 60'000;        // these requests bring none of their own
constexpr TimestampMs kConfigChangeLifeMs = 15 * 60 * 1000;  // as in Kafka 3.x: then everybody has seen the notice

// What clients may fill the store with, and the message that tells a broker all of it. A node of ZooKeeper has no more
// than 1 MB either.
constexpr std::size_t kNodeBytesMax = 1'000'000;
constexpr std::size_t kQuotaEntitiesMax = 50'000;
constexpr std::size_t kSubscriptionsMax = 100;
constexpr std::size_t kGroupsMax = 50'000;

// "users/alice", below /config.
std::string entity_path(std::int8_t type, std::string_view name) {
  switch (type) {
    case kafka::kTopicEntity:
      return fmt::format("topics/{}", name);
    case kafka::kBrokerEntity:
      return fmt::format("brokers/{}", name);
    case kafka::kClientMetricsEntity:
      return fmt::format("client-metrics/{}", node::encode_entity_name(name));
    case kafka::kGroupEntity:
      return fmt::format("groups/{}", node::encode_entity_name(name));
    default:
      return std::string(name);
  }
}

std::string parent_of(std::string_view path) { return std::string(path.substr(0, path.rfind('/'))); }

bool is_persistent(std::string_view path) {
  return path == znodes::kConfigs || path == znodes::kClientMetrics || path == znodes::kGroupConfigs ||
         std::ranges::any_of(znodes::persistent_paths(), [&](const char* p) { return path == p; });
}

// Kinds of which there are as many as clients like: a node without settings goes.
bool is_removable(std::int8_t type) {
  return type == kafka::kQuotaEntity || type == kafka::kClientMetricsEntity || type == kafka::kGroupEntity;
}

// Whether more than `known` nodes are below `path`.
bool has_more_below(const std::set<std::string, std::less<>>& paths, const std::string& path, std::size_t known) {
  const std::string prefix = path + "/";
  auto next = paths.lower_bound(prefix);
  for (std::size_t i = 0; next != paths.end() && next->starts_with(prefix); ++i, ++next) {
    if (i == known) return true;
  }
  return false;
}

}  // namespace

// -- The store -----------------------------------------------------------------------------------------------------

void Controller::load_config(const TreeNode& node) {
  const std::string_view path = node.path;
  if (path.starts_with(znodes::kConfigChange)) {
    config_changes_.emplace_back(node.path, node.stat.created_ms);
    return;
  }
  config_paths_.insert(node.path);
  auto configs = znodes::parse_config(node.data.value_or(""));
  if (!configs) return;
  const std::string_view entity = path.substr(std::string_view(znodes::kConfigs).size() + 1);
  constexpr std::string_view kBrokersPrefix = "brokers/";
  constexpr std::string_view kClientMetricsPrefix = "client-metrics/";
  constexpr std::string_view kGroupsPrefix = "groups/";
  if (entity.starts_with(kBrokersPrefix)) {
    cluster_.broker_configs[std::string(entity.substr(kBrokersPrefix.size()))] = *std::move(configs);
  } else if (entity.starts_with(kClientMetricsPrefix)) {
    const auto name = node::decode_entity_name(entity.substr(kClientMetricsPrefix.size()));
    if (name && !configs->empty()) cluster_.client_metrics[*name] = *std::move(configs);
  } else if (entity.starts_with(kGroupsPrefix)) {
    const auto name = node::decode_entity_name(entity.substr(kGroupsPrefix.size()));
    if (name && !configs->empty()) cluster_.group_configs[*name] = *std::move(configs);
  } else if (node::parse_quota_path(entity) && !configs->empty()) {
    cluster_.client_configs[std::string(entity)] = *std::move(configs);
  }
}

node::ConfigMap Controller::configs_of(const ConfigEntity& entity) const {
  const auto in = [&](const auto& map) {
    const auto at = map.find(entity.name);
    return at == map.end() ? node::ConfigMap{} : at->second;
  };
  if (entity.type == kafka::kBrokerEntity) return in(cluster_.broker_configs);
  if (entity.type == kafka::kClientMetricsEntity) return in(cluster_.client_metrics);
  if (entity.type == kafka::kGroupEntity) return in(cluster_.group_configs);
  if (entity.type == kafka::kQuotaEntity) return in(cluster_.client_configs);
  const auto topic = cluster_.topics.find(entity.name);
  return topic == cluster_.topics.end() ? node::ConfigMap{} : topic->second.configs;
}

// What the store cannot take, or not any more of it.
std::optional<Refusal> Controller::refuse_to_store(const ConfigEntity& entity, const node::ConfigMap& configs) const {
  if (configs.empty()) return std::nullopt;
  const std::string path = fmt::format("{}/{}", znodes::kConfigs, entity_path(entity.type, entity.name));
  if (!is_path(path)) {
    return Refusal{ErrorCode::INVALID_REQUEST, "The name is too long, or one that the metadata cannot hold."};
  }
  if (znodes::config_json(configs).size() > kNodeBytesMax) {
    return Refusal{ErrorCode::POLICY_VIOLATION,
                   fmt::format("The settings of one resource may not take more than {} bytes.", kNodeBytesMax)};
  }
  const auto is_one_too_many = [&](const auto& map, std::size_t max) {
    return map.size() >= max && !map.contains(entity.name);
  };
  if ((entity.type == kafka::kQuotaEntity && is_one_too_many(cluster_.client_configs, kQuotaEntitiesMax)) ||
      (entity.type == kafka::kClientMetricsEntity && is_one_too_many(cluster_.client_metrics, kSubscriptionsMax)) ||
      (entity.type == kafka::kGroupEntity && is_one_too_many(cluster_.group_configs, kGroupsMax))) {
    return Refusal{ErrorCode::POLICY_VIOLATION, "There are as many of these as there may be."};
  }
  return std::nullopt;
}

// The entity's node with its settings, and the notice by which Kafka 3.x's brokers hear of it, last.
std::vector<Operation> Controller::config_operations(StoreConfig& step) {
  const std::string path = fmt::format("{}/{}", znodes::kConfigs, entity_path(step.entity.type, step.entity.name));
  const bool is_topic = step.entity.type == kafka::kTopicEntity;
  const bool is_there = is_topic ? cluster_.topics[step.entity.name].has_config_node : config_paths_.contains(path);
  std::vector<Operation> operations;
  if (step.configs.empty() && is_removable(step.entity.type) && !has_more_below(config_paths_, path, 0)) {
    // With the nodes above it that hold nothing else.
    for (std::string gone = path; config_paths_.contains(gone) && !is_persistent(gone) &&
                                  !has_more_below(config_paths_, gone, step.removed.size());
         gone = parent_of(gone)) {
      const std::string_view entity = std::string_view(gone).substr(std::string_view(znodes::kConfigs).size() + 1);
      if (gone != path && cluster_.client_configs.contains(entity)) break;
      operations.push_back(Remove{gone});
      step.removed.push_back(gone);
    }
  } else if (is_there) {
    operations.push_back(Set{path, znodes::config_json(step.configs)});
  } else {
    if (!is_topic) {
      step.made.push_back(path);
      for (std::string parent = parent_of(path); !config_paths_.contains(parent) && parent != znodes::kConfigs;
           parent = parent_of(parent)) {
        step.made.push_back(parent);
      }
      std::ranges::reverse(step.made);
      for (const std::string& made : step.made) {
        if (made != path) operations.push_back(Create{made, std::nullopt});
      }
    }
    operations.push_back(Create{path, znodes::config_json(step.configs)});
  }
  // Kafka 3.x's brokers would not know what to do with one of the others.
  if (step.entity.type != kafka::kClientMetricsEntity && step.entity.type != kafka::kGroupEntity) {
    operations.push_back(Create{znodes::kConfigChange,
                                znodes::config_change_json(entity_path(step.entity.type, step.entity.name)),
                                CreateMode::sequential});
  }
  return operations;
}

void Controller::change_config(ConfigEntity entity, node::ConfigMap configs, bool validate_only, OutcomeRef outcome) {
  if (auto refusal = refuse_to_store(entity, configs)) {
    return decide(outcome, refusal->code, std::move(refusal->message));
  }
  if (validate_only || configs_of(entity) == configs) return decide(outcome, ErrorCode::NONE);
  StoreConfig step{std::move(entity), znodes::as_stored(configs), outcome, {}, {}};
  std::vector<Operation> operations = config_operations(step);
  ++configs_storing_;
  change(std::move(step), std::move(operations));
}

void Controller::on_step(StoreConfig& step, StoreResult& result, const Moment& moment) {
  if (went_wrong(result, "storing settings")) return;
  --configs_storing_;
  if (result.code != StoreCode::ok) {
    decide(step.outcome, ErrorCode::KAFKA_STORAGE_ERROR, kDiskFull);
  } else {
    const std::string& notice = result.operations.back().path;
    if (notice.starts_with(znodes::kConfigChange)) config_changes_.emplace_back(notice, moment.wall_ms);
    apply_config(step);
    decide(step.outcome, ErrorCode::NONE);
  }
  go_on_altering(moment);
}

void Controller::apply_config(StoreConfig& step) {
  for (const std::string& path : step.removed) config_paths_.erase(path);
  config_paths_.insert(step.made.begin(), step.made.end());
  const ConfigEntity& entity = step.entity;
  note(fmt::format("settings_changed entity={}", entity_path(entity.type, entity.name)));
  send_config(config_image(entity.type, entity.name, step.configs));
  const auto put = [&](auto& map) {
    if (step.configs.empty() && is_removable(entity.type)) {
      map.erase(entity.name);
    } else {
      map[entity.name] = std::move(step.configs);
    }
  };
  if (entity.type == kafka::kBrokerEntity) return put(cluster_.broker_configs);
  if (entity.type == kafka::kClientMetricsEntity) return put(cluster_.client_metrics);
  if (entity.type == kafka::kGroupEntity) return put(cluster_.group_configs);
  if (entity.type == kafka::kQuotaEntity) return put(cluster_.client_configs);
  Topic& topic = cluster_.topics[entity.name];  // its deletion comes later, and removes the node
  topic.has_config_node = true;
  topic.configs = std::move(step.configs);
}

void Controller::forget_config_changes(const Moment& moment) {
  while (!config_changes_.empty() && config_changes_.front().second + kConfigChangeLifeMs < moment.wall_ms) {
    change(ForgetConfigChange{}, {Remove{std::move(config_changes_.front().first)}});
    config_changes_.pop_front();
  }
}

void Controller::on_step(const ForgetConfigChange&, StoreResult& result, const Moment&) {
  if (result.code != StoreCode::no_node) went_wrong(result, "forgetting old changes of settings");
}

// -- Changing ------------------------------------------------------------------------------------------------------

void Controller::take_alteration(AdminRequest request, Bytes body) {
  Alteration alteration;
  alteration.body.assign(body.begin(), body.end());
  const auto decode = [&]<class M>(std::type_identity<M>) -> std::optional<M> {
    if (!M::kMessage.knows(request.version)) return std::nullopt;
    auto message = kafka::decode<M>(alteration.body, request.version);
    return message ? std::optional(*std::move(message)) : std::nullopt;
  };
  const auto take_configs = [&](const auto& message) {
    if (!message) return false;
    alteration.config_wishes = config_wishes(*message);
    alteration.validate_only = message->validate_only;
    request.outcomes.resize(alteration.config_wishes.size());
    return true;
  };
  const auto take_quotas = [&](auto message) {
    if (!message) return false;
    alteration.quotas = *std::move(message);
    alteration.quota_wishes = quota_wishes(alteration.quotas);
    alteration.validate_only = alteration.quotas.validate_only;
    request.outcomes.resize(alteration.quota_wishes.size());
    return true;
  };
  const bool is_sound = request.key == kafka::api_key::kAlterConfigs
                            ? take_configs(decode(std::type_identity<kafka::AlterConfigsRequest>{}))
                        : request.key == kafka::api_key::kIncrementalAlterConfigs
                            ? take_configs(decode(std::type_identity<kafka::IncrementalAlterConfigsRequest>{}))
                            : take_quotas(decode(std::type_identity<kafka::AlterClientQuotasRequest>{}));
  if (!is_sound || request.outcomes.size() > kItemsMax) return refuse_frame(request.client, request.number);
  const std::size_t outcomes = request.outcomes.size();
  request.body = alteration.body;
  const std::uint64_t id = alteration.request = keep(std::move(request), kAlterationTimeoutMs);
  if (outcomes == 0) return answer_if_decided(id);
  if (phase_ == Phase::active) {
    alterations_.push_back(std::move(alteration));
    return;
  }
  for (std::size_t i = 0; i < outcomes; ++i) decide({id, i}, ErrorCode::NOT_CONTROLLER, kNotActive);
}

// What is in the store's hands may have made or removed nodes that the next change needs, so that one waits. Those of
// topics and brokers have nothing in common, and a request names each once: they go together.
void Controller::go_on_altering(const Moment& moment) {
  while (!alterations_.empty()) {
    Alteration& first = alterations_.front();
    const bool is_about_quotas = !first.quota_wishes.empty();
    const std::size_t count = is_about_quotas ? first.quota_wishes.size() : first.config_wishes.size();
    // A client that is gone, or whose time was over, is not heard of any more.
    if (first.next == count || !requests_.contains(first.request)) {
      if (configs_storing_ != 0) return;
      alterations_.pop_front();
      continue;
    }
    const OutcomeRef outcome{first.request, first.next};
    if (is_about_quotas) {
      if (configs_storing_ != 0) return;
      forget_config_changes(moment);
      alter_quota(first.quota_wishes[first.next++], first.validate_only, outcome);
    } else {
      const ConfigWish& wish = first.config_wishes[first.next];
      const bool goes_alone = wish.type == resource_type::kClientMetrics || wish.type == resource_type::kGroup;
      if (configs_storing_ != 0 && goes_alone) return;
      forget_config_changes(moment);
      ++first.next;
      alter_config(wish, first.validate_only, outcome);
    }
  }
}

void Controller::alter_config(const ConfigWish& wish, bool validate_only, OutcomeRef outcome) {
  auto configs = plan_config({cluster_, broker_configs(), options_.node_id}, wish);
  if (!configs) return decide(outcome, configs.error().code, std::move(configs.error().message));
  if (wish.type == resource_type::kLogger) return decide(outcome, ErrorCode::NONE);
  const bool all_brokers = wish.type == resource_type::kBroker && wish.name.empty();
  change_config({wish.type, std::string(all_brokers ? kAllBrokers : wish.name)}, *std::move(configs), validate_only,
                outcome);
}

void Controller::alter_quota(const QuotaWish& wish, bool validate_only, OutcomeRef outcome) {
  auto planned = plan_quota(cluster_.client_configs, wish);
  if (!planned) return decide(outcome, planned.error().code, std::move(planned.error().message));
  change_config({kafka::kQuotaEntity, std::move(planned->path)}, std::move(planned->values), validate_only, outcome);
}

kafka::Buffer Controller::answer_alteration(const AdminRequest& request) const {
  const auto frame = [&](const auto& response) {
    return response_frame(response, request.key, request.version, request.correlation_id);
  };
  const auto tell = [&](auto& result, const Outcome& outcome) {
    result.error_code = kafka::wire(outcome.code);
    if (outcome.message) result.error_message = *outcome.message;
  };
  if (request.key == kafka::api_key::kAlterClientQuotas) {
    const auto asked = *kafka::decode<kafka::AlterClientQuotasRequest>(request.body, request.version);
    const std::vector<QuotaWish> wishes = quota_wishes(asked);
    kafka::AlterClientQuotasResponse response;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      auto& result = response.entries.emplace_back();
      tell(result, request.outcomes[i]);
      for (const auto& [type, name] : wishes[i].entity)
        result.entity.push_back({.entity_type = type, .entity_name = name});
    }
    return frame(response);
  }
  const auto answer_to = [&](auto response, const auto& asked) {
    for (std::size_t i = 0; i < asked.resources.size(); ++i) {
      auto& result = response.responses.emplace_back();
      tell(result, request.outcomes[i]);
      result.resource_type = asked.resources[i].resource_type;
      result.resource_name = asked.resources[i].resource_name;
    }
    return frame(response);
  };
  if (request.key == kafka::api_key::kAlterConfigs) {
    return answer_to(kafka::AlterConfigsResponse{},
                     *kafka::decode<kafka::AlterConfigsRequest>(request.body, request.version));
  }
  return answer_to(kafka::IncrementalAlterConfigsResponse{},
                   *kafka::decode<kafka::IncrementalAlterConfigsRequest>(request.body, request.version));
}

// -- Telling -------------------------------------------------------------------------------------------------------

void Controller::describe_quotas(const AdminRequest& request, Bytes body) {
  using Message = kafka::DescribeClientQuotasRequest;
  using Response = kafka::DescribeClientQuotasResponse;
  if (!Message::kMessage.knows(request.version)) return refuse_frame(request.client, request.number);
  const auto asked = kafka::decode<Message>(body, request.version);
  if (!asked) return refuse_frame(request.client, request.number);
  Response response;
  auto found = phase_ == Phase::active ? find_quotas(cluster_.client_configs, *asked)
                                       : std::unexpected(Refusal{ErrorCode::NOT_CONTROLLER, kNotActive});
  if (!found) {
    response.error_code = kafka::wire(found.error().code);
    response.error_message = found.error().message;
    return reply(request, response_frame(response, request.key, request.version, request.correlation_id));
  }
  response.error_message = "";
  response.entries.emplace();
  for (const FoundQuota& quota : *found) {
    Response::EntryData& entry = response.entries->emplace_back();
    const auto add = [&](std::string_view type, const std::optional<node::QuotaName>& part) {
      if (!part) return;
      auto& entity = entry.entity.emplace_back();
      entity.entity_type = type;
      if (part->name) entity.entity_name = *part->name;
    };
    add("client-id", quota.entity.client_id);
    add("user", quota.entity.user);
    add("ip", quota.entity.ip);
    for (const auto& [key, value] : quota.values) entry.values.push_back({.key = key, .value = value});
  }
  reply(request, response_frame(response, request.key, request.version, request.correlation_id));
}

// Version 0 is ListClientMetricsResources.
void Controller::list_config_resources(const AdminRequest& request, Bytes body) {
  using Message = kafka::ListConfigResourcesRequest;
  if (!Message::kMessage.knows(request.version)) return refuse_frame(request.client, request.number);
  const auto asked = kafka::decode<Message>(body, request.version);
  if (!asked) return refuse_frame(request.client, request.number);
  using namespace resource_type;
  std::set<std::int8_t> types(asked->resource_types.begin(), asked->resource_types.end());
  if (request.version == 0) types = {kClientMetrics};
  if (types.empty()) types = {kTopic, kBroker, kLogger, kClientMetrics, kGroup};
  kafka::ListConfigResourcesResponse response;
  const bool is_known = std::ranges::all_of(types, [](std::int8_t type) {
    return type == kTopic || type == kBroker || type == kLogger || type == kClientMetrics || type == kGroup;
  });
  std::vector<std::string> brokers;  // what the response's views point into
  for (const auto& [id, broker] : cluster_.brokers) brokers.push_back(std::to_string(id));
  if (phase_ != Phase::active) {
    response.error_code = kafka::wire(ErrorCode::NOT_CONTROLLER);
  } else if (!is_known) {
    response.error_code = kafka::wire(ErrorCode::UNSUPPORTED_VERSION);
  } else {
    const auto add = [&](std::string_view name, std::int8_t type) {
      response.config_resources.push_back({.resource_name = name, .resource_type = type});
    };
    if (types.contains(kClientMetrics)) {
      for (const auto& [name, configs] : cluster_.client_metrics) add(name, kClientMetrics);
    }
    for (const std::int8_t type : {kLogger, kBroker}) {
      if (!types.contains(type)) continue;
      for (const std::string& name : brokers) add(name, type);
    }
    if (types.contains(kGroup)) {
      for (const auto& [name, configs] : cluster_.group_configs) add(name, kGroup);
    }
    if (types.contains(kTopic)) {
      for (const auto& [name, topic] : cluster_.topics) {
        if (!topic.is_creating && !topic.is_deleting) add(name, kTopic);
      }
    }
  }
  reply(request, response_frame(response, request.key, request.version, request.correlation_id));
}

}  // namespace tailrace::zkbridge
