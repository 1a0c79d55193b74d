// `tailrace groups reset-offsets`: everything is planned before anything is committed.
#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/absent.h"
#include "cli/clock.h"
#include "cli/config_text.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/reset_plan.h"
#include "cli/text.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kCommand = "groups reset-offsets";

// What the command line says.
struct Wanted {
  ResetTarget target;
  std::vector<TopicPartitions> topics;
  ResetFile file;
};

// A group that is to be reset.
struct Reset {
  std::string group;
  std::map<PartitionKey, PartitionFacts> partitions;
  std::map<PartitionKey, Offset> offsets;  // the plan
};

Outcome<std::int64_t> time_before_now(std::string_view duration) {
  const auto ms = parse_duration(duration);
  if (!ms) {
    return std::unexpected(
        fmt::format("\"{}\" is no duration; write PnDTnHnMnS, as P1D for a day or PT1H30M for 90 minutes", duration));
  }
  std::int64_t time = 0;
  if (__builtin_sub_overflow(wall_clock_ms(), *ms, &time)) time = std::numeric_limits<std::int64_t>::max();
  return std::max<std::int64_t>(0, time);
}

Outcome<ResetTarget> parse_target(const GroupsResetOptions& options) {
  using Kind = ResetTarget::Kind;
  std::vector<ResetTarget> targets;
  if (options.to_earliest) targets.push_back({Kind::earliest});
  if (options.to_latest) targets.push_back({Kind::latest});
  if (options.to_current) targets.push_back({Kind::current});
  if (options.to_offset) targets.push_back({Kind::offset, *options.to_offset});
  if (options.shift_by) targets.push_back({Kind::shift, *options.shift_by});
  if (!options.to_datetime.empty()) {
    const auto time = parse_time(options.to_datetime);
    if (!time || *time < 0) {
      return std::unexpected(
          fmt::format("--to-datetime: \"{}\" is no time; write 2026-01-02T03:04:05.678", options.to_datetime));
    }
    targets.push_back({Kind::time, *time});
  }
  if (!options.by_duration.empty()) {
    auto time = time_before_now(options.by_duration);
    if (!time) return std::unexpected("--by-duration: " + time.error());
    targets.push_back({Kind::time, *time});
  }
  if (!options.from_file.empty()) targets.push_back({Kind::file});
  if (targets.size() == 1) return targets[0];
  return std::unexpected(
      fmt::format("{} of --to-earliest, --to-latest, --to-current, --to-offset, --shift-by, --to-datetime, "
                  "--by-duration and --from-file",
                  targets.empty() ? "say where to with one" : "only one can be used"));
}

Outcome<Wanted> parse_wanted(const GroupsResetOptions& options) {
  if (const std::string wrong = check_groups(options); !wrong.empty()) return std::unexpected(wrong);
  auto target = parse_target(options);
  if (!target) return std::unexpected(target.error());
  Wanted wanted{.target = *target, .topics = {}, .file = {}};
  for (const std::string& text : options.topics) {
    auto parsed = parse_topic_partitions(text);
    if (!parsed) return std::unexpected("--topic: " + parsed.error());
    wanted.topics.push_back(std::move(*parsed));
  }
  const bool has_scope = options.all_topics || !options.topics.empty();
  if (target->kind != ResetTarget::Kind::file) {
    if (!has_scope) return std::unexpected(std::string("which partitions? Use --topic or --all-topics"));
    return wanted;
  }
  if (has_scope)
    return std::unexpected(std::string("--from-file says which partitions; leave --topic and --all-topics"));
  auto text = read_text_file(options.from_file);
  if (!text) return std::unexpected(text.error());
  auto file = parse_reset_file(*text);
  if (!file) return std::unexpected(fmt::format("{}: {}", options.from_file, file.error()));
  if (!file->names_groups && options.groups.size() != 1) {
    return std::unexpected(fmt::format("{} names no groups, so it is for one group only", options.from_file));
  }
  wanted.file = std::move(*file);
  return wanted;
}

