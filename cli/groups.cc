// `tailrace groups`: consumer groups, in the words of kafka-consumer-groups.
#include "cli/groups.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/absent.h"
#include "cli/commands.h"
#include "cli/config_text.h"
#include "cli/output.h"
#include "cli/reset_plan.h"
#include "cli/text.h"
#include "cli/verdicts.h"
#include "services/node/regex.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 7> kStates = {
    "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling"};
constexpr std::array<std::string_view, 4> kTypes = {"Classic", "Consumer", "Share", "Streams"};

struct ListOptions : CommandOptions {
  bool with_states = false;
  bool with_types = false;
  std::string states;
  std::string types;
  bool all = false;
};

bool is_same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

// "stable,empty" in the spelling that brokers know.
template <class Known>
Outcome<std::vector<std::string>> parse_words(std::string_view text, const Known& known, std::string_view what) {
  std::vector<std::string> words;
  for (const std::string& word : split_list(text)) {
    const auto at =
        std::find_if(known.begin(), known.end(), [&](std::string_view one) { return is_same_word(one, word); });
    if (at == known.end()) {
      return std::unexpected(fmt::format("\"{}\" is no {}; there are {}", word, what, fmt::join(known, ", ")));
    }
    words.emplace_back(*at);
  }
  return words;
}

int list(const ListOptions& options) {
  auto states = parse_words(options.states, kStates, "state");
  if (!states) return misuse("groups list", "--state: " + states.error());
  auto types = parse_words(options.types, kTypes, "type");
  if (!types) return misuse("groups list", "--type: " + types.error());
  auto client = Client::connect(options.client);
  if (!client) return fail("groups list", client.error());
  auto groups = list_groups(*client, {.states = *states, .types = *types});
  if (!groups) return fail("groups list", groups.error());
  if (!options.all) std::erase_if(*groups, [](const ListedGroup& group) { return !is_consumer_group(group); });
  if (options.json) {
    ordered_json all = ordered_json::array();
    for (const ListedGroup& group : *groups) {
      all.push_back({{"group", group.group},
                     {"type", group.type},
                     {"state", group.state},
                     {"protocol_type", group.protocol_type}});
    }
    print_json(all);
    return kExitDone;
  }
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& name, const std::string& type, const std::string& protocol,
                       const std::string& state) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(name);
    if (options.with_types || options.all) row.push_back(type.empty() ? "-" : type);
    if (options.all) row.push_back(protocol.empty() ? "-" : protocol);
    if (options.with_states) row.push_back(state.empty() ? "-" : state);
  };
  add("GROUP", "TYPE", "PROTOCOL", "STATE");
  for (const ListedGroup& group : *groups) add(group.group, group.type, group.protocol_type, group.state);
  if (rows[0].size() == 1) rows.erase(rows.begin());  // names alone need no head
  write_out(table(rows));
  return kExitDone;
}

int remove(const GroupsOptions& options) {
  if (const std::string wrong = check_groups(options); !wrong.empty()) return misuse("groups delete", wrong);
  auto client = Client::connect(options.client);
  if (!client) return fail("groups delete", client.error());
  auto groups = chosen_groups(*client, options);
  if (!groups) return fail("groups delete", groups.error());
  auto verdicts = delete_groups(*client, *groups);
  if (!verdicts) return fail("groups delete", verdicts.error());
  int status = kExitDone;
  ordered_json all = ordered_json::array();
  for (const Verdict& verdict : *verdicts) {
    const std::string error =
        verdict.is_done() ? std::string() : describe_group_error(verdict.error_code, verdict.message);
    if (!error.empty()) {
      status = fail("groups delete", fmt::format("{}: {}", verdict.name, error));
    } else if (!options.json) {
      print("Deleted group {}.\n", verdict.name);
    }
    all.push_back({{"group", verdict.name}, {"done", error.empty()}, {"error", or_null(error)}});
  }
  if (options.json) print_json(all);
  return status;
}

struct DeleteOffsetsOptions : CommandOptions {
  std::string group;
  std::vector<std::string> topics;
};

