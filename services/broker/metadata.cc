#include "services/broker/metadata.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "services/broker/reachable.h"
#include "services/broker/topics.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/describe_cluster.h"
#include "services/kafka/messages/metadata.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;
using kafka::MetadataRequest;
using kafka::MetadataResponse;

// As kTopicOperations, of the cluster.
constexpr std::int32_t kClusterOperations = 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12;
constexpr std::int16_t kFirstVersionWithListenerNotFound = 6;
constexpr std::int8_t kBrokerEndpoints = 1;  // DescribeCluster's endpoint types; 2: controllers

MetadataResponse::MetadataResponseTopic describe(const node::TopicImage& topic, const Reachable& reachable,
                                                 const MetadataRequest& message, std::int16_t version) {
  MetadataResponse::MetadataResponseTopic out{.name = topic.name, .topic_id = topic.id};
  out.is_internal = is_internal_topic(topic.name);
  if (message.include_topic_authorized_operations) out.topic_authorized_operations = kTopicOperations;
  out.partitions.reserve(topic.partitions.size());
  for (const auto& [index, partition] : topic.partitions) {
    const Reachable::Leader leader = reachable.leader_of(partition, version >= kFirstVersionWithListenerNotFound);
    auto& each = out.partitions.emplace_back();
    each.partition_index = index;
    each.error_code = kafka::wire(leader.error);
    each.leader_id = leader.id;
    each.leader_epoch = partition.leader_epoch;
    each.replica_nodes = partition.replicas;
    each.isr_nodes = partition.in_sync;
    each.offline_replicas = partition.offline;
  }
  return out;
}

// Whether topics are asked for by their id: one id is enough, and then names do not count. Java's client leaves the
// name empty beside an id, others leave it out.
bool is_by_id(const MetadataRequest& message) {
  return message.topics && std::any_of(message.topics->begin(), message.topics->end(),
                                       [](const auto& t) { return !t.topic_id.is_zero(); });
}

}  // namespace

// Topics that are being made for a metadata request, and what became of each.
struct Metadata::Creation {
  MetadataRequest message;
  std::vector<std::string> names;
  std::map<std::string, ErrorCode, std::less<>> results;
};

bool Metadata::creates_topics(const MetadataRequest& message) const {
  return message.topics && !is_by_id(message) && message.allow_auto_topic_creation &&
         node::broker_value(node_.broker_configs(), "auto.create.topics.enable") == "true";
}

void Metadata::start(Request& request) {
  Result<MetadataRequest> message = kafka::decode<MetadataRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  // Version 0 has no null: an empty list means all topics.
  if (request.header.api_version == 0 && message->topics && message->topics->empty()) message->topics.reset();
  auto creation = std::make_shared<Creation>();
  if (creates_topics(*message)) {
    for (const auto& topic : *message->topics) {
      if (!topic.name || !is_valid_topic_name(*topic.name) || node_.image->find(*topic.name) != nullptr) continue;
      creation->names.emplace_back(*topic.name);
    }
  }
  if (creation->names.empty()) return answer(request, *message, nullptr);
  std::sort(creation->names.begin(), creation->names.end());
  creation->names.erase(std::unique(creation->names.begin(), creation->names.end()), creation->names.end());
  creation->message = std::move(*message);
  // All of them are made, and the client waits afterwards, as in Kafka, whose quota is permissive here.
  const auto partitions =
      static_cast<double>(creation->names.size()) * static_cast<double>(node_.config.integer("num.partitions"));
  request.throttle(node_.quotas.record(QuotaType::mutation, request.client(), partitions, node_.quota_time()));
  create_topics(request, std::move(creation));
}

// Kafka answers at once that the topic has no leader yet, and clients come again; here the answer waits until it has
// one.
void Metadata::create_topics(Request& request, std::shared_ptr<Creation> creation) {
  constexpr std::int16_t kVersion = 7;
  kafka::CreateTopicsRequest create;
  for (const std::string& name : creation->names) {
    create.topics.push_back({.name = name, .num_partitions = -1, .replication_factor = -1});
  }
  kafka::Buffer frame;
  kafka::encode_request_header(
      {.api_key = kafka::api_key::kCreateTopics, .api_version = kVersion, .client_id = "broker"}, frame);
  kafka::encode(create, kVersion, frame);
  zkbridge_.forward(frame.bytes(), [this, &request, creation](std::expected<Bytes, Unanswered> response) {
    std::int32_t correlation_id = 0;
    std::size_t body_at = 0;
    const std::int16_t header_version = kafka::response_header_version(kafka::api_key::kCreateTopics, kVersion);
    if (response && kafka::decode_response_header(*response, header_version, correlation_id, body_at)) {
      const auto body = kafka::decode<kafka::CreateTopicsResponse>(response->subspan(body_at), kVersion);
      if (body) {
        for (const auto& topic : body->topics)
          creation->results[std::string(topic.name)] = static_cast<ErrorCode>(topic.error_code);
      }
    }
    answer(request, creation->message, creation.get());
  });
}

