// `tailrace groups describe`.
#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/absent.h"
#include "cli/clock.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/record_times.h"
#include "cli/text.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kCommand = "groups describe";

// A group with what is asked about it.
struct Shown {
  Group group;
  CommittedOffsets committed;
  std::vector<LagRow> rows;
};

// Ends of all partitions of all groups, and with --time the times of what is unread, are asked for together.
Outcome<void> look_at_partitions(Client& client, bool with_times, std::vector<Shown>& all) {
  std::set<std::string> names;
  std::set<PartitionKey> keys;
  for (const Shown& shown : all) {
    for (const LagRow& row : shown.rows) {
      names.insert(row.key.topic);
      keys.insert(row.key);
    }
  }
  if (keys.empty()) return {};
  const std::vector<std::string> topics(names.begin(), names.end());
  auto cluster = client.describe(&topics, false);
  if (!cluster) return std::unexpected(cluster.error());
  auto ends = find_offsets(client, *cluster, {keys.begin(), keys.end()}, kLatestTime, false);
  if (!ends) return std::unexpected(ends.error());
  for (Shown& shown : all) {
    std::map<PartitionKey, Offset> unread;
    for (LagRow& row : shown.rows) {
      const FoundOffset& end = (*ends)[row.key];
      if (end.error.empty() && end.offset >= 0) row.end = end.offset;
      if (with_times && row.lag().value_or(0) > 0) unread[row.key] = row.committed->offset;
    }
    if (unread.empty()) continue;
    auto times = record_times(client, *cluster, unread);
    if (!times) return std::unexpected(times.error());
    for (LagRow& row : shown.rows) {
      if (const auto at = times->find(row.key); at != times->end()) row.oldest_unread = at->second;
    }
  }
  return {};
}

using Rows = std::vector<std::vector<std::string>>;

Rows offset_rows(const Shown& shown, const GroupsDescribeOptions& options) {
  Rows rows = {{"GROUP", "TOPIC", "PARTITION"}};
  if (options.verbose) rows[0].emplace_back("LEADER-EPOCH");
  rows[0].insert(rows[0].end(), {"CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"});
  if (options.time) rows[0].emplace_back("LAG-TIME");
  rows[0].insert(rows[0].end(), {"CONSUMER-ID", "HOST", "CLIENT-ID"});
  const TimestampMs now = wall_clock_ms();
  for (const LagRow& one : shown.rows) {
    std::vector<std::string> row = {shown.group.group, one.key.topic, std::to_string(one.key.partition)};
    const bool has_epoch = one.committed && one.committed->leader_epoch >= 0;
    if (options.verbose) row.push_back(has_epoch ? std::to_string(one.committed->leader_epoch) : "-");
    row.push_back(one.committed ? std::to_string(one.committed->offset) : "-");
    row.push_back(or_dash(one.end));
    row.push_back(or_dash(one.lag()));
    if (options.time) {
      const auto age = lag_ms(one.lag(), one.oldest_unread, now);
      row.push_back(age ? human_duration(*age) : "-");
    }
    row.push_back(one.member ? one.member->id : "-");
    row.push_back(one.member ? one.member->host : "-");
    row.push_back(one.member ? one.member->client_id : "-");
    rows.push_back(std::move(row));
  }
  return rows;
}

Rows member_rows(const Group& group, bool verbose) {
  const auto any = [&](const auto& is_so) { return std::any_of(group.members.begin(), group.members.end(), is_so); };
  const bool has_static = any([](const GroupMember& one) { return one.instance_id.has_value(); });
  // While a group goes over to the new protocol, some have and some have not.
  const bool is_mixed = any([](const GroupMember& one) { return one.is_upgraded == true; }) &&
                        any([](const GroupMember& one) { return one.is_upgraded == false; });
  Rows rows = {{"GROUP", "CONSUMER-ID"}};
  if (has_static) rows[0].emplace_back("GROUP-INSTANCE-ID");
  rows[0].insert(rows[0].end(), {"HOST", "CLIENT-ID", "#PARTITIONS"});
  if (verbose) {
    rows[0].insert(rows[0].end(), {"CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"});
  }
  if (verbose && is_mixed) rows[0].emplace_back("UPGRADED");
  for (const GroupMember& one : group.members) {
    std::vector<std::string> row = {group.group, one.id};
    if (has_static) row.push_back(one.instance_id.value_or("-"));
    row.insert(row.end(), {one.host, one.client_id, std::to_string(one.assignment.size())});
    if (verbose) {
      row.insert(row.end(), {or_dash(one.epoch), assignment_text(one.assignment),
                             or_dash(group.target_assignment_epoch), assignment_text(one.target_assignment)});
    }
    if (verbose && is_mixed) row.push_back(!one.is_upgraded ? "-" : *one.is_upgraded ? "true" : "false");
    rows.push_back(std::move(row));
  }
  return rows;
}