int remove_offsets(const DeleteOffsetsOptions& options) {
  static constexpr std::string_view kCommand = "groups delete-offsets";
  std::vector<TopicPartitions> wanted;
  for (const std::string& text : options.topics) {
    auto parsed = parse_topic_partitions(text);
    if (!parsed) return misuse(kCommand, "--topic: " + parsed.error());
    wanted.push_back(std::move(*parsed));
  }
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  // What is committed for a topic that is gone can be deleted, too, so the partitions are those of the commits.
  auto committed = committed_offsets(*client, options.group);
  if (!committed) return fail(kCommand, fmt::format("group {}: {}", options.group, committed.error()));
  std::set<PartitionKey> keys;
  for (const TopicPartitions& one : wanted) {
    for (const std::int32_t partition : one.partitions) keys.insert({one.topic, partition});
    if (!one.partitions.empty()) continue;
    for (const auto& [key, offset] : *committed) {
      if (key.topic == one.topic) keys.insert(key);
    }
  }
  if (keys.empty()) {
    auto groups = describe_groups(*client, {options.group});
    if (!groups) return fail(kCommand, groups.error());
    return fail(kCommand, groups->front().is_missing
                              ? fmt::format("there is no group {}", options.group)
                              : fmt::format("group {} has committed nothing for this", options.group));
  }
  auto verdicts = delete_offsets(*client, options.group, {keys.begin(), keys.end()});
  if (!verdicts) return fail(kCommand, fmt::format("group {}: {}", options.group, verdicts.error()));
  int status = kExitDone;
  ordered_json all = ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"TOPIC", "PARTITION", "STATUS"}};
  for (const auto& [key, verdict] : *verdicts) {
    const std::string error =
        verdict.is_done() ? std::string() : describe_group_error(verdict.error_code, verdict.message);
    if (!error.empty()) status = fail(kCommand, fmt::format("{}: {}", verdict.name, error));
    if (error.empty()) rows.push_back({key.topic, std::to_string(key.partition), "Successful"});
    all.push_back({{"group", options.group},
                   {"topic", key.topic},
                   {"partition", key.partition},
                   {"done", error.empty()},
                   {"error", or_null(error)}});
  }
  if (options.json) {
    print_json(all);
  } else if (rows.size() > 1) {
    write_out(table(rows));
  }
  return status;
}

void add_list(Command groups, int& exit_code) {
  auto options = std::make_shared<ListOptions>();
  Command command = add_command(groups, "list", "Print the ids of consumer groups", options, exit_code, list);
  const Option state = command
                           .add_option("--state", options->states,
                                       "show states, or only groups in these, with commas: " +
                                           fmt::format("{}", fmt::join(kStates, ", ")))
                           .type_name("[STATE,...]")
                           .expected(0, 1);
  const Option type =
      command
          .add_option("--type", options->types, "show types, or only groups of these, with commas: classic, consumer")
          .type_name("[TYPE,...]")
          .expected(0, 1);
  command.add_flag("--all", options->all, "also groups that are no consumers': of share groups, Connect and the like");
  command.callback([options, state, type, &exit_code] {
    options->with_states = state.count() > 0;
    options->with_types = type.count() > 0;
    exit_code = list(*options);
  });
  add_examples(command, {"groups list", "groups list --state --type", "groups list --state stable,empty --json"});
}

void add_describe(Command groups, int& exit_code) {
  auto options = std::make_shared<GroupsDescribeOptions>();
  Command command = add_command(groups, "describe", "Show how far groups are, their members, or their state", options,
                                exit_code, describe_groups);
  add_groups(command, *options);
  const Option offsets =
      command.add_flag("--offsets", options->offsets, "committed offsets, and how many records are unread (default)")
          .group("What");
  const Option members = command.add_flag("--members", options->members, "members").group("What").excludes(offsets);
  command.add_flag("--state", options->state, "state, coordinator and assignor")
      .group("What")
      .excludes(offsets)
      .excludes(members);
  command.add_flag("--verbose", options->verbose, "also leader epochs, assignments of members, or epochs of the group");
  command.add_flag("--time", options->time,
                   "also how old the oldest unread record is; reads a record of each partition that has a lag");
  command.footer("\"-\": there is none, or it is not known.");
  add_examples(command, {"groups describe billing", "groups describe --all-groups --time",
                         "groups describe billing --members --verbose"});
}

