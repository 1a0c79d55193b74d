#include "services/broker/topic_changes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/broker/topics.h"
#include "services/broker/unavailable.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_topics.h"

namespace tailrace::broker {
namespace {

constexpr std::int16_t kRefused = kafka::wire(kafka::ErrorCode::THROTTLING_QUOTA_EXCEEDED);

template <class T>
void erase_where(std::vector<T>& from, const std::vector<bool>& is_erased) {
  std::size_t i = 0;
  std::erase_if(from, [&](const T&) { return is_erased[i++]; });
}

// For each kind: from which version on the quota is strict, how many topics there are, how many partitions the change
// of one makes or deletes (0: it fails anyway, and costs nothing), and how one is refused.

struct CreateTopics {
  using Request = kafka::CreateTopicsRequest;
  using Response = kafka::CreateTopicsResponse;
  static constexpr std::int16_t kStrictSince = 6;
  static std::size_t count(const Request& request) { return request.topics.size(); }
  static std::int64_t cost(const NodeState& node, const Request& request, std::size_t i) {
    const auto& topic = request.topics[i];
    if (!is_valid_topic_name(topic.name) || node.image->find(topic.name) != nullptr) return 0;
    if (!topic.assignments.empty()) return static_cast<std::int64_t>(topic.assignments.size());
    return topic.num_partitions == -1 ? node.config.integer("num.partitions") : std::max(topic.num_partitions, 0);
  }
  static void refuse(const Request& request, std::size_t i, Response& response) {
    response.topics.push_back({.name = request.topics[i].name, .error_code = kRefused});
  }
  static void erase(Request& request, const std::vector<bool>& which) { erase_where(request.topics, which); }
};

struct CreatePartitions {
  using Request = kafka::CreatePartitionsRequest;
  using Response = kafka::CreatePartitionsResponse;
  static constexpr std::int16_t kStrictSince = 3;
  static std::size_t count(const Request& request) { return request.topics.size(); }
  static std::int64_t cost(const NodeState& node, const Request& request, std::size_t i) {
    const node::TopicImage* const topic = node.image->find(request.topics[i].name);
    if (topic == nullptr) return 0;
    return std::max<std::int64_t>(0, request.topics[i].count - static_cast<std::int64_t>(topic->partitions.size()));
  }
  static void refuse(const Request& request, std::size_t i, Response& response) {
    response.results.push_back({.name = request.topics[i].name, .error_code = kRefused});
  }
  static void erase(Request& request, const std::vector<bool>& which) { erase_where(request.topics, which); }
};

struct DeleteTopics {
  using Request = kafka::DeleteTopicsRequest;
  using Response = kafka::DeleteTopicsResponse;
  static constexpr std::int16_t kStrictSince = 5;
  // Up to version 5 there are only names.
  static std::size_t count(const Request& request) {
    return std::max(request.topics.size(), request.topic_names.size());
  }
  static std::int64_t cost(const NodeState& node, const Request& request, std::size_t i) {
    const node::TopicImage* topic = nullptr;
    if (request.topics.empty())
      topic = node.image->find(request.topic_names[i]);
    else if (request.topics[i].name)
      topic = node.image->find(*request.topics[i].name);
    else
      topic = node.image->find(request.topics[i].topic_id);
    return topic == nullptr ? 0 : static_cast<std::int64_t>(topic->partitions.size());
  }
  static void refuse(const Request& request, std::size_t i, Response& response) {
    auto& answer = response.responses.emplace_back();
    answer.error_code = kRefused;
    if (request.topics.empty()) {
      answer.name = request.topic_names[i];
    } else {
      answer.name = request.topics[i].name;
      answer.topic_id = request.topics[i].topic_id;
    }
  }
  static void erase(Request& request, const std::vector<bool>& which) {
    request.topics.empty() ? erase_where(request.topic_names, which) : erase_where(request.topics, which);
  }
};

}  // namespace

bool TopicChanges::start(Request& request) {
  switch (request.header.api_key) {
    case kafka::api_key::kCreateTopics:
      change<CreateTopics>(request);
      return true;
    case kafka::api_key::kCreatePartitions:
      change<CreatePartitions>(request);
      return true;
    case kafka::api_key::kDeleteTopics:
      change<DeleteTopics>(request);
      return true;
    default:
      return false;
  }
}

template <class Change>
void TopicChanges::change(Request& request) {
  if (!node_.quotas.has(QuotaType::mutation)) return zkbridge_.forward(request);
  const auto message = kafka::decode<typename Change::Request>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  const bool is_strict = request.header.api_version >= Change::kStrictSince;
  const std::size_t count = Change::count(*message);
  std::vector<bool> is_refused(count);
  std::size_t refused = 0;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t cost = Change::cost(node_, *message, i);
    total += cost;
    if (!is_strict || cost == 0) continue;
    const std::int32_t throttle_ms =
        node_.quotas.take_mutations(request.client(), static_cast<double>(cost), node_.quota_time());
    if (throttle_ms == 0) continue;
    request.throttle(throttle_ms);
    is_refused[i] = true;
    ++refused;
  }
  if (!is_strict) {
    request.throttle(
        node_.quotas.record(QuotaType::mutation, request.client(), static_cast<double>(total), node_.quota_time()));
  }
  if (refused == 0) return zkbridge_.forward(request);
  if (refused != count) return forward_rest<Change>(request, is_refused);
  typename Change::Response response;
  for (std::size_t i = 0; i < count; ++i) Change::refuse(*message, i, response);
  request.respond(response);
}

// The controller is asked for what is not refused; the answer is its and ours.
template <class Change>
void TopicChanges::forward_rest(Request& request, const std::vector<bool>& is_refused) {
  const std::int16_t version = request.header.api_version;
  auto message = kafka::decode<typename Change::Request>(request.body, version);
  Change::erase(*message, is_refused);
  kafka::Buffer frame;
  kafka::encode_request_header({.api_key = request.header.api_key,
                                .api_version = version,
                                .correlation_id = request.header.correlation_id,
                                .client_id = request.header.client_id},
                               frame);
  kafka::encode(*message, version, frame);
  zkbridge_.forward(frame.bytes(), [&request, is_refused, version](std::expected<Bytes, Unanswered> answer) {
    if (!answer) return answer_unavailable(request, answer.error());
    std::int32_t correlation_id = 0;
    std::size_t body_at = 0;
    const std::int16_t header_version = kafka::response_header_version(request.header.api_key, version);
    if (!kafka::decode_response_header(*answer, header_version, correlation_id, body_at)) return request.refuse();
    auto response = kafka::decode<typename Change::Response>(answer->subspan(body_at), version);
    const auto asked = kafka::decode<typename Change::Request>(request.body, version);
    if (!response || !asked) return request.refuse();
    for (std::size_t i = 0; i < is_refused.size(); ++i) {
      if (is_refused[i]) Change::refuse(*asked, i, *response);
    }
    request.respond(*response);
  });
}

}  // namespace tailrace::broker
