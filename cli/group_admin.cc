#include "cli/group_admin.h"

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "services/kafka/consumer_protocol.h"
#include "services/kafka/messages/consumer_group_describe.h"
#include "services/kafka/messages/delete_groups.h"
#include "services/kafka/messages/describe_groups.h"
#include "services/kafka/messages/find_coordinator.h"
#include "services/kafka/messages/list_groups.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/offset_delete.h"
#include "services/kafka/messages/offset_fetch.h"

namespace tailrace::cli {
namespace {

using kafka::ErrorCode;
using kafka::wire;

constexpr std::chrono::milliseconds kAskAgain{100};
// The last versions that name topics by name; later ones want their ids.
constexpr std::int16_t kOffsetFetchVersionMax = 9;
constexpr std::int16_t kOffsetCommitVersionMax = 9;
constexpr std::int16_t kManyKeysVersion = 4;  // of FindCoordinator (KIP-699)
constexpr std::string_view kConsumers = "consumer";

bool may_pass(std::int16_t code) {
  return code == wire(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS) || code == wire(ErrorCode::COORDINATOR_NOT_AVAILABLE) ||
         code == wire(ErrorCode::NOT_COORDINATOR);
}

using Verdicts = std::map<std::string, Verdict>;  // by group

// ListGroups says "classic" where Kafka's tools write "Classic".
std::string capitalized(std::string_view word) {
  std::string out(word);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::string text(std::optional<std::string_view> from) { return std::string(from.value_or("")); }

// Fills in where each group has its coordinator; `verdicts` gets those that have none.
Outcome<std::map<BrokerId, std::vector<std::string>>> find_coordinators(Client& client,
                                                                        const std::vector<std::string>& groups,
                                                                        Verdicts& verdicts) {
  std::map<BrokerId, std::vector<std::string>> found;
  const auto put = [&](const std::string& group, BrokerId node, std::int16_t code, std::string message) {
    verdicts[group] = {group, code, std::move(message)};
    if (code == 0) found[node].push_back(group);
  };
  auto connection = client.any();
  if (!connection) return std::unexpected(connection.error());
  const auto& info = kafka::FindCoordinatorRequest::kMessage;
  if ((*connection)->version_for(info.api_key, kManyKeysVersion, info.version_max) >= 0) {
    kafka::FindCoordinatorRequest request;
    for (const std::string& group : groups) request.coordinator_keys.emplace_back(group);
    auto reply = ask<kafka::FindCoordinatorResponse>(**connection, request, client.timeout());
    if (!reply) return std::unexpected(reply.error());
    for (const auto& one : reply->message.coordinators) {
      put(std::string(one.key), one.node_id, one.error_code, text(one.error_message));
    }
    return found;
  }
  for (const std::string& group : groups) {
    kafka::FindCoordinatorRequest request;
    request.key = group;
    auto reply = ask<kafka::FindCoordinatorResponse>(**connection, request, client.timeout());
    if (!reply) return std::unexpected(reply.error());
    put(group, reply->message.node_id, reply->message.error_code, text(reply->message.error_message));
  }
  return found;
}

// Asks one coordinator about the groups that it has; each gets a verdict.
using AskCoordinator =
    std::function<Outcome<std::vector<Verdict>>(Connection&, BrokerId, const std::vector<std::string>& groups)>;

// Asks the coordinators of all groups, and again for what may pass until the time is up.
Outcome<Verdicts> ask_coordinators(Client& client, std::vector<std::string> pending, const AskCoordinator& ask_one) {
  Verdicts verdicts;
  for (const std::string& group : pending) {
    verdicts[group] = {group, wire(ErrorCode::COORDINATOR_NOT_AVAILABLE), "the broker names no coordinator"};
  }
  const auto give_up = client.deadline();
  const std::vector<std::string> no_topics;
  for (;;) {
    auto by_node = find_coordinators(client, pending, verdicts);
    if (!by_node) return std::unexpected(by_node.error());
    // The client knows brokers by what it described last.
    if (auto cluster = client.describe(&no_topics, false); !cluster) return std::unexpected(cluster.error());
    for (const auto& [node, groups] : *by_node) {
      auto connection = client.broker(node);
      if (!connection) return std::unexpected(connection.error());
      auto answers = ask_one(**connection, node, groups);
      if (!answers) return std::unexpected(answers.error());
      for (Verdict& one : *answers) verdicts[one.name] = std::move(one);
    }
    std::erase_if(pending, [&](const std::string& group) { return !may_pass(verdicts[group].error_code); });
    if (pending.empty() || Connection::Clock::now() + kAskAgain >= give_up) return verdicts;
    std::this_thread::sleep_for(kAskAgain);
  }
}

// The same for one group: the verdict's sentence when it is no success.
Outcome<void> ask_coordinator(Client& client, const std::string& group, const AskCoordinator& ask_one) {
  auto verdicts = ask_coordinators(client, {group}, ask_one);
  if (!verdicts) return std::unexpected(verdicts.error());
  const Verdict& verdict = (*verdicts)[group];
  if (!verdict.is_done()) return std::unexpected(describe_group_error(verdict.error_code, verdict.message));
  return {};
}

std::vector<PartitionKey> sorted(std::vector<PartitionKey> keys) {
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<PartitionKey> partitions_of(const kafka::ConsumerGroupDescribeResponse::Assignment& assignment) {
  std::vector<PartitionKey> keys;
  for (const auto& topic : assignment.topic_partitions) {
    for (const std::int32_t partition : topic.partitions) keys.push_back({std::string(topic.topic_name), partition});
  }
  return sorted(std::move(keys));
}

// An assignment that does not decode is shown as none: other members of the group can still be looked at.
std::vector<PartitionKey> partitions_of(Bytes classic_assignment) {
  std::vector<PartitionKey> keys;
  if (classic_assignment.empty()) return keys;
  const auto assignment = kafka::decode_consumer_protocol<kafka::ConsumerProtocolAssignment>(classic_assignment);
  if (!assignment) return keys;
  for (const auto& topic : assignment->assigned_partitions) {
    for (const std::int32_t partition : topic.partitions) keys.push_back({std::string(topic.topic), partition});
  }
  return sorted(std::move(keys));
}

Group to_group(const kafka::ConsumerGroupDescribeResponse::DescribedGroup& from) {
  Group group{.group = std::string(from.group_id)};
  group.type = "Consumer";
  group.state = from.group_state;
  group.protocol_type = kConsumers;
  group.assignor = from.assignor_name;
  group.epoch = from.group_epoch;
  group.target_assignment_epoch = from.assignment_epoch;
  for (const auto& one : from.members) {
    GroupMember member{.id = std::string(one.member_id)};
    if (one.instance_id) member.instance_id = std::string(*one.instance_id);
    if (one.rack_id) member.rack = std::string(*one.rack_id);
    member.client_id = one.client_id;
    member.host = one.client_host;
    member.epoch = one.member_epoch;
    member.assignment = partitions_of(one.assignment);
    member.target_assignment = partitions_of(one.target_assignment);
    for (const std::string_view topic : one.subscribed_topic_names) member.topics.emplace_back(topic);
    member.topic_regex = text(one.subscribed_topic_regex);
    if (one.member_type >= 0) member.is_upgraded = one.member_type == 1;
    group.members.push_back(std::move(member));
  }
  return group;
}

Group to_group(const kafka::DescribeGroupsResponse::DescribedGroup& from) {
  Group group{.group = std::string(from.group_id)};
  group.type = "Classic";
  group.state = from.group_state;
  group.protocol_type = from.protocol_type;
  group.assignor = from.protocol_data;
  for (const auto& one : from.members) {
    GroupMember member{.id = std::string(one.member_id)};
    if (one.group_instance_id) member.instance_id = std::string(*one.group_instance_id);
    member.client_id = one.client_id;
    member.host = one.client_host;
    if (group.protocol_type == kConsumers) member.assignment = partitions_of(one.member_assignment);
    group.members.push_back(std::move(member));
  }
  return group;
}

using Described = std::map<std::string, Group>;

// Both kinds of describing: what is found goes to `described`.
template <class Answer, class Request>
Outcome<std::vector<Verdict>> describe_at(Connection& connection, BrokerId node, const Request& request,
                                          const Client& client, Described& described) {
  auto reply = ask<Answer>(connection, request, client.timeout());
  if (!reply) return std::unexpected(reply.error());
  std::vector<Verdict> verdicts;
  for (const auto& one : reply->message.groups) {
    Verdict verdict{std::string(one.group_id), one.error_code, text(one.error_message)};
    // Before GROUP_ID_NOT_FOUND (KIP-1043) this was how a group was said not to be there.
    if (one.error_code == 0 && one.group_state == "Dead") verdict.error_code = wire(ErrorCode::GROUP_ID_NOT_FOUND);
    if (verdict.is_done()) {
      Group group = to_group(one);
      group.coordinator = node;
      group.address = connection.address();
      std::sort(group.members.begin(), group.members.end(),
                [](const GroupMember& a, const GroupMember& b) { return a.id < b.id; });
      described[group.group] = std::move(group);
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

Outcome<Verdicts> describe_consumer_groups(Client& client, const std::vector<std::string>& groups,
                                           Described& described) {
  return ask_coordinators(client, groups,
                          [&](Connection& connection, BrokerId node,
                              const std::vector<std::string>& here) -> Outcome<std::vector<Verdict>> {
                            const auto& info = kafka::ConsumerGroupDescribeRequest::kMessage;
                            if (connection.version_for(info.api_key, info.version_min, info.version_max) < 0) {
                              std::vector<Verdict> none;
                              for (const std::string& group : here)
                                none.push_back({group, wire(ErrorCode::GROUP_ID_NOT_FOUND)});
                              return none;
                            }
                            kafka::ConsumerGroupDescribeRequest request;
                            request.group_ids.assign(here.begin(), here.end());
                            return describe_at<kafka::ConsumerGroupDescribeResponse>(connection, node, request, client,
                                                                                     described);
                          });
}

Outcome<Verdicts> describe_classic_groups(Client& client, const std::vector<std::string>& groups,
                                          Described& described) {
  return ask_coordinators(
      client, groups, [&](Connection& connection, BrokerId node, const std::vector<std::string>& here) {
        kafka::DescribeGroupsRequest request;
        request.groups.assign(here.begin(), here.end());
        return describe_at<kafka::DescribeGroupsResponse>(connection, node, request, client, described);
      });
}

template <class Request>
void add_partition(Request& request, const PartitionKey& key) {
  if (request.topics.empty() || request.topics.back().name != key.topic) {
    request.topics.emplace_back();
    request.topics.back().name = key.topic;
  }
  request.topics.back().partitions.emplace_back();
  request.topics.back().partitions.back().partition_index = key.partition;
}

// What the answer says of each partition; `first_error` stands for the whole answer when it is asked again.
template <class Answer>
void take_partitions(const Answer& answer, PartitionVerdicts& verdicts, std::int16_t& first_error) {
  for (const auto& topic : answer.topics) {
    for (const auto& partition : topic.partitions) {
      const auto at = verdicts.find({std::string(topic.name), partition.partition_index});
      if (at == verdicts.end()) continue;
      at->second.error_code = partition.error_code;
      at->second.message.clear();
      if (first_error == 0) first_error = partition.error_code;
    }
  }
}

PartitionVerdicts unknown_verdicts(const std::vector<PartitionKey>& keys) {
  PartitionVerdicts verdicts;
  for (const PartitionKey& key : keys) {
    verdicts[key] = {fmt::format("{}-{}", key.topic, key.partition), wire(ErrorCode::UNKNOWN_SERVER_ERROR),
                     "the coordinator says nothing about it"};
  }
  return verdicts;
}

}  // namespace

std::string describe_group_error(std::int16_t code, std::string_view message) {
  const auto is = [&](ErrorCode one) { return code == wire(one); };
  // UNKNOWN_MEMBER_ID is what a group with members says to a commit from outside.
  if (is(ErrorCode::NON_EMPTY_GROUP) || is(ErrorCode::UNKNOWN_MEMBER_ID)) {
    return "the group has active members; stop them first";
  }
  if (is(ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC)) {
    return "the group's members are subscribed to the topic; stop them first";
  }
  if (is(ErrorCode::GROUP_ID_NOT_FOUND)) return "there is no such group";
  if (is(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)) return "the coordinator is still reading its state; try again later";
  if (may_pass(code)) return "the group has no coordinator at the moment; try again later";
  return describe_error(code, message);
}

Outcome<BrokerId> find_coordinator(Client& client, const std::string& group) {
  BrokerId found = -1;
  auto asked = ask_coordinator(client, group, [&](Connection&, BrokerId node, const std::vector<std::string>&) {
    found = node;
    return Outcome<std::vector<Verdict>>({{group, 0}});
  });
  if (!asked) return std::unexpected(fmt::format("group {}: {}", group, asked.error()));
  return found;
}

bool is_consumer_group(const ListedGroup& group) {
  return group.protocol_type.empty() || group.protocol_type == kConsumers;
}

bool Group::is_rebalancing() const {
  return state == "PreparingRebalance" || state == "CompletingRebalance" || state == "Assigning" ||
         state == "Reconciling";
}

Outcome<std::vector<ListedGroup>> list_groups(Client& client, const GroupFilter& filter) {
  const std::vector<std::string> no_topics;
  auto cluster = client.describe(&no_topics, false);
  if (!cluster) return std::unexpected(cluster.error());
  const auto& info = kafka::ListGroupsRequest::kMessage;
  const std::int16_t needed = !filter.types.empty() ? 5 : !filter.states.empty() ? 4 : 0;
  kafka::ListGroupsRequest request;
  request.states_filter.assign(filter.states.begin(), filter.states.end());
  request.types_filter.assign(filter.types.begin(), filter.types.end());
  std::map<std::string, ListedGroup> all;
  const auto give_up = client.deadline();
  for (const auto& [id, address] : cluster->brokers) {
    for (;;) {
      auto connection = client.broker(id);
      if (!connection) return std::unexpected(connection.error());
      if ((*connection)->version_for(info.api_key, needed, info.version_max) < 0) {
        return std::unexpected(fmt::format("{} does not serve ListGroups {}", address.text(),
                                           needed == 0 ? "in a version that we know" : "with this filter"));
      }
      auto reply = ask<kafka::ListGroupsResponse>(**connection, request, client.timeout());
      if (!reply) return std::unexpected(reply.error());
      const std::int16_t code = reply->message.error_code;
      if (may_pass(code) && Connection::Clock::now() + kAskAgain < give_up) {
        std::this_thread::sleep_for(kAskAgain);
        continue;
      }
      if (code != 0) return std::unexpected(fmt::format("{}: {}", address.text(), describe_group_error(code)));
      for (const auto& one : reply->message.groups) {
        ListedGroup group{.group = std::string(one.group_id),
                          .type = capitalized(one.group_type),
                          .state = std::string(one.group_state),
                          .protocol_type = std::string(one.protocol_type)};
        all[group.group] = group;
      }
      break;
    }
  }
  std::vector<ListedGroup> list;
  for (auto& [name, group] : all) list.push_back(std::move(group));
  return list;
}

Outcome<std::vector<Group>> describe_groups(Client& client, const std::vector<std::string>& groups) {
  if (groups.empty()) return std::vector<Group>();
  Described described;
  auto verdicts = describe_consumer_groups(client, groups, described);
  if (!verdicts) return std::unexpected(verdicts.error());
  std::vector<std::string> others;
  for (const auto& [group, verdict] : *verdicts) {
    if (verdict.error_code == wire(ErrorCode::GROUP_ID_NOT_FOUND)) others.push_back(group);
  }
  if (!others.empty()) {
    auto classic = describe_classic_groups(client, others, described);
    if (!classic) return std::unexpected(classic.error());
    for (auto& [group, verdict] : *classic) (*verdicts)[group] = std::move(verdict);
  }
  std::vector<Group> all;
  for (const std::string& name : groups) {
    const Verdict& verdict = (*verdicts)[name];
    Group group = verdict.is_done() ? std::move(described[name]) : Group{.group = name};
    group.is_missing = verdict.error_code == wire(ErrorCode::GROUP_ID_NOT_FOUND);
    if (!verdict.is_done()) {
      group.error = group.is_missing ? "there is no such consumer group"
                                     : describe_group_error(verdict.error_code, verdict.message);
    } else if (!is_consumer_group({.group = {}, .type = {}, .state = {}, .protocol_type = group.protocol_type})) {
      group.error = fmt::format("this is no consumer group, its members are of type \"{}\"", group.protocol_type);
    }
    all.push_back(std::move(group));
  }
  return all;
}

Outcome<CommittedOffsets> committed_offsets(Client& client, const std::string& group) {
  CommittedOffsets offsets;
  const auto take = [&](const auto& topics) {
    std::int16_t code = 0;
    for (const auto& topic : topics) {
      for (const auto& one : topic.partitions) {
        if (one.error_code != 0) code = one.error_code;
        if (one.error_code != 0 || one.committed_offset < 0) continue;
        offsets[{std::string(topic.name), one.partition_index}] = {one.committed_offset, one.committed_leader_epoch};
      }
    }
    return code;
  };
  auto asked = ask_coordinator(
      client, group,
      [&](Connection& connection, BrokerId, const std::vector<std::string>&) -> Outcome<std::vector<Verdict>> {
        kafka::OffsetFetchRequest request;  // one of the two is sent, by the version
        request.group_id = group;
        request.topics.reset();  // all
        request.groups.emplace_back();
        request.groups.back().group_id = group;
        request.groups.back().topics.reset();
        auto reply = ask<kafka::OffsetFetchResponse>(connection, request, client.timeout(), kOffsetFetchVersionMax);
        if (!reply) return std::unexpected(reply.error());
        const kafka::OffsetFetchResponse& answer = reply->message;
        offsets.clear();
        std::int16_t code = answer.error_code;
        if (code == 0) code = take(answer.topics);
        for (const auto& one : answer.groups) {
          if (code == 0) code = one.error_code;
          if (code == 0) code = take(one.topics);
        }
        return std::vector<Verdict>{{group, code}};
      });
  if (!asked) return std::unexpected(asked.error());
  return offsets;
}

Outcome<PartitionVerdicts> commit_offsets(Client& client, const std::string& group,
                                          const std::map<PartitionKey, Offset>& offsets) {
  std::vector<PartitionKey> keys;
  kafka::OffsetCommitRequest request;
  request.group_id = group;
  for (const auto& [key, offset] : offsets) {
    keys.push_back(key);
    add_partition(request, key);
    request.topics.back().partitions.back().committed_offset = offset;
  }
  PartitionVerdicts verdicts = unknown_verdicts(keys);
  if (keys.empty()) return verdicts;
  bool is_answered = false;
  auto asked = ask_coordinators(
      client, {group},
      [&](Connection& connection, BrokerId, const std::vector<std::string>&) -> Outcome<std::vector<Verdict>> {
        auto reply = ask<kafka::OffsetCommitResponse>(connection, request, client.timeout(), kOffsetCommitVersionMax);
        if (!reply) return std::unexpected(reply.error());
        is_answered = true;
        std::int16_t code = 0;
        take_partitions(reply->message, verdicts, code);
        return std::vector<Verdict>{{group, code}};
      });
  if (!asked) return std::unexpected(asked.error());
  if (const Verdict& verdict = (*asked)[group]; !is_answered) {
    return std::unexpected(describe_group_error(verdict.error_code, verdict.message));
  }
  return verdicts;
}

Outcome<PartitionVerdicts> delete_offsets(Client& client, const std::string& group,
                                          const std::vector<PartitionKey>& partitions) {
  kafka::OffsetDeleteRequest request;
  request.group_id = group;
  const std::vector<PartitionKey> keys = sorted(partitions);  // the request borrows the names
  for (const PartitionKey& key : keys) add_partition(request, key);
  PartitionVerdicts verdicts = unknown_verdicts(partitions);
  auto asked = ask_coordinator(
      client, group,
      [&](Connection& connection, BrokerId, const std::vector<std::string>&) -> Outcome<std::vector<Verdict>> {
        auto reply = ask<kafka::OffsetDeleteResponse>(connection, request, client.timeout());
        if (!reply) return std::unexpected(reply.error());
        std::int16_t of_a_partition = 0;
        take_partitions(reply->message, verdicts, of_a_partition);
        return std::vector<Verdict>{{group, reply->message.error_code}};
      });
  if (!asked) return std::unexpected(asked.error());
  return verdicts;
}

Outcome<std::vector<Verdict>> delete_groups(Client& client, const std::vector<std::string>& groups) {
  auto verdicts = ask_coordinators(
      client, groups,
      [&](Connection& connection, BrokerId, const std::vector<std::string>& here) -> Outcome<std::vector<Verdict>> {
        kafka::DeleteGroupsRequest request;
        request.groups_names.assign(here.begin(), here.end());
        auto reply = ask<kafka::DeleteGroupsResponse>(connection, request, client.timeout());
        if (!reply) return std::unexpected(reply.error());
        std::vector<Verdict> all;
        for (const auto& one : reply->message.results) {
          all.push_back({std::string(one.group_id), one.error_code, text(one.error_message)});
        }
        return all;
      });
  if (!verdicts) return std::unexpected(verdicts.error());
  std::vector<Verdict> all;
  for (const std::string& group : groups) all.push_back(std::move((*verdicts)[group]));
  return all;
}

}  // namespace tailrace::cli
