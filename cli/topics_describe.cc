#include "cli/topics_describe.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/admin.h"
#include "cli/config_text.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/topic_pattern.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kCommand = "topics describe";
constexpr std::int8_t kTopicSource = 1;  // of a setting: given to the topic itself

// A topic with the partitions of it that are shown.
struct Shown {
  const Topic* topic = nullptr;
  std::vector<const Partition*> partitions;
  std::vector<std::pair<std::string, std::string>> settings;  // the topic's own
  std::int64_t min_in_sync = 1;
};

std::string join(const std::vector<BrokerId>& ids) { return fmt::format("{}", fmt::join(ids, ",")); }

std::string leader_text(const Partition& partition) {
  return partition.leader < 0 ? "none" : std::to_string(partition.leader);
}

bool filters_partitions(const TopicsDescribeOptions& options) {
  return options.under_replicated || options.unavailable || options.under_min_isr || options.at_min_isr;
}

bool is_shown(const TopicsDescribeOptions& options, const Shown& topic, const Partition& partition) {
  const auto in_sync = static_cast<std::int64_t>(partition.in_sync.size());
  if (options.under_replicated) return partition.in_sync.size() < partition.replicas.size();
  if (options.unavailable) return partition.leader < 0;
  if (options.under_min_isr) return in_sync < topic.min_in_sync || partition.leader < 0;
  if (options.at_min_isr) return in_sync == topic.min_in_sync;
  return true;
}

void add_settings(Shown& shown, const ResourceSettings& settings) {
  for (const Setting& setting : settings.settings) {
    if (setting.source == kTopicSource) shown.settings.emplace_back(setting.name, setting.shown_value());
    if (setting.name == "min.insync.replicas") {
      shown.min_in_sync = parse_integer(setting.value.value_or("1")).value_or(1);
    }
  }
}

void print_topic(const Shown& shown) {
  const Topic& topic = *shown.topic;
  std::string settings;
  for (const auto& [key, value] : shown.settings) settings += (settings.empty() ? "" : ",") + key + "=" + value;
  print("Topic: {}  TopicId: {}  PartitionCount: {}  ReplicationFactor: {}  Configs: {}\n", topic.name, topic.id.text(),
        topic.partitions.size(), topic.partitions.empty() ? 0 : topic.partitions.front().replicas.size(),
        settings.empty() ? "-" : settings);
  std::vector<std::vector<std::string>> rows = {{"", "Partition", "Leader", "Replicas", "Isr"}};
  for (const Partition* partition : shown.partitions) {
    rows.push_back({"", std::to_string(partition->index), leader_text(*partition), join(partition->replicas),
                    join(partition->in_sync)});
  }
  write_out(table(rows));
}

void print_partitions(const std::vector<Shown>& all) {
  std::vector<std::vector<std::string>> rows = {{"Topic", "Partition", "Leader", "Replicas", "Isr"}};
  for (const Shown& shown : all) {
    for (const Partition* partition : shown.partitions) {
      rows.push_back({shown.topic->name, std::to_string(partition->index), leader_text(*partition),
                      join(partition->replicas), join(partition->in_sync)});
    }
  }
  if (rows.size() > 1) write_out(table(rows));
}

ordered_json to_json(const Shown& shown) {
  ordered_json settings = ordered_json::object();
  for (const auto& [key, value] : shown.settings) settings[key] = value;
  ordered_json partitions = ordered_json::array();
  for (const Partition* partition : shown.partitions) {
    partitions.push_back({{"partition", partition->index},
                          {"leader", partition->leader},
                          {"leader_epoch", partition->leader_epoch},
                          {"replicas", partition->replicas},
                          {"isr", partition->in_sync}});
  }
  const Topic& topic = *shown.topic;
  return {{"topic", topic.name},
          {"topic_id", topic.id.text()},
          {"internal", topic.is_internal},
          {"replication_factor", topic.partitions.empty() ? 0 : topic.partitions.front().replicas.size()},
          {"configs", std::move(settings)},
          {"partitions", std::move(partitions)}};
}

// The topics that are asked for. `status` gets what is said for those that are not there.
Outcome<std::vector<Shown>> choose(const TopicsDescribeOptions& options, const std::vector<TopicPattern>& patterns,
                                   const Cluster& cluster, int& status) {
  std::vector<Shown> all;
  std::vector<bool> is_used(patterns.size());
  for (const Topic& topic : cluster.topics) {
    bool wanted = patterns.empty() && (options.topic_id.empty() || topic.id.text() == options.topic_id);
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!patterns[i].matches(topic.name)) continue;
      is_used[i] = wanted = true;
    }
    if (!wanted || (options.exclude_internal && topic.is_internal)) continue;
    if (topic.error_code != 0) {
      status = fail(kCommand, fmt::format("{}: {}", topic.name, describe_error(topic.error_code)));
      continue;
    }
    all.push_back({.topic = &topic, .partitions = {}, .settings = {}});
  }
  if (options.if_exists) return all;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (is_used[i]) continue;
    status = fail(kCommand, patterns[i].is_literal() ? fmt::format("there is no topic {}", patterns[i].text())
                                                     : fmt::format("no topic matches {}", patterns[i].text()));
  }
  if (!options.topic_id.empty() && all.empty()) {
    return std::unexpected(fmt::format("there is no topic with the id {}", options.topic_id));
  }
  return all;
}

}  // namespace

int describe_topics(const TopicsDescribeOptions& options) {
  auto patterns = parse_topic_patterns(options.names);
  if (!patterns) return misuse(kCommand, patterns.error());
  if (Uuid id; !options.topic_id.empty() && !Uuid::parse(options.topic_id, id)) {
    return misuse(kCommand, fmt::format("\"{}\" is no topic id", options.topic_id));
  }
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  // Names are asked for by themselves, patterns need all topics.
  const bool all_literal = !patterns->empty() && std::all_of(patterns->begin(), patterns->end(),
                                                             [](const TopicPattern& one) { return one.is_literal(); });
  auto cluster = client->describe(all_literal ? &options.names : nullptr, false);
  if (!cluster) return fail(kCommand, cluster.error());
  const auto is_unknown = [](const Topic& topic) {
    return topic.error_code == kafka::wire(kafka::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
  };
  std::erase_if(cluster->topics, is_unknown);
  int status = kExitDone;
  auto shown = choose(options, *patterns, *cluster, status);
  if (!shown) return fail(kCommand, shown.error());
  std::vector<Resource> resources;
  for (const Shown& one : *shown) resources.push_back({ResourceType::topic, one.topic->name});
  auto settings = describe_settings(*client, resources, false);
  if (!settings) return fail(kCommand, settings.error());
  for (std::size_t i = 0; i < shown->size(); ++i) {
    Shown& one = (*shown)[i];
    add_settings(one, (*settings)[i]);
    for (const Partition& partition : one.topic->partitions) {
      if (is_shown(options, one, partition)) one.partitions.push_back(&partition);
    }
  }
  std::erase_if(*shown, [&](const Shown& one) {
    return (options.with_overrides && one.settings.empty()) || (filters_partitions(options) && one.partitions.empty());
  });
  if (options.json) {
    ordered_json all = ordered_json::array();
    for (const Shown& one : *shown) all.push_back(to_json(one));
    print_json(all);
  } else if (filters_partitions(options)) {
    print_partitions(*shown);
  } else {
    for (const Shown& one : *shown) print_topic(one);
  }
  return status;
}

}  // namespace tailrace::cli