// The partitions of one group, with what it has committed.
Outcome<Reset> collect(Client& client, const GroupsResetOptions& options, const Wanted& wanted, const Cluster& cluster,
                       const std::string& group) {
  Reset reset{.group = group, .partitions = {}, .offsets = {}};
  for (const ResetLine& line : wanted.file.lines) {
    if (!wanted.file.names_groups || line.group == group) reset.partitions[line.key].listed = line.offset;
  }
  for (const TopicPartitions& one : wanted.topics) {
    for (const std::int32_t partition : one.partitions) reset.partitions[{one.topic, partition}];
    if (!one.partitions.empty()) continue;
    const auto topic = std::find_if(cluster.topics.begin(), cluster.topics.end(),
                                    [&](const Topic& known) { return known.name == one.topic; });
    if (topic == cluster.topics.end() || topic->error_code != 0) {
      return std::unexpected(fmt::format("there is no topic {}", one.topic));
    }
    for (const Partition& partition : topic->partitions) reset.partitions[{one.topic, partition.index}];
  }
  const auto kind = wanted.target.kind;
  if (!options.all_topics && kind != ResetTarget::Kind::current && kind != ResetTarget::Kind::shift) return reset;
  auto committed = committed_offsets(client, group);
  if (!committed) return std::unexpected(fmt::format("group {}: {}", group, committed.error()));
  for (const auto& [key, offset] : *committed) {
    if (options.all_topics || reset.partitions.contains(key)) reset.partitions[key].committed = offset.offset;
  }
  return reset;
}

// Asks where the logs begin and end, and where the time is. Error: a partition that is not there or cannot be asked.
Outcome<void> find_facts(Client& client, const ResetTarget& target, std::vector<Reset>& resets) {
  std::set<std::string> names;
  std::set<PartitionKey> keys;
  for (const Reset& reset : resets) {
    for (const auto& [key, facts] : reset.partitions) {
      names.insert(key.topic);
      keys.insert(key);
    }
  }
  if (keys.empty()) return {};
  const std::vector<std::string> topics(names.begin(), names.end());
  auto cluster = client.describe(&topics, false);
  if (!cluster) return std::unexpected(cluster.error());
  const std::vector<PartitionKey> all(keys.begin(), keys.end());
  const auto find = [&](std::int64_t time) -> Outcome<std::map<PartitionKey, FoundOffset>> {
    auto found = find_offsets(client, *cluster, all, time, false);
    if (!found) return found;
    for (const auto& [key, one] : *found) {
      if (!one.error.empty()) return std::unexpected(fmt::format("{}-{}: {}", key.topic, key.partition, one.error));
    }
    return found;
  };
  auto begins = find(kEarliestTime);
  if (!begins) return std::unexpected(begins.error());
  auto ends = find(kLatestTime);
  if (!ends) return std::unexpected(ends.error());
  std::map<PartitionKey, FoundOffset> times;
  if (target.kind == ResetTarget::Kind::time) {
    auto found = find(target.value);
    if (!found) return std::unexpected(found.error());
    times = std::move(*found);
  }
  for (Reset& reset : resets) {
    for (auto& [key, facts] : reset.partitions) {
      facts.begin = (*begins)[key].offset;
      facts.end = (*ends)[key].offset;
      if (const auto at = times.find(key); at != times.end() && at->second.offset >= 0)
        facts.at_time = at->second.offset;
    }
  }
  return {};
}

Outcome<void> plan(const ResetTarget& target, Reset& reset) {
  for (const auto& [key, facts] : reset.partitions) {
    auto planned = plan_offset(target, facts);
    const std::string name = fmt::format("group {}, {}-{}", reset.group, key.topic, key.partition);
    if (!planned) return std::unexpected(fmt::format("{}: {}", name, planned.error()));
    if (!planned->warning.empty()) note(kCommand, fmt::format("warning: {}: {}", name, planned->warning));
    reset.offsets[key] = planned->offset;
  }
  return {};
}

struct Done {
  std::string group;
  PartitionKey key;
  Offset offset = 0;
  std::string error;
};

