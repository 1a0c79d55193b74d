// DescribeConfigs: the settings of topics, groups and this broker, row by row as node/describe_configs.h tells them.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/broker/metadata.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/describe_configs.h"
#include "services/node/describe_configs.h"
#include "services/node/topic_config.h"

namespace tailrace::broker {
namespace {

using kafka::DescribeConfigsRequest;
using kafka::DescribeConfigsResponse;
using kafka::ErrorCode;

// ConfigResource.Type.
constexpr std::int8_t kTopicResource = 2;
constexpr std::int8_t kBrokerResource = 4;
constexpr std::int8_t kLoggerResource = 8;
constexpr std::int8_t kClientMetricsResource = 16;
constexpr std::int8_t kGroupResource = 32;

// Of one request, which may name the same resource often: a row of the answer takes some hundred bytes.
constexpr std::size_t kResourcesMax = 100'000;
constexpr std::size_t kRowsMax = 400'000;

using Rows = std::vector<node::ConfigRow>;  // the response borrows its texts from them

struct Described {
  ErrorCode error = ErrorCode::NONE;
  std::string message{};
  std::shared_ptr<const Rows> rows = std::make_shared<const Rows>();
};

Described refused(ErrorCode error, std::string message) { return {error, std::move(message)}; }
Described with(Rows rows) { return {.rows = std::make_shared<const Rows>(std::move(rows))}; }

// Rows that a request has had made already. Topics, or groups, whose own settings are the same have the same rows.
struct Made {
  std::map<node::ConfigMap, std::shared_ptr<const Rows>> topics;
  std::map<node::ConfigMap, std::shared_ptr<const Rows>> groups;
  std::shared_ptr<const Rows> broker;
};

bool is_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Described describe_topic(const NodeState& node, const std::string& name, Made& made) {
  if (std::string fault = node::topic_name_fault(name); !fault.empty()) {
    return refused(ErrorCode::INVALID_TOPIC_EXCEPTION, std::move(fault));
  }
  const node::TopicImage* const topic = node.image->find(name);
  if (topic == nullptr) return refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "");
  std::shared_ptr<const Rows>& rows = made.topics[topic->overrides];
  if (rows == nullptr) {
    rows = std::make_shared<const Rows>(node::describe_topic(node.broker_configs(), topic->overrides));
  }
  return {.rows = rows};
}

Described describe_broker(const NodeState& node, const std::string& name, Made& made) {
  if (name.empty()) return with(node::describe_all_brokers(node.image->of_all_brokers()));
  if (!is_number(name)) {
    return refused(ErrorCode::INVALID_REQUEST, "Broker id must be an integer, but it is: " + name);
  }
  if (name != std::to_string(node.node_id)) {
    return refused(ErrorCode::INVALID_REQUEST, "Unexpected broker id, expected " + std::to_string(node.node_id) +
                                                   " or empty string, but received " + name);
  }
  if (made.broker == nullptr) {
    made.broker = std::make_shared<const Rows>(node::describe_broker(node.broker_configs(), node.node_id));
  }
  return {.rows = made.broker};
}

// No logger here is changed while it runs: there is none to tell of.
Described describe_loggers(const NodeState& node, const std::string& name) {
  if (name.empty()) return refused(ErrorCode::INVALID_REQUEST, "Broker id must not be empty");
  if (!is_number(name)) {
    return refused(ErrorCode::INVALID_REQUEST, "Broker id must be an integer, but it is: " + name);
  }
  if (name != std::to_string(node.node_id)) {
    return refused(ErrorCode::INVALID_REQUEST,
                   "Unexpected broker id, expected " + std::to_string(node.node_id) + " but received " + name);
  }
  return {};
}

Described describe_client_metrics(const NodeState& node, const std::string& name) {
  if (name.empty()) {
    return refused(ErrorCode::INVALID_REQUEST, "Client metrics subscription name must not be empty");
  }
  const auto found = node.image->client_metrics()->find(name);
  const bool is_known = found != node.image->client_metrics()->end();
  return with(node::describe_client_metrics(is_known ? found->second : node::ConfigMap{}));
}

Described describe_group(const NodeState& node, const std::string& name, Made& made) {
  if (name.empty()) return refused(ErrorCode::INVALID_REQUEST, "Group name must not be empty");
  const auto found = node.image->group_configs()->find(name);
  const node::ConfigMap own = found == node.image->group_configs()->end() ? node::ConfigMap{} : found->second;
  std::shared_ptr<const Rows>& rows = made.groups[own];
  if (rows == nullptr) rows = std::make_shared<const Rows>(node::describe_group(node.broker_configs(), own));
  return {.rows = rows};
}

Described describe(const NodeState& node, const DescribeConfigsRequest::DescribeConfigsResource& resource, Made& made) {
  const std::string name(resource.resource_name);
  switch (resource.resource_type) {
    case kTopicResource:
      return describe_topic(node, name, made);
    case kBrokerResource:
      return describe_broker(node, name, made);
    case kLoggerResource:
      return describe_loggers(node, name);
    case kClientMetricsResource:
      return describe_client_metrics(node, name);
    case kGroupResource:
      return describe_group(node, name, made);
    default:
      return refused(ErrorCode::INVALID_REQUEST,
                     "Unsupported resource type: " + std::to_string(resource.resource_type));
  }
}

// No keys at all means every key.
bool is_wanted(const std::vector<std::string_view>& sorted_keys, const node::ConfigRow& row) {
  return sorted_keys.empty() || std::ranges::binary_search(sorted_keys, row.name);
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
  if (!message || message->resources.size() > kResourcesMax) return request.refuse();
  DescribeConfigsResponse response;
  Made made;
  std::size_t rows = 0;
  std::vector<Described> described;
  described.reserve(message->resources.size());
  response.results.reserve(message->resources.size());
  for (const auto& resource : message->resources) {
    const Described& each = described.emplace_back(
        rows < kRowsMax ? describe(node, resource, made)
                        : refused(ErrorCode::INVALID_REQUEST, "These are too many settings for one answer."));
    rows += each.rows->size();
    std::vector<std::string_view> keys = resource.configuration_keys.value_or(std::vector<std::string_view>{});
    std::ranges::sort(keys);
    auto& result = response.results.emplace_back();
    result.resource_type = resource.resource_type;
    result.resource_name = resource.resource_name;
    result.error_code = static_cast<std::int16_t>(each.error);
    result.error_message = each.message;  // empty, not null, where there is no error
    if (keys.empty()) result.configs.reserve(each.rows->size());
    for (const node::ConfigRow& row : *each.rows) {
      if (is_wanted(keys, row)) result.configs.push_back(to_result(row, *message));
    }
  }
  request.respond(response);
}

}  // namespace tailrace::broker
