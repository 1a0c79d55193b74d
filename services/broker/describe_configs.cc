// DescribeConfigs: the settings of topics and of this broker, row by row as node/describe_configs.h tells them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "services/broker/metadata.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/describe_configs.h"
#include "services/node/describe_configs.h"

namespace tailrace::broker {
namespace {

using kafka::DescribeConfigsRequest;
using kafka::DescribeConfigsResponse;
using kafka::ErrorCode;

constexpr std::int8_t kTopicResource = 2;
constexpr std::int8_t kBrokerResource = 4;

struct Described {
  ErrorCode error = ErrorCode::NONE;
  std::string message;
  std::vector<node::ConfigRow> rows;  // the response borrows its texts from here
};

Described describe(const NodeState& node, const DescribeConfigsRequest::DescribeConfigsResource& resource) {
  Described described;
  const std::string name(resource.resource_name);
  if (resource.resource_type == kTopicResource) {
    const node::TopicImage* const topic = node.image->find(name);
    if (topic != nullptr) {
      described.rows = node::describe_topic(node.broker_configs(), topic->overrides);
    } else {
      described.error = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
      described.message = std::string(kafka::error_text(described.error));
    }
  } else if (resource.resource_type == kBrokerResource) {
    if (name.empty()) {
      described.rows = node::describe_all_brokers(node.image->of_all_brokers());
    } else if (name == std::to_string(node.node_id)) {
      described.rows = node::describe_broker(node.broker_configs(), node.node_id);
    } else {
      described.error = ErrorCode::INVALID_REQUEST;
      described.message =
          "Unexpected broker id, expected " + std::to_string(node.node_id) + " or empty string, but received " + name;
    }
  } else {
    described.error = ErrorCode::INVALID_REQUEST;
    described.message = "Unsupported resource type: " + std::to_string(resource.resource_type);
  }
  if (resource.configuration_keys) {
    const auto& wanted = *resource.configuration_keys;
    std::erase_if(described.rows, [&](const node::ConfigRow& row) {
      return std::find(wanted.begin(), wanted.end(), row.name) == wanted.end();
    });
  }
  return described;
}

std::optional<std::string_view> view(const std::optional<std::string>& text) {
  return text ? std::optional<std::string_view>(*text) : std::nullopt;
}

DescribeConfigsResponse::DescribeConfigsResourceResult to_result(const node::ConfigRow& row,
                                                                 const DescribeConfigsRequest& request) {
  DescribeConfigsResponse::DescribeConfigsResourceResult result{.name = row.name, .value = view(row.value)};
  result.read_only = row.read_only;
  result.is_default = row.source == node::ConfigOrigin::default_value;
  result.config_source = static_cast<std::int8_t>(row.source);
  result.is_sensitive = row.sensitive;
  result.config_type = static_cast<std::int8_t>(row.type);
  if (request.include_documentation && row.documentation != nullptr) result.documentation = row.documentation;
  if (!request.include_synonyms) return result;
  for (const node::ConfigSynonym& each : row.synonyms) {
    result.synonyms.push_back(
        {.name = each.name, .value = view(each.value), .source = static_cast<std::int8_t>(each.source)});
  }
  return result;
}

}  // namespace

void answer_describe_configs(const NodeState& node, Request& request) {
  const auto message = kafka::decode<DescribeConfigsRequest>(request.body, request.header.api_version);
  if (!message) return request.refuse();
  DescribeConfigsResponse response;
  std::vector<Described> described;
  described.reserve(message->resources.size());
  for (const auto& resource : message->resources) {
    const Described& each = described.emplace_back(describe(node, resource));
    auto& result = response.results.emplace_back();
    result.resource_type = resource.resource_type;
    result.resource_name = resource.resource_name;
    result.error_code = static_cast<std::int16_t>(each.error);
    if (each.error != ErrorCode::NONE) result.error_message = each.message;
    for (const node::ConfigRow& row : each.rows) result.configs.push_back(to_result(row, *message));
  }
  request.respond(response);
}

}  // namespace tailrace::broker
