#include "services/broker/unavailable.h"

#include "services/broker/request.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/init_producer_id.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;

constexpr auto kNotAvailable = static_cast<std::int16_t>(ErrorCode::COORDINATOR_NOT_AVAILABLE);

// Admin clients look for the controller again and retry; Kafka's own forwarding ends with a time-out where it is silent
// (ForwardingManagerImpl.onTimeout).
std::int16_t error_of_controller(Unanswered why) {
  return kafka::wire(why == Unanswered::timed_out ? ErrorCode::REQUEST_TIMED_OUT : ErrorCode::NOT_CONTROLLER);
}

}  // namespace

void answer_unavailable(Request& request, Unanswered why) {
  if (why == Unanswered::refused) return request.refuse();
  const std::int16_t version = request.header.api_version;
  const std::int16_t error = error_of_controller(why);
  switch (request.header.api_key) {
    case kafka::api_key::kCreateTopics: {
      const auto message = kafka::decode<kafka::CreateTopicsRequest>(request.body, version);
      if (!message) return request.refuse();
      kafka::CreateTopicsResponse response;
      for (const auto& topic : message->topics) response.topics.push_back({.name = topic.name, .error_code = error});
      return request.respond(response);
    }
    case kafka::api_key::kDeleteTopics: {
      const auto message = kafka::decode<kafka::DeleteTopicsRequest>(request.body, version);
      if (!message) return request.refuse();
      kafka::DeleteTopicsResponse response;
      for (const std::string_view name : message->topic_names)
        response.responses.push_back({.name = name, .error_code = error});
      for (const auto& topic : message->topics) {
        response.responses.push_back({.name = topic.name, .topic_id = topic.topic_id, .error_code = error});
      }
      return request.respond(response);
    }
    case kafka::api_key::kCreatePartitions: {
      const auto message = kafka::decode<kafka::CreatePartitionsRequest>(request.body, version);
      if (!message) return request.refuse();
      kafka::CreatePartitionsResponse response;
      for (const auto& topic : message->topics) response.results.push_back({.name = topic.name, .error_code = error});
      return request.respond(response);
    }
    case kafka::api_key::kInitProducerId:
      return request.respond(
          kafka::InitProducerIdResponse{.error_code = kNotAvailable, .producer_id = -1, .producer_epoch = -1});
    default:
      return request.refuse();
  }
}

}  // namespace tailrace::broker