void add_reset(Command groups, int& exit_code) {
  auto options = std::make_shared<GroupsResetOptions>();
  Command command = add_command(groups, "reset-offsets", "Let groups without members go on elsewhere", options,
                                exit_code, reset_offsets);
  command.description(
      "Let groups without members go on elsewhere\nShows what would be done. With --execute it is done.");
  add_groups(command, *options);
  constexpr const char* kScope = "Which partitions";
  command.add_option("--topic", options->topics, "all partitions of a topic, or these; may be repeated")
      .type_name("TOPIC[:N,...]")
      .group(kScope);
  command.add_flag("--all-topics", options->all_topics, "all for which the group has committed offsets")
      .excludes("--topic")
      .group(kScope);
  constexpr const char* kWhere = "Where to (one of these)";
  command.add_flag("--to-earliest", options->to_earliest, "the first record that is there").group(kWhere);
  command.add_flag("--to-latest", options->to_latest, "behind the last record").group(kWhere);
  command
      .add_flag("--to-current", options->to_current, "where the group is; behind the last record where it is nowhere")
      .group(kWhere);
  command.add_option("--to-offset", options->to_offset, "this offset").type_name("OFFSET").group(kWhere);
  command.add_option("--shift-by", options->shift_by, "so many records on, or back when it is negative")
      .type_name("N")
      .group(kWhere);
  command
      .add_option("--to-datetime", options->to_datetime,
                  "the first record that is not older: 2026-01-02T03:04:05.678, in UTC without a zone")
      .type_name("TIME")
      .group(kWhere);
  command.add_option("--by-duration", options->by_duration, "the same, so long ago: P1DT2H3M4S is a day and some hours")
      .type_name("DURATION")
      .group(kWhere);
  command
      .add_option("--from-file", options->from_file,
                  "what --export has written: lines of [group,]topic,partition,offset; - is standard input")
      .type_name("FILE")
      .group(kWhere);
  const Option dry_run = command.add_flag("--dry-run", options->dry_run, "only show it, and do not say so");
  command.add_flag("--execute", options->execute, "do it").excludes(dry_run);
  command.add_flag("--export", options->export_csv, "show it as CSV, with groups unless one --group is named");
  add_examples(command, {"groups reset-offsets billing --topic orders:0,1 --to-earliest",
                         "groups reset-offsets billing --all-topics --by-duration PT1H --execute",
                         "groups reset-offsets billing --all-topics --to-current --export"});
}

struct RegexOptions {
  std::string regex;
  bool json = false;
};

int validate_regex(const RegexOptions& options) {
  constexpr const char* kCommand = "groups validate-regex";
  const auto compiled = node::Regex::compile(options.regex, node::kTopicRegexBytesMax);
  const std::string error = compiled ? "" : compiled.error();
  if (options.json) {
    print_json({{"regex", options.regex}, {"valid", compiled.has_value()}, {"error", or_null(error)}});
  } else if (compiled) {
    print("The regular expression `{}` is valid.\n", options.regex);
  }
  if (compiled) return kExitDone;
  return fail(kCommand, fmt::format("the regular expression `{}` is invalid: {}", options.regex, error));
}

}  // namespace

void add_groups(Command command, GroupsOptions& options) {
  const Option groups = command.add_option("GROUP,--group", options.groups, "group ids").type_name("GROUP");
  command.add_flag("--all-groups", options.all_groups, "all consumer groups").excludes(groups);
}

std::string check_groups(const GroupsOptions& options) {
  return options.groups.empty() && !options.all_groups ? "which groups? Name them, or use --all-groups" : "";
}

Outcome<std::vector<std::string>> chosen_groups(Client& client, const GroupsOptions& options) {
  if (!options.all_groups) {
    const std::set<std::string> unique(options.groups.begin(), options.groups.end());
    return std::vector<std::string>(unique.begin(), unique.end());
  }
  auto listed = list_groups(client, {});
  if (!listed) return std::unexpected(listed.error());
  std::vector<std::string> names;
  for (const ListedGroup& group : *listed) {
    if (is_consumer_group(group)) names.push_back(group.group);
  }
  return names;
}

void add_groups_command(Command app, int& exit_code) {
  const Command groups = add_group(app, "groups", "List, describe, reset and delete consumer groups");
  add_list(groups, exit_code);
  add_describe(groups, exit_code);
  add_reset(groups, exit_code);

  auto removal = std::make_shared<GroupsOptions>();
  Command command = add_command(groups, "delete", "Delete groups that have no members, with their offsets", removal,
                                exit_code, remove);
  add_groups(command, *removal);
  add_examples(command, {"groups delete billing", "groups delete --all-groups"});

  auto offsets = std::make_shared<DeleteOffsetsOptions>();
  command = add_command(groups, "delete-offsets", "Delete what a group has committed for topics", offsets, exit_code,
                        remove_offsets);
  command.add_option("GROUP,--group", offsets->group, "the group's id").type_name("GROUP").required();
  command.add_option("--topic", offsets->topics, "a topic, or some of its partitions; may be repeated")
      .type_name("TOPIC[:N,...]")
      .required();
  command.footer("Members may be there, when they are not subscribed to the topic.");
  add_examples(command,
               {"groups delete-offsets billing --topic orders", "groups delete-offsets billing --topic orders:0,3"});

  auto regex = std::make_shared<RegexOptions>();
  command = groups.add_subcommand("validate-regex", "Check a regular expression for topics; asks no broker");
  command.add_option("REGEX,--regex", regex->regex, "what a member of a consumer group would be subscribed by")
      .required();
  command.add_flag("--json", regex->json, "the verdict as JSON");
  add_examples(command, {"groups validate-regex 'orders-.*'"});
  command.callback([regex, &exit_code] { exit_code = validate_regex(*regex); });
}

}  // namespace tailrace::cli