Rows state_rows(const Group& group, bool verbose) {
  Rows rows = {{"GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"},
               {group.group, fmt::format("{}  ({})", group.address.text(), group.coordinator), or_dash(group.assignor),
                group.state}};
  if (verbose) {
    rows[0].insert(rows[0].end(), {"GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"});
    rows[1].insert(rows[1].end(), {or_dash(group.epoch), or_dash(group.target_assignment_epoch)});
  }
  rows[0].emplace_back("#MEMBERS");
  rows[1].push_back(std::to_string(group.members.size()));
  return rows;
}

ordered_json keys_json(const std::vector<PartitionKey>& keys) {
  ordered_json topics = ordered_json::object();
  for (const PartitionKey& key : keys) topics[key.topic].push_back(key.partition);
  return topics;
}

ordered_json member_json(const GroupMember& member) {
  ordered_json out = {{"consumer_id", member.id},
                      {"group_instance_id", or_null(member.instance_id)},
                      {"client_id", member.client_id},
                      {"host", member.host},
                      {"assignment", keys_json(member.assignment)}};
  if (member.epoch) {
    out["epoch"] = *member.epoch;
    out["target_assignment"] = keys_json(member.target_assignment);
    out["topics"] = member.topics;
    out["topic_regex"] = or_null(member.topic_regex);
    out["rack"] = or_null(member.rack);
    out["upgraded"] = or_null(member.is_upgraded);
  }
  return out;
}

ordered_json row_json(const LagRow& row, const GroupsDescribeOptions& options, TimestampMs now) {
  ordered_json out = {{"topic", row.key.topic}, {"partition", row.key.partition}};
  out["current_offset"] = row.committed ? ordered_json(row.committed->offset) : ordered_json();
  const bool has_epoch = row.committed && row.committed->leader_epoch >= 0;
  out["leader_epoch"] = has_epoch ? ordered_json(row.committed->leader_epoch) : ordered_json();
  out["log_end_offset"] = or_null(row.end);
  out["lag"] = or_null(row.lag());
  if (options.time) {
    out["oldest_unread_timestamp"] = or_null(row.oldest_unread);
    out["lag_ms"] = or_null(lag_ms(row.lag(), row.oldest_unread, now));
  }
  const auto member = [&](const std::string& text) { return row.member ? ordered_json(text) : ordered_json(); };
  static const GroupMember kNobody;
  const GroupMember& reader = row.member ? *row.member : kNobody;
  out["consumer_id"] = member(reader.id);
  out["host"] = member(reader.host);
  out["client_id"] = member(reader.client_id);
  return out;
}

ordered_json to_json(const Shown& shown, const GroupsDescribeOptions& options) {
  const Group& group = shown.group;
  ordered_json out = {{"group", group.group}};
  if (!group.error.empty()) {
    out["error"] = group.error;
    return out;
  }
  out["type"] = group.type;
  out["state"] = group.state;
  out["assignor"] = or_null(group.assignor);
  out["group_epoch"] = or_null(group.epoch);
  out["target_assignment_epoch"] = or_null(group.target_assignment_epoch);
  out["coordinator"] = {{"id", group.coordinator}, {"host", group.address.host}, {"port", group.address.port}};
  if (options.members) {
    out["members"] = ordered_json::array();
    for (const GroupMember& member : group.members) out["members"].push_back(member_json(member));
  } else {
    out["member_count"] = group.members.size();
  }
  if (!options.members && !options.state) {
    const TimestampMs now = wall_clock_ms();
    out["offsets"] = ordered_json::array();
    for (const LagRow& row : shown.rows) out["offsets"].push_back(row_json(row, options, now));
  }
  return out;
}