void Metadata::answer(Request& request, const MetadataRequest& message, const Creation* creation) {
  const node::MetadataImage& image = *node_.image;
  MetadataResponse response;
  const Reachable reachable(node_, *request.connection);
  for (const Reachable::Broker& broker : reachable.brokers()) {
    response.brokers.push_back({.node_id = broker.image->id, .host = broker.host, .port = broker.port});
    if (broker.image->rack) response.brokers.back().rack = *broker.image->rack;
  }
  response.cluster_id = node_.cluster_id;
  response.controller_id = image.controller_id();
  if (message.include_cluster_authorized_operations) response.cluster_authorized_operations = kClusterOperations;

  const std::int16_t version = request.header.api_version;
  if (!message.topics) {
    response.topics.reserve(image.topics().size());
    for (const auto& [name, topic] : image.topics()) {
      response.topics.push_back(describe(*topic, reachable, message, version));
    }
    return request.respond(response);
  }
  const bool all_by_id = version >= 12 && is_by_id(message);  // ids came with version 10, and count since 12
  std::set<std::pair<std::string_view, Uuid>> answered;       // one that is named twice has one answer
  for (const auto& asked : *message.topics) {
    if (all_by_id && asked.topic_id.is_zero()) continue;
    const bool by_id = all_by_id || !asked.name.has_value();
    if (!answered.emplace(by_id ? "" : *asked.name, asked.topic_id).second) continue;
    const node::TopicImage* const topic = by_id ? image.find(asked.topic_id) : image.find(*asked.name);
    if (topic != nullptr) {
      response.topics.push_back(describe(*topic, reachable, message, version));
      continue;
    }
    MetadataResponse::MetadataResponseTopic missing{.topic_id = asked.topic_id};
    if (!by_id) missing.name = asked.name;
    ErrorCode error = by_id ? ErrorCode::UNKNOWN_TOPIC_ID : ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    if (!by_id && !is_valid_topic_name(*asked.name)) error = ErrorCode::INVALID_TOPIC_EXCEPTION;
    if (creation != nullptr && error == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) {
      const auto made = creation->results.find(*asked.name);
      const bool soon = made == creation->results.end() || made->second == ErrorCode::NONE ||
                        made->second == ErrorCode::TOPIC_ALREADY_EXISTS || kafka::error_retriable(made->second);
      error = soon ? ErrorCode::LEADER_NOT_AVAILABLE : made->second;
    }
    missing.error_code = static_cast<std::int16_t>(error);
    missing.is_internal = !by_id && is_internal_topic(*asked.name);
    response.topics.push_back(std::move(missing));
  }
  request.respond(response);
}

void Metadata::describe_cluster(Request& request) {
  const auto message = kafka::decode<kafka::DescribeClusterRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  kafka::DescribeClusterResponse response;
  response.endpoint_type = message->endpoint_type;
  response.controller_id = node_.image->controller_id();
  response.cluster_id = node_.cluster_id;
  if (message->endpoint_type != kBrokerEndpoints) {
    response.error_code = static_cast<std::int16_t>(message->endpoint_type == 2 ? ErrorCode::MISMATCHED_ENDPOINT_TYPE
                                                                                : ErrorCode::UNSUPPORTED_ENDPOINT_TYPE);
    response.error_message = "The request was sent to an endpoint of brokers, which is type 1.";
    response.endpoint_type = kBrokerEndpoints;
    response.controller_id = -1;
    response.cluster_id = "";
    return request.respond(response);
  }
  const Reachable reachable(node_, *request.connection);
  for (const Reachable::Broker& broker : reachable.brokers()) {
    response.brokers.push_back({.broker_id = broker.image->id, .host = broker.host, .port = broker.port});
    if (broker.image->rack) response.brokers.back().rack = *broker.image->rack;
  }
  if (message->include_cluster_authorized_operations) response.cluster_authorized_operations = kClusterOperations;
  request.respond(response);
}

}  // namespace tailrace::broker
