#include "services/broker/unavailable.h"

#include "services/broker/request.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/alter_client_quotas.h"
#include "services/kafka/messages/alter_configs.h"
#include "services/kafka/messages/alter_partition_reassignments.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/describe_client_quotas.h"
#include "services/kafka/messages/elect_leaders.h"
#include "services/kafka/messages/incremental_alter_configs.h"
#include "services/kafka/messages/init_producer_id.h"
#include "services/kafka/messages/list_config_resources.h"
#include "services/kafka/messages/list_partition_reassignments.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;

// Admin clients look for the controller again and retry; Kafka's own forwarding ends with a time-out where it is silent
// (ForwardingManagerImpl.onTimeout).
std::int16_t error_of_controller(Unanswered why) {
  return kafka::wire(why == Unanswered::timed_out ? ErrorCode::REQUEST_TIMED_OUT : ErrorCode::NOT_CONTROLLER);
}

// Clients look for the coordinator again and retry.
std::int16_t error_of_coordinator(Unanswered why) {
  return why.reason == Unanswered::told ? why.error : kafka::wire(ErrorCode::COORDINATOR_NOT_AVAILABLE);
}

// AlterConfigs and IncrementalAlterConfigs: an error for each resource.
template <class Asked, class Response>
void answer_resources(Request& request, std::int16_t error) {
  const auto message = kafka::decode<Asked>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  Response response;
  for (const auto& resource : message->resources) {
    response.responses.push_back(
        {.error_code = error, .resource_type = resource.resource_type, .resource_name = resource.resource_name});
  }
  request.respond(response);
}

void answer_quotas(Request& request, std::int16_t error) {
  const auto message = kafka::decode<kafka::AlterClientQuotasRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  kafka::AlterClientQuotasResponse response;
  for (const auto& entry : message->entries) {
    auto& result = response.entries.emplace_back();
    result.error_code = error;
    for (const auto& part : entry.entity) {
      result.entity.push_back({.entity_type = part.entity_type, .entity_name = part.entity_name});
    }
  }
  request.respond(response);
}

void answer_elections(Request& request, std::int16_t error) {
  const auto message = kafka::decode<kafka::ElectLeadersRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  kafka::ElectLeadersResponse response{.error_code = error};
  for (const auto& topic :
       message->topic_partitions.value_or(std::vector<kafka::ElectLeadersRequest::TopicPartitions>{})) {
    auto& results = response.replica_election_results.emplace_back();
    results.topic = topic.topic;
    for (const std::int32_t index : topic.partitions) {
      results.partition_result.push_back({.partition_id = index, .error_code = error});
    }
  }
  request.respond(response);
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
    case kafka::api_key::kAlterConfigs:
      return answer_resources<kafka::AlterConfigsRequest, kafka::AlterConfigsResponse>(request, error);
    case kafka::api_key::kIncrementalAlterConfigs:
      return answer_resources<kafka::IncrementalAlterConfigsRequest, kafka::IncrementalAlterConfigsResponse>(request,
                                                                                                             error);
    case kafka::api_key::kAlterClientQuotas:
      return answer_quotas(request, error);
    case kafka::api_key::kElectLeaders:
      return answer_elections(request, error);
    case kafka::api_key::kDescribeClientQuotas:
      return request.respond(kafka::DescribeClientQuotasResponse{.error_code = error});
    case kafka::api_key::kListConfigResources:
      return request.respond(kafka::ListConfigResourcesResponse{.error_code = error});
    case kafka::api_key::kAlterPartitionReassignments:
      return request.respond(kafka::AlterPartitionReassignmentsResponse{.error_code = error});
    case kafka::api_key::kListPartitionReassignments:
      return request.respond(kafka::ListPartitionReassignmentsResponse{.error_code = error});
    case kafka::api_key::kInitProducerId:
      return request.respond(kafka::InitProducerIdResponse{
          .error_code = error_of_coordinator(why), .producer_id = -1, .producer_epoch = -1});
    default:
      return answer_group_error(request, error_of_coordinator(why));
  }
}

}  // namespace tailrace::broker