// One table for each group, with a line between them.
void print_tables(const std::vector<Shown>& all, const GroupsDescribeOptions& options) {
  bool is_first = true;
  for (const Shown& shown : all) {
    if (!shown.group.error.empty()) continue;
    const Rows rows = options.members ? member_rows(shown.group, options.verbose)
                      : options.state ? state_rows(shown.group, options.verbose)
                                      : offset_rows(shown, options);
    if (rows.size() == 1) continue;
    if (!is_first) write_out("\n");
    is_first = false;
    write_out(table(rows));
  }
}

}  // namespace

std::optional<std::int64_t> LagRow::lag() const {
  if (!committed || !end) return std::nullopt;
  return *end - committed->offset;
}

std::vector<LagRow> lag_rows(const Group& group, const CommittedOffsets& committed) {
  std::vector<const GroupMember*> members;
  for (const GroupMember& member : group.members) {
    if (!member.assignment.empty()) members.push_back(&member);
  }
  std::sort(members.begin(), members.end(), [](const GroupMember* a, const GroupMember* b) {
    return std::pair(b->assignment.size(), a->assignment.front()) <
           std::pair(a->assignment.size(), b->assignment.front());
  });
  std::vector<LagRow> rows;
  std::set<PartitionKey> assigned;
  const auto add = [&](const PartitionKey& key, const GroupMember* member) {
    LagRow& row =
        rows.emplace_back(LagRow{.key = key, .committed = {}, .end = {}, .member = member, .oldest_unread = {}});
    if (const auto at = committed.find(key); at != committed.end()) row.committed = at->second;
  };
  for (const GroupMember* member : members) {
    for (const PartitionKey& key : member->assignment) {
      assigned.insert(key);
      add(key, member);
    }
  }
  for (const auto& [key, offset] : committed) {
    if (!assigned.contains(key)) add(key, nullptr);
  }
  return rows;
}

std::string assignment_text(const std::vector<PartitionKey>& sorted_keys) {
  std::string out;
  const std::string* topic = nullptr;
  for (const PartitionKey& key : sorted_keys) {
    const bool is_new = topic == nullptr || *topic != key.topic;
    if (is_new) out += fmt::format("{}{}:", topic == nullptr ? "" : ";", key.topic);
    out += fmt::format("{}{}", is_new ? "" : ",", key.partition);
    topic = &key.topic;
  }
  return out.empty() ? "-" : out;
}

int describe_groups(const GroupsDescribeOptions& options) {
  if (const std::string wrong = check_groups(options); !wrong.empty()) return misuse(kCommand, wrong);
  if (options.time && (options.members || options.state)) return misuse(kCommand, "--time goes with --offsets only");
  auto client = Client::connect(options.client);
  if (!client) return fail(kCommand, client.error());
  auto names = chosen_groups(*client, options);
  if (!names) return fail(kCommand, names.error());
  auto groups = describe_groups(*client, *names);
  if (!groups) return fail(kCommand, groups.error());
  int status = kExitDone;
  std::vector<Shown> all(groups->size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    Shown& shown = all[i];
    shown.group = std::move((*groups)[i]);
    const std::string& name = shown.group.group;
    // A group that has gone since it was listed is none that is missing.
    if (shown.group.is_missing && options.all_groups) continue;
    if (shown.group.error.empty() && !options.members && !options.state) {
      auto committed = committed_offsets(*client, name);
      if (!committed) shown.group.error = committed.error();
      if (committed) shown.committed = std::move(*committed);
      shown.rows = lag_rows(shown.group, shown.committed);
    }
    if (!shown.group.error.empty()) {
      status = fail(kCommand, fmt::format("group {}: {}", name, shown.group.error));
    } else if (options.json) {
      continue;
    } else if (shown.group.state == "Empty") {
      note(kCommand, fmt::format("group {} has no active members", name));
    } else if (shown.group.is_rebalancing()) {
      note(kCommand, fmt::format("group {} is rebalancing", name));
    }
  }
  if (options.all_groups) std::erase_if(all, [](const Shown& shown) { return shown.group.is_missing; });
  if (auto looked = look_at_partitions(*client, options.time, all); !looked) return fail(kCommand, looked.error());
  if (options.json) {
    ordered_json out = ordered_json::array();
    for (const Shown& shown : all) out.push_back(to_json(shown, options));
    print_json(out);
  } else {
    print_tables(all, options);
  }
  return status;
}

}  // namespace tailrace::cli
