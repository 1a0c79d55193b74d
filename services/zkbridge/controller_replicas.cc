// The controller's part that moves partitions and elects leaders when somebody asks for it (controller.h). On a node of
// its own there is nowhere to move a partition to and nobody else to lead it: what is left are the answers of a Kafka
// with one broker (ReplicationControlManager).
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "services/kafka/api_table.h"
#include "services/kafka/messages/alter_partition_reassignments.h"
#include "services/kafka/messages/elect_leaders.h"
#include "services/kafka/messages/list_partition_reassignments.h"
#include "services/zkbridge/controller.h"
#include "services/zkbridge/controller_replies.h"

namespace tailrace::zkbridge {
namespace {

using kafka::ErrorCode;

enum class Election : std::int8_t { preferred = 0, unclean = 1 };

const Topic* find_topic(const Cluster& cluster, std::string_view name) {
  const auto at = cluster.topics.find(name);
  return at == cluster.topics.end() || at->second.is_creating || at->second.is_deleting ? nullptr : &at->second;
}

const PartitionState* find_partition(const Topic& topic, std::int32_t index) {
  const auto at = static_cast<std::size_t>(index);
  return index < 0 || at >= topic.partitions.size() ? nullptr : &topic.partitions[at];
}

std::optional<Refusal> refuse_reassignment(const Cluster& cluster, std::string_view name, std::int32_t index,
                                           const std::optional<std::vector<BrokerId>>& replicas) {
  const Topic* const topic = find_topic(cluster, name);
  if (topic == nullptr) {
    return Refusal{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, fmt::format("Unable to find a topic named {}.", name)};
  }
  const PartitionState* const partition = find_partition(*topic, index);
  if (partition == nullptr) {
    return Refusal{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, fmt::format("Unable to find partition {}:{}.", name, index)};
  }
  if (!replicas) return Refusal{ErrorCode::NO_REASSIGNMENT_IN_PROGRESS, {}};
  if (auto refusal = refuse_replicas(cluster, *replicas, std::nullopt)) return refusal;
  if (*replicas == partition->replicas) return std::nullopt;
  return Refusal{ErrorCode::INVALID_REPLICA_ASSIGNMENT, "The partitions of a node on its own cannot be moved."};
}

// Nobody is elected here: why not.
Refusal refuse_election(const Cluster& cluster, Election election, std::string_view name, std::int32_t index) {
  const Topic* const topic = find_topic(cluster, name);
  if (topic == nullptr) {
    return Refusal{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, fmt::format("No such topic as {}", name)};
  }
  const PartitionState* const partition = find_partition(*topic, index);
  if (partition == nullptr) {
    return Refusal{ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, fmt::format("No such partition as {}-{}", name, index)};
  }
  const bool is_led = cluster.brokers.contains(partition->leader);
  const bool by_preferred = !partition->replicas.empty() && partition->leader == partition->replicas.front();
  if (is_led && (election == Election::unclean || by_preferred)) {
    return Refusal{ErrorCode::ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."};
  }
  // A replica that could lead does already (move_leaders).
  return election == Election::preferred
             ? Refusal{ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available."}
             : Refusal{ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE,
                       "Eligible topic partition leaders are not available."};
}

// Topics and partitions.
template <class Topics>
std::size_t count_items(const Topics& topics) {
  std::size_t count = 0;
  for (const auto& topic : topics) count += 1 + topic.partitions.size();
  return count;
}

}  // namespace

void Controller::alter_reassignments(const AdminRequest& request, Bytes body) {
  using Message = kafka::AlterPartitionReassignmentsRequest;
  if (!Message::kMessage.knows(request.version)) return refuse_frame(request.client, request.number);
  const auto asked = kafka::decode<Message>(body, request.version);
  if (!asked || count_items(asked->topics) > kItemsMax) return refuse_frame(request.client, request.number);
  kafka::AlterPartitionReassignmentsResponse response;
  response.allow_replication_factor_change = asked->allow_replication_factor_change;
  std::deque<std::string> texts;  // what the response's views point into
  if (phase_ != Phase::active) {
    response.error_code = kafka::wire(ErrorCode::NOT_CONTROLLER);
    response.error_message = kNotActive;
  } else {
    for (const auto& topic : asked->topics) {
      auto& results = response.responses.emplace_back();
      results.name = topic.name;
      for (const auto& partition : topic.partitions) {
        auto& result = results.partitions.emplace_back();
        result.partition_index = partition.partition_index;
        auto refusal = refuse_reassignment(cluster_, topic.name, partition.partition_index, partition.replicas);
        if (!refusal) continue;
        result.error_code = kafka::wire(refusal->code);
        if (!refusal->message.empty()) result.error_message = texts.emplace_back(std::move(refusal->message));
      }
    }
  }
  reply(request, response_frame(response, request.key, request.version, request.correlation_id));
}

void Controller::list_reassignments(const AdminRequest& request, Bytes body) {
  using Message = kafka::ListPartitionReassignmentsRequest;
  if (!Message::kMessage.knows(request.version)) return refuse_frame(request.client, request.number);
  if (!kafka::decode<Message>(body, request.version)) return refuse_frame(request.client, request.number);
  kafka::ListPartitionReassignmentsResponse response;
  if (phase_ != Phase::active) {
    response.error_code = kafka::wire(ErrorCode::NOT_CONTROLLER);
    response.error_message = kNotActive;
  }
  reply(request, response_frame(response, request.key, request.version, request.correlation_id));
}

void Controller::elect_leaders(const AdminRequest& request, Bytes body) {
  using Message = kafka::ElectLeadersRequest;
  if (!Message::kMessage.knows(request.version)) return refuse_frame(request.client, request.number);
  const auto asked = kafka::decode<Message>(body, request.version);
  if (!asked || (asked->topic_partitions && count_items(*asked->topic_partitions) > kItemsMax)) {
    return refuse_frame(request.client, request.number);
  }
  kafka::ElectLeadersResponse response;
  std::deque<std::string> texts;  // what the response's views point into
  const auto add = [&](auto& results, std::int32_t index, ErrorCode code, std::string message) {
    results.partition_result.push_back({.partition_id = index,
                                        .error_code = kafka::wire(code),
                                        .error_message = texts.emplace_back(std::move(message))});
  };
  const Election election{asked->election_type};
  const bool is_known = election == Election::preferred || election == Election::unclean;
  const ErrorCode trouble = phase_ != Phase::active ? ErrorCode::NOT_CONTROLLER
                            : is_known              ? ErrorCode::NONE
                                                    : ErrorCode::INVALID_REQUEST;
  response.error_code = kafka::wire(trouble);
  if (asked->topic_partitions) {
    for (const auto& topic : *asked->topic_partitions) {
      auto& results = response.replica_election_results.emplace_back();
      results.topic = topic.topic;
      for (const std::int32_t index : topic.partitions) {
        if (trouble != ErrorCode::NONE) {
          add(results, index, trouble,
              trouble == ErrorCode::NOT_CONTROLLER ? kNotActive
                                                   : fmt::format("Unknown election type {}", asked->election_type));
          continue;
        }
        Refusal refusal = refuse_election(cluster_, election, topic.topic, index);
        add(results, index, refusal.code, std::move(refusal.message));
      }
    }
  } else if (trouble == ErrorCode::NONE) {
    // All partitions: those that need no election are left out.
    for (const auto& [name, topic] : cluster_.topics) {
      if (find_topic(cluster_, name) == nullptr) continue;
      auto& results = response.replica_election_results.emplace_back();
      results.topic = name;
      for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
        const auto index = static_cast<std::int32_t>(i);
        Refusal refusal = refuse_election(cluster_, election, name, index);
        if (refusal.code != ErrorCode::ELECTION_NOT_NEEDED) {
          add(results, index, refusal.code, std::move(refusal.message));
        }
      }
    }
  }
  reply(request, response_frame(response, request.key, request.version, request.correlation_id));
}

}  // namespace tailrace::zkbridge
