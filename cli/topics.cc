#include "cli/topics.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/client.h"
#include "cli/text.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/describe_configs.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::int8_t kTopicResource = 2;       // ConfigResource.Type.TOPIC
constexpr std::int8_t kDynamicTopicConfig = 1;  // DescribeConfigsResponse.ConfigSource
constexpr int kControllerTries = 3;

struct TopicsOptions {
  ClientOptions client;
  std::vector<std::string> names;
  std::int32_t partitions = -1;          // -1: the broker's default
  std::int16_t replication_factor = -1;  // -1: the broker's default
  std::vector<std::string> configs;      // KEY=VALUE
  bool if_not_exists = false;
  bool if_exists = false;
  bool exclude_internal = false;
  bool json = false;
};

// What one topic of a request came to.
struct TopicResult {
  std::string name;
  std::int16_t error_code = 0;
  std::string message;
};

void print_json(const ordered_json& value) {
  fmt::print("{}\n", value.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

// Asks the controller, and the next one when it has moved. `results` turns an answer into one result per topic.
template <class Answer, class Request, class Results>
Outcome<std::vector<TopicResult>> ask_controller(Client& client, const Request& request, Results results) {
  for (int attempt = 1;; ++attempt) {
    auto controller = client.controller();
    if (!controller) return std::unexpected(controller.error());
    // The broker may take as long as we told it; it needs a moment more to say so.
    auto reply = ask<Answer>(**controller, request, client.timeout() + std::chrono::seconds(2));
    if (!reply) return std::unexpected(reply.error());
    std::vector<TopicResult> all = results(reply->message);
    const bool moved = !all.empty() && all.front().error_code == kafka::wire(kafka::ErrorCode::NOT_CONTROLLER);
    if (!moved || attempt == kControllerTries) return all;
    const std::vector<std::string> none;
    if (auto again = client.describe(&none, false); !again) return std::unexpected(again.error());
  }
}

// Prints what was done and what failed; `expected_error` counts as done when `tolerate` is set.
int report(const TopicsOptions& options, std::string_view command, std::string_view done,
           const std::vector<TopicResult>& results, kafka::ErrorCode expected_error, bool tolerate) {
  int status = 0;
  ordered_json list = ordered_json::array();
  for (const TopicResult& result : results) {
    const bool passed_over = tolerate && result.error_code == kafka::wire(expected_error);
    if (result.error_code != 0 && !passed_over) {
      status = fail(command, fmt::format("{}: {}", result.name, describe_error(result.error_code, result.message)));
    } else if (!options.json) {
      fmt::print("{} topic {}.\n", passed_over ? "Left alone" : done, result.name);
    }
    if (options.json) {
      list.push_back(
          {{"topic", result.name},
           {"done", result.error_code == 0},
           {"error", result.error_code == 0 ? ordered_json() : ordered_json(describe_error(result.error_code))}});
    }
  }
  if (options.json) print_json(list);
  return status;
}

int list(const TopicsOptions& options) {
  auto client = Client::connect(options.client);
  if (!client) return fail("topics list", client.error());
  auto cluster = client->describe(nullptr, false);
  if (!cluster) return fail("topics list", cluster.error());
  ordered_json all = ordered_json::array();
  for (const Topic& topic : cluster->topics) {
    if (options.exclude_internal && topic.is_internal) continue;
    if (options.json) {
      all.push_back({{"topic", topic.name}, {"partitions", topic.partitions.size()}, {"internal", topic.is_internal}});
    } else {
      fmt::print("{}\n", topic.name);
    }
  }
  if (options.json) print_json(all);
  return 0;
}

int create(const TopicsOptions& options) {
  std::vector<std::pair<std::string_view, std::string_view>> configs;
  for (const std::string& config : options.configs) {
    const std::size_t equals = config.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return fail("topics create", fmt::format("--config takes KEY=VALUE, not \"{}\"", config));
    }
    configs.emplace_back(std::string_view(config).substr(0, equals), std::string_view(config).substr(equals + 1));
  }
  auto client = Client::connect(options.client);
  if (!client) return fail("topics create", client.error());
  kafka::CreateTopicsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(options.client.timeout_ms);
  for (const std::string& name : options.names) {
    kafka::CreateTopicsRequest::CreatableTopic topic;
    topic.name = name;
    topic.num_partitions = options.partitions;
    topic.replication_factor = options.replication_factor;
    for (const auto& [key, value] : configs) {
      kafka::CreateTopicsRequest::CreatableTopicConfig config;
      config.name = key;
      config.value = value;
      topic.configs.push_back(config);
    }
    request.topics.push_back(std::move(topic));
  }
  auto results = ask_controller<kafka::CreateTopicsResponse>(*client, request, [](const auto& answer) {
    std::vector<TopicResult> all;
    for (const auto& topic : answer.topics) {
      all.push_back({std::string(topic.name), topic.error_code, std::string(topic.error_message.value_or(""))});
    }
    return all;
  });
  if (!results) return fail("topics create", results.error());
  return report(options, "topics create", "Created", *results, kafka::ErrorCode::TOPIC_ALREADY_EXISTS,
                options.if_not_exists);
}

int remove(const TopicsOptions& options) {
  auto client = Client::connect(options.client);
  if (!client) return fail("topics delete", client.error());
  kafka::DeleteTopicsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(options.client.timeout_ms);
  for (const std::string& name : options.names) {  // one of the two is sent, by the version
    kafka::DeleteTopicsRequest::DeleteTopicState topic;
    topic.name = name;
    request.topics.push_back(topic);
    request.topic_names.push_back(name);
  }
  auto results = ask_controller<kafka::DeleteTopicsResponse>(*client, request, [](const auto& answer) {
    std::vector<TopicResult> all;
    for (const auto& topic : answer.responses) {
      all.push_back(
          {std::string(topic.name.value_or("")), topic.error_code, std::string(topic.error_message.value_or(""))});
    }
    return all;
  });
  if (!results) return fail("topics delete", results.error());
  return report(options, "topics delete", "Deleted", *results, kafka::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                options.if_exists);
}

int alter(const TopicsOptions& options) {
  auto client = Client::connect(options.client);
  if (!client) return fail("topics alter", client.error());
  kafka::CreatePartitionsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(options.client.timeout_ms);
  for (const std::string& name : options.names) {
    kafka::CreatePartitionsRequest::CreatePartitionsTopic topic;
    topic.name = name;
    topic.count = options.partitions;
    request.topics.push_back(std::move(topic));
  }
  auto results = ask_controller<kafka::CreatePartitionsResponse>(*client, request, [](const auto& answer) {
    std::vector<TopicResult> all;
    for (const auto& topic : answer.results) {
      all.push_back({std::string(topic.name), topic.error_code, std::string(topic.error_message.value_or(""))});
    }
    return all;
  });
  if (!results) return fail("topics alter", results.error());
  return report(options, "topics alter", "Altered", *results, kafka::ErrorCode::NONE, false);
}

using Configs = std::vector<std::pair<std::string, std::string>>;

// The settings that were given to the topics themselves; in the order of `topics`.
Outcome<std::vector<Configs>> own_configs(Client& client, const std::vector<const Topic*>& topics) {
  kafka::DescribeConfigsRequest request;
  for (const Topic* topic : topics) {
    kafka::DescribeConfigsRequest::DescribeConfigsResource resource;
    resource.resource_type = kTopicResource;
    resource.resource_name = topic->name;
    request.resources.push_back(std::move(resource));
  }
  auto connection = client.any();
  if (!connection) return std::unexpected(connection.error());
  auto reply = ask<kafka::DescribeConfigsResponse>(**connection, request, client.timeout());
  if (!reply) return std::unexpected(reply.error());
  std::vector<Configs> all(topics.size());
  for (const auto& result : reply->message.results) {
    for (std::size_t i = 0; i < topics.size(); ++i) {
      if (topics[i]->name != result.resource_name) continue;
      for (const auto& config : result.configs) {
        if (config.config_source != kDynamicTopicConfig) continue;
        all[i].emplace_back(config.name, config.value.value_or(config.is_sensitive ? "(hidden)" : ""));
      }
    }
  }
  return all;
}

std::string join(const std::vector<BrokerId>& ids) { return fmt::format("{}", fmt::join(ids, ",")); }

void describe_for_people(const Topic& topic, const Configs& configs) {
  std::string settings;
  for (const auto& [key, value] : configs) settings += (settings.empty() ? "" : ",") + key + "=" + value;
  fmt::print("Topic: {}\tTopicId: {}\tPartitionCount: {}\tReplicationFactor: {}\tConfigs: {}\n", topic.name,
             topic.id.text(), topic.partitions.size(),
             topic.partitions.empty() ? 0 : topic.partitions.front().replicas.size(), settings);
  for (const Partition& partition : topic.partitions) {
    fmt::print("\tTopic: {}\tPartition: {}\tLeader: {}\tReplicas: {}\tIsr: {}\n", topic.name, partition.index,
               partition.leader < 0 ? "none" : std::to_string(partition.leader), join(partition.replicas),
               join(partition.in_sync));
  }
}

ordered_json describe_as_json(const Topic& topic, const Configs& configs) {
  ordered_json settings = ordered_json::object();
  for (const auto& [key, value] : configs) settings[key] = value;
  ordered_json partitions = ordered_json::array();
  for (const Partition& partition : topic.partitions) {
    partitions.push_back({{"partition", partition.index},
                          {"leader", partition.leader},
                          {"leader_epoch", partition.leader_epoch},
                          {"replicas", partition.replicas},
                          {"isr", partition.in_sync}});
  }
  return {{"topic", topic.name},
          {"topic_id", topic.id.text()},
          {"internal", topic.is_internal},
          {"configs", settings},
          {"partitions", partitions}};
}

int describe(const TopicsOptions& options) {
  auto client = Client::connect(options.client);
  if (!client) return fail("topics describe", client.error());
  auto cluster = client->describe(options.names.empty() ? nullptr : &options.names, false);
  if (!cluster) return fail("topics describe", cluster.error());
  int status = 0;
  std::vector<const Topic*> topics;
  for (const Topic& topic : cluster->topics) {
    if (topic.error_code != 0) {
      status = fail("topics describe", fmt::format("{}: {}", topic.name, describe_error(topic.error_code)));
    } else if (!(options.exclude_internal && topic.is_internal)) {
      topics.push_back(&topic);
    }
  }
  if (topics.empty()) {
    if (options.json) print_json(ordered_json::array());
    return status;
  }
  auto configs = own_configs(*client, topics);
  if (!configs) return fail("topics describe", configs.error());
  ordered_json all = ordered_json::array();
  for (std::size_t i = 0; i < topics.size(); ++i) {
    if (options.json) {
      all.push_back(describe_as_json(*topics[i], (*configs)[i]));
    } else {
      describe_for_people(*topics[i], (*configs)[i]);
    }
  }
  if (options.json) print_json(all);
  return status;
}

}  // namespace

