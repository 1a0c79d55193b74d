#include "services/broker/find_coordinator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/observe.h"
#include "services/broker/reachable.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/find_coordinator.h"
#include "services/node/offsets_topic.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;

constexpr std::int16_t kFirstVersionWithMessage = 1;
constexpr std::int16_t kFirstVersionWithSeveralKeys = 4;
constexpr std::int8_t kGroup = 0, kTransaction = 1;  // FindCoordinatorRequest.CoordinatorType
constexpr std::int16_t kCreateVersion = 7;

// offsets.topic.replication.factor, or as many as there are brokers, up to Kafka's default of 3.
std::int16_t replication_factor(const NodeState& node) {
  constexpr const char* kKey = "offsets.topic.replication.factor";
  const auto wanted = static_cast<std::int16_t>(node.config.integer(kKey));
  if (node.config.is_set(kKey)) return wanted;
  const auto brokers = static_cast<std::int16_t>(std::min<std::size_t>(node.image->brokers().size(), 3));
  return std::clamp<std::int16_t>(brokers, 1, wanted);
}

}  // namespace

void FindCoordinator::start(Request& request) {
  const auto message = kafka::decode<kafka::FindCoordinatorRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  if (message->key_type != kGroup || node_.image->find(node::kOffsetsTopic) != nullptr) return answer(request);
  waiting_.push_back(&request);
  if (waiting_.size() == 1) create_offsets_topic();
}

void FindCoordinator::create_offsets_topic() {
  const std::string segment_bytes = std::to_string(node_.config.integer("offsets.topic.segment.bytes"));
  kafka::CreateTopicsRequest create;
  auto& topic = create.topics.emplace_back();
  topic.name = node::kOffsetsTopic;
  topic.num_partitions = static_cast<std::int32_t>(node_.config.integer("offsets.topic.num.partitions"));
  topic.replication_factor = replication_factor(node_);
  topic.configs = {{.name = "cleanup.policy", .value = "compact"},
                   {.name = "compression.type", .value = "producer"},
                   {.name = "segment.bytes", .value = segment_bytes}};
  kafka::Buffer frame;
  kafka::encode_request_header(
      {.api_key = kafka::api_key::kCreateTopics, .api_version = kCreateVersion, .client_id = "broker"}, frame);
  kafka::encode(create, kCreateVersion, frame);
  zkbridge_.forward(frame.bytes(), [this](const std::expected<Bytes, Unanswered>&) {
    if (node_.image->find(node::kOffsetsTopic) == nullptr) {
      log_warning("topic not made name={} reason=\"see zkbridge\"", node::kOffsetsTopic);
    }
    for (Request* const request : std::exchange(waiting_, {})) answer(*request);
  });
}

void FindCoordinator::answer(Request& request) {
  const std::int16_t version = request.header.api_version;
  const auto message = kafka::decode<kafka::FindCoordinatorRequest>(request.body, version);
  if (!message) return request.refuse();
  const Reachable reachable(node_, *request.connection);
  const node::TopicImage* const topic = message->key_type == kGroup ? node_.image->find(node::kOffsetsTopic) : nullptr;
  const auto coordinator_of = [&](std::string_view key) -> const Reachable::Broker* {
    if (topic == nullptr || topic->partitions.empty()) return nullptr;
    const node::PartitionImage* const partition =
        topic->find(node::offsets_partition_of(key, static_cast<std::int32_t>(topic->partitions.size())));
    if (partition == nullptr) return nullptr;
    const auto found = std::ranges::find_if(
        reachable.brokers(), [&](const Reachable::Broker& each) { return each.image->id == partition->leader; });
    return found == reachable.brokers().end() ? nullptr : &*found;
  };
  // A client would come again for one that is missing; there is never going to be one of another type.
  const bool is_known = message->key_type == kGroup || message->key_type == kTransaction;
  const ErrorCode missing = is_known ? ErrorCode::COORDINATOR_NOT_AVAILABLE : ErrorCode::INVALID_REQUEST;

  kafka::FindCoordinatorResponse response;
  if (version < kFirstVersionWithSeveralKeys) {
    const Reachable::Broker* const broker = coordinator_of(message->key);
    response.error_code = kafka::wire(broker == nullptr ? missing : ErrorCode::NONE);
    response.node_id = broker == nullptr ? -1 : broker->image->id;
    if (broker != nullptr) response.host = broker->host;
    response.port = broker == nullptr ? -1 : broker->port;
    if (version >= kFirstVersionWithMessage) {
      response.error_message = broker == nullptr ? kafka::error_text(missing) : "NONE";
    }
    return request.respond(std::move(response));
  }
  for (const std::string_view key : message->coordinator_keys) {
    auto& made = response.coordinators.emplace_back();
    const Reachable::Broker* const broker = coordinator_of(key);
    made.key = key;
    made.error_code = kafka::wire(broker == nullptr ? missing : ErrorCode::NONE);
    made.node_id = broker == nullptr ? -1 : broker->image->id;
    if (broker != nullptr) made.host = broker->host;
    made.port = broker == nullptr ? -1 : broker->port;
    made.error_message = broker == nullptr ? kafka::error_text(missing) : "";
  }
  request.respond(std::move(response));
}

}  // namespace tailrace::broker
