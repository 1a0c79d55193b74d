// `tailrace offsets`: offsets of partitions, by time or where they begin and end, as kafka-get-offsets.
#include <algorithm>
#include <memory>
#include <set>

#include <nlohmann/json.hpp>

#include "cli/admin.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/times.h"
#include "cli/topic_pattern.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kCommand = "offsets";

struct OffsetsOptions : CommandOptions {
  std::vector<std::string> topics;
  std::vector<std::string> topic_partitions;
  std::string partitions;
  std::vector<std::string> times;
  bool exclude_internal = false;
  bool committed = false;
};

struct Choice {
  std::vector<TopicPattern> topics;
  std::set<std::int64_t> partitions;  // empty: all
  std::vector<PartitionPattern> patterns;

  [[nodiscard]] bool matches(std::string_view topic, std::int32_t partition) const {
    if (!partitions.empty() && !partitions.contains(partition)) return false;
    if (!topics.empty()) {
      return std::any_of(topics.begin(), topics.end(), [&](const auto& one) { return one.matches(topic); });
    }
    return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                           [&](const auto& one) { return one.matches(topic, partition); });
  }
};

Outcome<Choice> parse_choice(const OffsetsOptions& options) {
  Choice choice;
  auto topics = parse_topic_patterns(options.topics);
  if (!topics) return std::unexpected(topics.error());
  choice.topics = std::move(*topics);
  for (const std::string& text : split_list(options.partitions)) {
    const auto partition = parse_integer(text);
    if (!partition || *partition < 0) return std::unexpected(fmt::format("\"{}\" is no partition", text));
    choice.partitions.insert(*partition);
  }
  for (const std::string& list : options.topic_partitions) {
    for (const std::string& text : split_list(list)) {
      auto pattern = PartitionPattern::parse(text);
      if (!pattern) return std::unexpected(pattern.error());
      choice.patterns.push_back(std::move(*pattern));
    }
  }
  return choice;
}

using Answers = std::vector<std::map<PartitionKey, FoundOffset>>;  // one per time

void print_table(const std::vector<PartitionKey>& keys, const std::vector<OffsetTime>& times, const Answers& answers) {
  std::vector<std::vector<std::string>> rows = {{"topic", "partition"}};
  const bool one_time = times.size() == 1;
  for (const OffsetTime& time : times) rows[0].push_back(one_time ? "offset" : time.name);
  const bool with_times = one_time && times[0].says_timestamp();
  if (with_times) rows[0].emplace_back("timestamp");
  for (const PartitionKey& key : keys) {
    std::vector<std::string> row = {key.topic, std::to_string(key.partition)};
    for (const auto& answer : answers) {
      const FoundOffset& found = answer.at(key);
      row.push_back(found.offset < 0 ? "-" : std::to_string(found.offset));
      if (with_times) row.push_back(found.timestamp < 0 ? "-" : time_text(found.timestamp));
    }
    rows.push_back(std::move(row));
  }
  if (rows.size() > 1) write_out(table(rows));
}

ordered_json to_json(const std::vector<PartitionKey>& keys, const std::vector<OffsetTime>& times,
                     const Answers& answers) {
  ordered_json all = ordered_json::array();
  for (const PartitionKey& key : keys) {
    ordered_json offsets = ordered_json::object();
    for (std::size_t i = 0; i < times.size(); ++i) {
      const FoundOffset& found = answers[i].at(key);
      ordered_json one = {{"offset", found.offset < 0 ? ordered_json() : ordered_json(found.offset)}};
      if (found.timestamp >= 0) one["timestamp"] = found.timestamp;
      if (found.leader_epoch >= 0) one["leader_epoch"] = found.leader_epoch;
      if (!found.error.empty()) one["error"] = found.error;
      offsets[times[i].name] = std::move(one);
    }
    all.push_back({{"topic", key.topic}, {"partition", key.partition}, {"offsets", std::move(offsets)}});
  }
  return all;
}

int offsets(const OffsetsOptions& options) {
  auto choice = parse_choice(options);
  if (!choice) return misuse(kCommand, choice.error());
  std::vector<OffsetTime> times;
  for (const std::string& text : options.times.empty() ? std::vector<std::string>{"latest"} : options.times) {
    auto time = parse_offset_time(text);
    if (!time) return misuse(kCommand, "--time: " + time.error());
    times.push_back(std::move(*time));
  }
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto cluster = client->describe(nullptr, false);
  if (!cluster) return fail(kCommand, cluster.error());
  std::vector<PartitionKey> keys;
  for (const Topic& topic : cluster->topics) {
    if (options.exclude_internal && topic.is_internal) continue;
    for (const Partition& partition : topic.partitions) {
      if (choice->matches(topic.name, partition.index)) keys.push_back({topic.name, partition.index});
    }
  }
  const bool is_choice = !options.topics.empty() || !options.topic_partitions.empty() || !options.partitions.empty();
  if (keys.empty() && is_choice) return fail(kCommand, "no partition matches");
  Answers answers;
  int status = kExitDone;
  for (const OffsetTime& time : times) {
    auto found = find_offsets(*client, *cluster, keys, time.value, options.committed);
    if (!found) return fail(kCommand, found.error());
    for (const auto& [key, one] : *found) {
      if (!one.error.empty()) status = fail(kCommand, fmt::format("{}-{}: {}", key.topic, key.partition, one.error));
    }
    answers.push_back(std::move(*found));
  }
  options.json ? print_json(to_json(keys, times, answers)) : print_table(keys, times, answers);
  return status;
}

}  // namespace

void add_offsets_command(Command app, int& exit_code) {
  auto options = std::make_shared<OffsetsOptions>();
  Command command = add_command(app, "offsets", "Show where partitions begin and end, or were at a time", options,
                                exit_code, offsets);
  const Option topics = command.add_option("TOPIC,--topic", options->topics, "names or patterns (default: all topics)")
                            .type_name("TOPIC");
  const Option partitions =
      command.add_option("--partitions", options->partitions, "only these, with commas").type_name("N,...");
  command
      .add_option("--topic-partitions", options->topic_partitions,
                  "topics and partitions, with commas: a:1, a:0-3 (without 3), a:5-, a:-3, a, :0")
      .type_name("PATTERN,...")
      .excludes(topics)
      .excludes(partitions);
  command
      .add_option("--time", options->times,
                  "latest (or -1), earliest (-2), max-timestamp (-3), earliest-local (-4), latest-tiered (-5), "
                  "earliest-pending-upload (-6), or a time: the first record that is not older (milliseconds or ISO "
                  "8601); may be repeated (default: latest)")
      .type_name("TIME");
  command.add_flag("--exclude-internal-topics", options->exclude_internal, "without __consumer_offsets and the like");
  command.add_flag("--read-committed", options->committed, "latest is the end of what such a consumer reads");
  command.footer("\"-\": there is no such offset.");
  add_examples(command, {"offsets events", "offsets events --time earliest --time latest",
                         "offsets --topic-partitions 'orders-.*:0-2' --time 2026-01-02T03:04:05Z"});
}

}  // namespace tailrace::cli