void add_topics_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TopicsOptions>();
  CLI::App* topics = app.add_subcommand("topics", "List, create, describe, alter and delete topics");
  topics->require_subcommand(1);
  auto add = [&](const char* name, const char* what, int (*run)(const TopicsOptions&)) {
    CLI::App* command = topics->add_subcommand(name, what);
    add_client_options(*command, options->client);
    command->add_flag("--json", options->json, "print JSON");
    command->callback([options, run, &exit_code] { exit_code = run(*options); });
    return command;
  };
  auto add_names = [&](CLI::App* command, bool required) {
    command->add_option("topic,--topic", options->names, "the topics")->type_name("TOPIC")->required(required);
  };

  CLI::App* command = add("list", "Print the names of all topics", list);
  command->add_flag("--exclude-internal", options->exclude_internal, "without __consumer_offsets and the like");

  command = add("create", "Create topics", create);
  add_names(command, true);
  command->add_option("--partitions", options->partitions, "how many partitions (default: num.partitions)")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N");
  command->add_option("--replication-factor", options->replication_factor, "how many replicas (default: the broker's)")
      ->check(CLI::Range(1, 32767).description(""))
      ->type_name("N");
  command->add_option("--config", options->configs, "a setting of the topic; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--if-not-exists", options->if_not_exists, "leave alone what is there already");

  command = add("describe", "Show partitions, leaders and settings; of all topics when none is named", describe);
  add_names(command, false);
  command->add_flag("--exclude-internal", options->exclude_internal, "without __consumer_offsets and the like");

  command = add("alter", "Add partitions to topics", alter);
  add_names(command, true);
  command->add_option("--partitions", options->partitions, "how many partitions there shall be")
      ->required()
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N");

  command = add("delete", "Delete topics with all their records", remove);
  add_names(command, true);
  command->add_flag("--if-exists", options->if_exists, "leave alone what is not there");
}

}  // namespace tailrace::cli
