// The questions of admin.h about settings of resources.
#include <algorithm>
#include <array>
#include <span>

#include "cli/admin.h"
#include "cli/config_text.h"
#include "services/kafka/messages/describe_configs.h"
#include "services/kafka/messages/incremental_alter_configs.h"
#include "services/kafka/messages/list_config_resources.h"

namespace tailrace::cli {
namespace {

struct Source {
  std::string_view word;
  std::string_view name;
};
// By DescribeConfigsResponse.ConfigSource's ids.
constexpr std::array kSources = {
    Source{"unknown", "UNKNOWN"},
    Source{"topic", "DYNAMIC_TOPIC_CONFIG"},
    Source{"broker", "DYNAMIC_BROKER_CONFIG"},
    Source{"all brokers", "DYNAMIC_DEFAULT_BROKER_CONFIG"},
    Source{"file", "STATIC_BROKER_CONFIG"},
    Source{"default", "DEFAULT_CONFIG"},
    Source{"logger", "DYNAMIC_BROKER_LOGGER_CONFIG"},
    Source{"client metrics", "DYNAMIC_CLIENT_METRICS_CONFIG"},
    Source{"group", "DYNAMIC_GROUP_CONFIG"},
};
constexpr std::array<std::string_view, 10> kTypes = {"UNKNOWN", "BOOLEAN", "STRING", "INT",   "SHORT",
                                                     "LONG",    "DOUBLE",  "LIST",   "CLASS", "PASSWORD"};

const Source& source_of(std::int8_t source) {
  const auto index = static_cast<std::size_t>(source < 0 ? 0 : source);
  return kSources[index < kSources.size() ? index : 0];
}

// What one broker has to be asked about, or any broker (-1).
BrokerId asked_broker(const Resource& resource) {
  const bool is_brokers = resource.type == ResourceType::broker || resource.type == ResourceType::broker_logger;
  const auto id = is_brokers ? parse_integer(resource.name) : std::nullopt;
  return id ? static_cast<BrokerId>(*id) : -1;
}

Outcome<Connection*> connection_to(Client& client, BrokerId id) {
  if (id < 0) return client.any();
  auto found = client.broker(id);
  if (found) return found;
  const std::vector<std::string> none;  // it may not have been asked who there is
  if (auto cluster = client.describe(&none, false); !cluster) return std::unexpected(cluster.error());
  return client.broker(id);
}

Setting to_setting(const kafka::DescribeConfigsResponse::DescribeConfigsResourceResult& from) {
  Setting setting;
  setting.name = from.name;
  if (from.value) setting.value = *from.value;
  setting.source = from.config_source;
  setting.is_read_only = from.read_only;
  setting.is_sensitive = from.is_sensitive;
  setting.type = from.config_type;
  setting.documentation = from.documentation.value_or(std::string_view());
  for (const auto& synonym : from.synonyms) {
    Setting::Synonym one{.name = std::string(synonym.name), .value = std::nullopt, .source = synonym.source};
    if (synonym.value) one.value = *synonym.value;
    setting.synonyms.push_back(std::move(one));
  }
  return setting;
}

// The requests borrow the names.
template <class Request>
std::map<BrokerId, Request> by_broker(std::span<const Resource> resources) {
  std::map<BrokerId, Request> requests;
  for (const Resource& resource : resources) {
    auto& request = requests[asked_broker(resource)];
    request.resources.emplace_back();
    request.resources.back().resource_type = static_cast<std::int8_t>(resource.type);
    request.resources.back().resource_name = resource.name;
  }
  return requests;
}

}  // namespace

bool Setting::is_dynamic() const { return source != 0 && source != 4 && source != 5 && source != -1; }

std::string Setting::shown_value() const { return is_sensitive ? "(hidden)" : value ? *value : "null"; }

std::string_view source_word(std::int8_t source) { return source_of(source).word; }
std::string_view source_name(std::int8_t source) { return source_of(source).name; }
std::string_view setting_type_name(std::int8_t type) {
  const auto index = static_cast<std::size_t>(type < 0 ? 0 : type);
  return kTypes[index < kTypes.size() ? index : 0];
}

std::string resource_text(const Resource& resource) {
  switch (resource.type) {
    case ResourceType::topic:
      return "topic " + resource.name;
    case ResourceType::broker:
      return resource.name.empty() ? "all brokers" : "broker " + resource.name;
    case ResourceType::broker_logger:
      return "the loggers of broker " + resource.name;
    case ResourceType::client_metrics:
      return "client metrics " + resource.name;
    case ResourceType::group:
      return "group " + resource.name;
  }
  return resource.name;
}

Outcome<std::vector<ResourceSettings>> describe_settings(Client& client, const std::vector<Resource>& resources,
                                                         bool with_documentation) {
  constexpr std::size_t kAtATime = 500;  // an answer about a topic has some 5 KiB
  std::vector<ResourceSettings> all(resources.size());
  for (std::size_t i = 0; i < resources.size(); ++i) all[i].resource = resources[i];
  for (std::size_t from = 0; from < resources.size(); from += kAtATime) {
    const std::size_t to = std::min(resources.size(), from + kAtATime);
    auto requests = by_broker<kafka::DescribeConfigsRequest>(std::span(resources).subspan(from, to - from));
    for (auto& [id, request] : requests) {
      request.include_synonyms = true;
      request.include_documentation = with_documentation;
      auto connection = connection_to(client, id);
      if (!connection) return std::unexpected(connection.error());
      auto reply = ask<kafka::DescribeConfigsResponse>(**connection, request, client.timeout());
      if (!reply) return std::unexpected(reply.error());
      std::map<std::pair<std::int8_t, std::string_view>, const kafka::DescribeConfigsResponse::DescribeConfigsResult*>
          answers;
      for (const auto& result : reply->message.results) {
        answers[{result.resource_type, result.resource_name}] = &result;
      }
      for (std::size_t i = from; i < to; ++i) {
        const auto found = answers.find({static_cast<std::int8_t>(resources[i].type), resources[i].name});
        if (found == answers.end()) continue;
        all[i].error_code = found->second->error_code;
        all[i].message = found->second->error_message.value_or(std::string_view());
        for (const auto& config : found->second->configs) all[i].settings.push_back(to_setting(config));
        std::sort(all[i].settings.begin(), all[i].settings.end(),
                  [](const Setting& a, const Setting& b) { return a.name < b.name; });
      }
    }
  }
  return all;
}

Outcome<std::vector<Verdict>> alter_settings(Client& client, const std::vector<Resource>& resources,
                                             const std::vector<Change>& changes, bool validate_only) {
  std::vector<Verdict> all;
  for (auto& [id, request] : by_broker<kafka::IncrementalAlterConfigsRequest>(resources)) {
    request.validate_only = validate_only;
    for (auto& resource : request.resources) {
      for (const Change& change : changes) {
        resource.configs.emplace_back();
        resource.configs.back().name = change.name;
        resource.configs.back().config_operation = static_cast<std::int8_t>(change.kind);
        if (change.kind != ChangeKind::remove) resource.configs.back().value = change.value;
      }
    }
    auto connection = connection_to(client, id);
    if (!connection) return std::unexpected(connection.error());
    auto reply = ask<kafka::IncrementalAlterConfigsResponse>(**connection, request, client.timeout());
    if (!reply) return std::unexpected(reply.error());
    for (const auto& one : reply->message.responses) {
      all.push_back({resource_text({static_cast<ResourceType>(one.resource_type), std::string(one.resource_name)}),
                     one.error_code, std::string(one.error_message.value_or(""))});
    }
  }
  return all;
}

Outcome<std::vector<std::string>> list_resources(Client& client, ResourceType type) {
  kafka::ListConfigResourcesRequest request;
  request.resource_types.push_back(static_cast<std::int8_t>(type));
  auto connection = client.any();
  if (!connection) return std::unexpected(connection.error());
  auto reply = ask<kafka::ListConfigResourcesResponse>(**connection, request, client.timeout());
  if (!reply) return std::unexpected(reply.error());
  if (reply->message.error_code != 0) return std::unexpected(describe_error(reply->message.error_code));
  std::vector<std::string> names;
  for (const auto& one : reply->message.config_resources) {
    if (one.resource_type == static_cast<std::int8_t>(type)) names.emplace_back(one.resource_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tailrace::cli
