#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/admin.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/output.h"
#include "cli/topic_pattern.h"
#include "cli/topics_describe.h"
#include "cli/verdicts.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_topics.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kPartitionsMax = 1'000'000;
constexpr const char* kPatternHelp =
    "A TOPIC with a character that no topic's name has is a regular expression that must match whole names.";

struct TopicsOptions : CommandOptions {
  std::vector<std::string> names;
  std::int32_t partitions = -1;          // -1: the broker's default
  std::int16_t replication_factor = -1;  // -1: the broker's default
  std::string assignment;
  std::vector<std::string> configs;  // KEY=VALUE
  bool if_not_exists = false;
  bool if_exists = false;
  bool exclude_internal = false;
  bool validate_only = false;
};

int list(const TopicsOptions& options) {
  auto patterns = parse_topic_patterns(options.names);
  if (!patterns) return misuse("topics list", patterns.error());
  auto client = Client::connect(options.client);
  if (!client) return fail("topics list", client.error());
  auto cluster = client->describe(nullptr, false);
  if (!cluster) return fail("topics list", cluster.error());
  ordered_json all = ordered_json::array();
  for (const Topic& topic : cluster->topics) {
    const bool wanted = patterns->empty() || std::any_of(patterns->begin(), patterns->end(),
                                                         [&](const auto& one) { return one.matches(topic.name); });
    if (!wanted || (options.exclude_internal && topic.is_internal)) continue;
    if (options.json) {
      all.push_back({{"topic", topic.name}, {"partitions", topic.partitions.size()}, {"internal", topic.is_internal}});
    } else {
      print("{}\n", topic.name);
    }
  }
  if (options.json) print_json(all);
  return kExitDone;
}

int create(const TopicsOptions& options) {
  KeyValues configs;
  for (const std::string& config : options.configs) {
    auto pair = parse_key_value(config);
    if (!pair) return misuse("topics create", "--config: " + pair.error());
    configs.push_back(std::move(*pair));
  }
  Assignment assignment;
  if (!options.assignment.empty()) {
    auto parsed = parse_assignment(options.assignment);
    if (!parsed) return misuse("topics create", "--replica-assignment: " + parsed.error());
    assignment = std::move(*parsed);
  }
  auto client = Client::connect(options.client);
  if (!client) return fail("topics create", client.error());
  kafka::CreateTopicsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(options.client.timeout_ms);
  request.validate_only = options.validate_only;
  for (const std::string& name : options.names) {
    kafka::CreateTopicsRequest::CreatableTopic topic;
    topic.name = name;
    topic.num_partitions = options.partitions;
    topic.replication_factor = options.replication_factor;
    for (std::size_t i = 0; i < assignment.size(); ++i) {
      topic.assignments.emplace_back();
      topic.assignments.back().partition_index = static_cast<std::int32_t>(i);
      topic.assignments.back().broker_ids = assignment[i];
    }
    for (const auto& [key, value] : configs) {
      topic.configs.emplace_back();
      topic.configs.back().name = key;
      topic.configs.back().value = value;
    }
    request.topics.push_back(std::move(topic));
  }
  auto verdicts = ask_controller<kafka::CreateTopicsResponse>(*client, request, [](const auto& answer) {
    std::vector<Verdict> all;
    for (const auto& topic : answer.topics) {
      all.push_back({std::string(topic.name), topic.error_code, std::string(topic.error_message.value_or(""))});
    }
    return all;
  });
  if (!verdicts) return fail("topics create", verdicts.error());
  return report({.command = "topics create",
                 .kind = "topic",
                 .done = options.validate_only ? "Could create" : "Created",
                 .tolerated = options.if_not_exists ? kafka::ErrorCode::TOPIC_ALREADY_EXISTS : kafka::ErrorCode::NONE,
                 .json = options.json},
                *verdicts);
}