// Commits a group's plan, if it shall be; what became of each partition goes to `done`.
void carry_out(Client& client, bool execute, const Reset& reset, std::vector<Done>& done) {
  Outcome<PartitionVerdicts> verdicts = PartitionVerdicts();
  if (execute) verdicts = commit_offsets(client, reset.group, reset.offsets);
  for (const auto& [key, offset] : reset.offsets) {
    Done& one = done.emplace_back(Done{.group = reset.group, .key = key, .offset = offset, .error = {}});
    if (!verdicts) {
      one.error = verdicts.error();
    } else if (const auto at = verdicts->find(key); at != verdicts->end() && !at->second.is_done()) {
      one.error = describe_group_error(at->second.error_code, at->second.message);
    }
  }
}

int show(const GroupsResetOptions& options, const std::vector<Done>& done) {
  int status = kExitDone;
  std::string csv;
  std::vector<std::vector<std::string>> rows = {{"GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"}};
  ordered_json all = ordered_json::array();
  for (const Done& one : done) {
    if (!one.error.empty()) {
      status =
          fail(kCommand, fmt::format("group {}, {}-{}: {}", one.group, one.key.topic, one.key.partition, one.error));
    } else {
      csv += reset_line_text({one.group, one.key, one.offset}, options.groups.size() != 1);
      rows.push_back({one.group, one.key.topic, std::to_string(one.key.partition), std::to_string(one.offset)});
    }
    all.push_back({{"group", one.group},
                   {"topic", one.key.topic},
                   {"partition", one.key.partition},
                   {"new_offset", one.offset},
                   {"done", options.execute && one.error.empty()},
                   {"error", or_null(one.error)}});
  }
  if (options.json) {
    print_json(all);
  } else if (options.export_csv) {
    write_out(csv);
  } else if (rows.size() > 1) {
    write_out(table(rows));
  }
  return status;
}

}  // namespace

int reset_offsets(const GroupsResetOptions& options) {
  auto wanted = parse_wanted(options);
  if (!wanted) return misuse(kCommand, wanted.error());
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto names = chosen_groups(*client, options);
  if (!names) return fail(kCommand, names.error());
  auto groups = describe_groups(*client, *names);
  if (!groups) return fail(kCommand, groups.error());
  std::vector<std::string> topics;
  for (const TopicPartitions& one : wanted->topics) topics.push_back(one.topic);
  auto cluster = client->describe(&topics, false);
  if (!cluster) return fail(kCommand, cluster.error());
  int status = kExitDone;
  std::vector<Reset> resets;
  for (const Group& group : *groups) {
    if (!group.error.empty() && !group.is_missing) {
      status = fail(kCommand, fmt::format("group {}: {}", group.group, group.error));
    } else if (!group.is_inactive()) {
      status = fail(kCommand, fmt::format("group {} is {}, and only groups without active members can be reset",
                                          group.group, group.state));
    } else {
      auto reset = collect(*client, options, *wanted, *cluster, group.group);
      if (!reset) return fail(kCommand, reset.error());
      if (reset->partitions.empty()) {
        status = fail(kCommand, wanted->target.kind == ResetTarget::Kind::file
                                    ? fmt::format("{} says nothing of group {}", options.from_file, group.group)
                                    : fmt::format("group {} has committed no offsets", group.group));
      }
      resets.push_back(std::move(*reset));
    }
  }
  if (auto found = find_facts(*client, wanted->target, resets); !found) return fail(kCommand, found.error());
  for (Reset& reset : resets) {
    if (auto planned = plan(wanted->target, reset); !planned) return fail(kCommand, planned.error());
  }
  std::vector<Done> done;
  for (const Reset& reset : resets) carry_out(*client, options.execute, reset, done);
  if (const int shown = show(options, done); shown != kExitDone) status = shown;
  if (!options.execute && !options.dry_run && !options.export_csv && !options.json && !done.empty()) {
    note(kCommand, "this was a dry run, nothing was changed; add --execute to do it");
  }
  return status;
}

}  // namespace tailrace::cli