// The names that the command line means. A name that is not there stays, for the broker to say so; a pattern that
// matches nothing is an error, unless --if-exists is given.
Outcome<std::vector<std::string>> existing(Client& client, const TopicsOptions& options,
                                           const std::vector<TopicPattern>& patterns) {
  std::vector<std::string> names;
  std::optional<Cluster> cluster;
  for (const TopicPattern& pattern : patterns) {
    if (pattern.is_literal()) {
      names.push_back(pattern.text());
      continue;
    }
    if (!cluster) {
      auto all = client.describe(nullptr, false);
      if (!all) return std::unexpected(all.error());
      cluster = std::move(*all);
    }
    const std::size_t before = names.size();
    for (const Topic& topic : cluster->topics) {
      if (!topic.is_internal && pattern.matches(topic.name)) names.push_back(topic.name);
    }
    if (names.size() == before && !options.if_exists) {
      return std::unexpected(fmt::format("no topic matches {}", pattern.text()));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

int remove(const TopicsOptions& options) {
  auto patterns = parse_topic_patterns(options.names);
  if (!patterns) return misuse("topics delete", patterns.error());
  auto client = Client::connect(options.client);
  if (!client) return fail("topics delete", client.error());
  auto names = existing(*client, options, *patterns);
  if (!names) return fail("topics delete", names.error());
  kafka::DeleteTopicsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(options.client.timeout_ms);
  for (const std::string& name : *names) {  // one of the two is sent, by the version
    request.topics.emplace_back();
    request.topics.back().name = name;
    request.topic_names.push_back(name);
  }
  auto verdicts = ask_controller<kafka::DeleteTopicsResponse>(*client, request, [](const auto& answer) {
    std::vector<Verdict> all;
    for (const auto& topic : answer.responses) {
      all.push_back(
          {std::string(topic.name.value_or("")), topic.error_code, std::string(topic.error_message.value_or(""))});
    }
    return all;
  });
  if (!verdicts) return fail("topics delete", verdicts.error());
  return report({.command = "topics delete",
                 .kind = "topic",
                 .done = "Deleted",
                 .tolerated = options.if_exists ? kafka::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION : kafka::ErrorCode::NONE,
                 .json = options.json},
                *verdicts);
}

// Of each topic, the assignments of the partitions that are added: --replica-assignment names those of all.
Outcome<void> add_assignments(const Assignment& assignment, const Cluster& cluster,
                              kafka::CreatePartitionsRequest& request) {
  for (auto& topic : request.topics) {
    const auto known = std::find_if(cluster.topics.begin(), cluster.topics.end(),
                                    [&](const Topic& one) { return one.name == topic.name && one.error_code == 0; });
    if (known == cluster.topics.end()) continue;  // the broker will say so
    const std::size_t present = known->partitions.size();
    if (assignment.size() <= present) {
      return std::unexpected(fmt::format("{} has {} partitions; --replica-assignment names {}, and must name those too",
                                         topic.name, present, assignment.size()));
    }
    topic.assignments.emplace();
    for (std::size_t i = present; i < assignment.size(); ++i) {
      topic.assignments->emplace_back();
      topic.assignments->back().broker_ids = assignment[i];
    }
  }
  return {};
}

int alter(const TopicsOptions& options) {
  auto patterns = parse_topic_patterns(options.names);
  if (!patterns) return misuse("topics alter", patterns.error());
  Assignment assignment;
  if (!options.assignment.empty()) {
    auto parsed = parse_assignment(options.assignment);
    if (!parsed) return misuse("topics alter", "--replica-assignment: " + parsed.error());
    assignment = std::move(*parsed);
    if (static_cast<std::size_t>(options.partitions) != assignment.size()) {
      return misuse("topics alter", fmt::format("--replica-assignment names {} partitions, --partitions {}",
                                                assignment.size(), options.partitions));
    }
  }
  auto client = Client::connect(options.client);
  if (!client) return fail("topics alter", client.error());
  auto names = existing(*client, options, *patterns);
  if (!names) return fail("topics alter", names.error());
  kafka::CreatePartitionsRequest request;
  request.timeout_ms = static_cast<std::int32_t>(options.client.timeout_ms);
  request.validate_only = options.validate_only;
  for (const std::string& name : *names) {
    request.topics.emplace_back();
    request.topics.back().name = name;
    request.topics.back().count = options.partitions;
  }
  if (!assignment.empty()) {
    auto cluster = client->describe(&*names, false);
    if (!cluster) return fail("topics alter", cluster.error());
    if (auto added = add_assignments(assignment, *cluster, request); !added) return fail("topics alter", added.error());
  }
  auto verdicts = ask_controller<kafka::CreatePartitionsResponse>(*client, request, [](const auto& answer) {
    std::vector<Verdict> all;
    for (const auto& topic : answer.results) {
      all.push_back({std::string(topic.name), topic.error_code, std::string(topic.error_message.value_or(""))});
    }
    return all;
  });
  if (!verdicts) return fail("topics alter", verdicts.error());
  return report({.command = "topics alter",
                 .kind = "topic",
                 .done = options.validate_only ? "Could alter" : "Altered",
                 .tolerated = options.if_exists ? kafka::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION : kafka::ErrorCode::NONE,
                 .json = options.json},
                *verdicts);
}

void add_names(Command command, std::vector<std::string>& names, bool required, const char* what) {
  command.add_option("TOPIC,--topic", names, what).type_name("TOPIC").required(required).allow_extra_args(true);
}

void add_partitions(Command command, TopicsOptions& options, const char* what, bool required) {
  command.add_option("--partitions", options.partitions, what)
      .in_range(1, kPartitionsMax)
      .type_name("N")
      .required(required);
  command
      .add_option("--replica-assignment", options.assignment,
                  "where the replicas go: of each partition the brokers with colons, the preferred leader first; "
                  "partitions with commas (0:1,1:0)")
      .type_name("BROKERS");
  command.add_flag("--validate-only", options.validate_only, "only say whether it could be done");
}

void add_describe(Command topics, int& exit_code) {
  auto options = std::make_shared<TopicsDescribeOptions>();
  Command command = add_command(topics, "describe", "Show partitions, leaders, replicas and settings of topics",
                                options, exit_code, describe_topics);
  add_names(command, options->names, false, "names or patterns (default: all topics)");
  command.add_option("--topic-id", options->topic_id, "the topic that has this id").type_name("ID").excludes("--topic");
  command.add_flag("--exclude-internal", options->exclude_internal, "without __consumer_offsets and the like");
  command.add_flag("--if-exists", options->if_exists, "pass over what is not there");
  // One of these at most.
  std::vector<Option> filters;
  const auto add_filter = [&](const char* name, bool& flag, const char* what) {
    const Option option = command.add_flag(name, flag, what).group("Only");
    for (const Option other : filters) option.excludes(other);
    filters.push_back(option);
  };
  add_filter("--topics-with-overrides", options->with_overrides, "only topics that have settings of their own");
  add_filter("--under-replicated-partitions", options->under_replicated,
             "only partitions with replicas that are not in sync");
  add_filter("--unavailable-partitions", options->unavailable, "only partitions without a leader");
  add_filter("--under-min-isr-partitions", options->under_min_isr,
             "only partitions with fewer replicas in sync than min.insync.replicas");
  add_filter("--at-min-isr-partitions", options->at_min_isr,
             "only partitions with as many replicas in sync as min.insync.replicas");
  command.footer(kPatternHelp);
  add_examples(command, {"topics describe events", "topics describe 'events-.*' --json",
                         "topics describe --under-replicated-partitions"});
}

}  // namespace

void add_topics_command(Command app, int& exit_code) {
  auto options = std::make_shared<TopicsOptions>();
  const Command topics = add_group(app, "topics", "List, create, describe, alter and delete topics");

  Command command = add_command(topics, "list", "Print the names of topics", options, exit_code, list);
  add_names(command, options->names, false, "names or patterns (default: all topics)");
  command.add_flag("--exclude-internal", options->exclude_internal, "without __consumer_offsets and the like");
  command.footer(kPatternHelp);
  add_examples(command, {"topics list", "topics list 'orders-.*'"});

  command = add_command(topics, "create", "Create topics", options, exit_code, create);
  add_names(command, options->names, true, "names of the new topics");
  add_partitions(command, *options, "how many partitions (default: num.partitions)", false);
  command.add_option("--replication-factor", options->replication_factor, "how many replicas (default: the broker's)")
      .in_range(1, 32767)
      .type_name("N");
  command.get_option("--replica-assignment").excludes("--partitions").excludes("--replication-factor");
  command.add_option("--config", options->configs, "a setting of the topic; may be repeated").type_name("KEY=VALUE");
  command.add_flag("--if-not-exists", options->if_not_exists, "leave alone what is there already");
  add_examples(command, {"topics create events --partitions 6 --config retention.ms=86400000",
                         "topics create a b c --if-not-exists"});

  add_describe(topics, exit_code);

  command = add_command(topics, "alter", "Add partitions to topics", options, exit_code, alter);
  command.description(
      "Add partitions to topics\nKeys of new records then go to other partitions than before. Settings are changed "
      "with `tailrace configs alter`.");
  add_names(command, options->names, true, "names or patterns");
  add_partitions(command, *options, "how many partitions there shall be", true);
  command.add_flag("--if-exists", options->if_exists, "pass over what is not there");
  add_examples(command, {"topics alter events --partitions 12"});

  command = add_command(topics, "delete", "Delete topics with all their records", options, exit_code, remove);
  add_names(command, options->names, true, "names or patterns; a pattern never means internal topics");
  command.add_flag("--if-exists", options->if_exists, "pass over what is not there");
  command.footer(kPatternHelp);
  add_examples(command, {"topics delete events", "topics delete 'test-.*' --if-exists"});
}

}  // namespace tailrace::cli
