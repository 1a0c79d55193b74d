// ConsumerGroupHeartbeat: who may come, stay and go, and what each is told.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/check.h"
#include "services/groupcoord/classic_notes.h"
#include "services/groupcoord/consumer_records.h"
#include "services/groupcoord/consumer_update.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/node/regex.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;
using Request = kafka::ConsumerGroupHeartbeatRequest;
using Response = kafka::ConsumerGroupHeartbeatResponse;

// -- What is wrong with a request by itself ------------------------------------------------------------------------

namespace {

bool is_blank(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' '; });
}
bool is_blank(const std::optional<std::string_view>& text) { return text && is_blank(*text); }

Refusal invalid(std::string message) { return {ErrorCode::INVALID_REQUEST, std::move(message)}; }

std::optional<Refusal> refuse_joining(const Request& request) {
  if (request.rebalance_timeout_ms == -1) return invalid("RebalanceTimeoutMs must be provided in first request.");
  if (!request.topic_partitions || !request.topic_partitions->empty()) {
    return invalid("TopicPartitions must be empty when (re-)joining.");
  }
  if (!request.subscribed_topic_names && !request.subscribed_topic_regex) {
    return invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.");
  }
  return std::nullopt;
}

std::size_t subscription_bytes(const Request& request) {
  std::size_t bytes = request.subscribed_topic_regex.value_or("").size();
  if (request.subscribed_topic_names) {
    for (const std::string_view topic : *request.subscribed_topic_names) bytes += topic.size() + sizeof(std::int16_t);
  }
  return bytes;
}

}  // namespace

std::optional<Refusal> ConsumerGroup::refuse(const Request& request, std::int16_t version, const Settings& settings) {
  const bool has_member_id = version >= 1 || request.member_epoch > 0 || request.member_epoch == kLeaveEpoch;
  if (has_member_id && is_blank(request.member_id)) return invalid("MemberId can't be empty.");
  if (is_blank(request.group_id)) return invalid("GroupId can't be empty.");
  if (is_blank(request.instance_id)) return invalid("InstanceId can't be empty.");
  if (is_blank(request.rack_id)) return invalid("RackId can't be empty.");
  if (request.member_epoch == kJoinEpoch) {
    if (auto refusal = refuse_joining(request)) return refusal;
  } else if (request.member_epoch == kLeaveStaticEpoch) {
    if (!request.instance_id) return invalid("InstanceId can't be null.");
  } else if (request.member_epoch < kLeaveStaticEpoch) {
    return invalid("MemberEpoch is invalid.");
  }
  const auto& assignors = settings.consumer_assignors;
  if (request.server_assignor && std::ranges::find(assignors, *request.server_assignor) == assignors.end()) {
    return Refusal{ErrorCode::UNSUPPORTED_ASSIGNOR,
                   fmt::format("ServerAssignor {} is not supported. Supported assignors: {}.", *request.server_assignor,
                               fmt::join(assignors, ", "))};
  }
  // It becomes one record; the other half is for what else the member says.
  const std::size_t bytes_max = settings.record_size_max / 2;
  if (subscription_bytes(request) > bytes_max) {
    return Refusal{ErrorCode::UNKNOWN_SERVER_ERROR,
                   fmt::format("A subscription may have {} bytes at most.", bytes_max)};
  }
  return std::nullopt;
}

Refusal ConsumerGroup::no_group(const Request& request) {
  const bool is_leaving = request.member_epoch < 0;
  return {ErrorCode::GROUP_ID_NOT_FOUND,
          fmt::format("{} {} not found.", is_leaving ? "Group" : "Consumer group", request.group_id)};
}

void ConsumerGroup::answer(const Call& call, const Refusal& refusal, Effects& effects) {
  effects.reply(call,
                Response{.error_code = static_cast<std::int16_t>(refusal.error), .error_message = refusal.message});
}

// -- What is wrong with it here ------------------------------------------------------------------------------------

namespace {

bool is_subset(const OwnedPartitions& owned, const AssignmentEpochs& assigned) {
  return owned && std::ranges::all_of(*owned, [&assigned](const auto& of_topic) {
           const auto topic = assigned.find(of_topic.first);
           return topic != assigned.end() && std::ranges::all_of(of_topic.second, [&topic](std::int32_t partition) {
                    return topic->second.contains(partition);
                  });
         });
}

OwnedPartitions owned_of(const Request& request) {
  if (!request.topic_partitions) return std::nullopt;
  Assignment owned;
  for (const auto& topic : *request.topic_partitions) {
    std::vector<std::int32_t>& partitions = owned[topic.topic_id];
    partitions.insert(partitions.end(), topic.partitions.begin(), topic.partitions.end());
  }
  return owned;
}

// A member that did not hear the answer which brought its last epoch comes with the one before it; that is in order if
// it has nothing that it must not have.
std::optional<Refusal> check_epoch(const ConsumerMember& member, const Request& request) {
  const std::int32_t received = request.member_epoch;
  if (received == kJoinEpoch || received == member.epoch) return std::nullopt;
  const bool is_newer = received > member.epoch;
  if (!is_newer && received == member.previous_epoch && is_subset(owned_of(request), member.assigned)) {
    return std::nullopt;
  }
  return Refusal{ErrorCode::FENCED_MEMBER_EPOCH,
                 fmt::format("The consumer group member has a {} member epoch ({}) than the one known by the group "
                             "coordinator ({}). The member must abandon all its partitions and rejoin.",
                             is_newer ? "greater" : "smaller", received, member.epoch)};
}

Refusal fenced_instance(std::string_view instance_id, std::string_view id, const ConsumerMember& owner) {
  return {ErrorCode::FENCED_INSTANCE_ID,
          fmt::format("Static member {} with instance id {} was fenced by member {}.", id, instance_id, owner.id)};
}
Refusal unknown_instance(std::string_view instance_id) {
  return {ErrorCode::UNKNOWN_MEMBER_ID, fmt::format("Instance id {} is unknown.", instance_id)};
}

}  // namespace

std::optional<Refusal> ConsumerGroup::check_dynamic(const Request& request) const {
  const ConsumerMember* member = find(request.member_id);
  if (member != nullptr) return check_epoch(*member, request);
  if (request.member_epoch != kJoinEpoch) return unknown_member(request.member_id);
  return std::nullopt;
}

std::optional<Refusal> ConsumerGroup::check_static(const Request& request) const {
  const ConsumerMember* member = find_static(*request.instance_id);
  if (request.member_epoch != kJoinEpoch) {
    if (member == nullptr) return unknown_instance(*request.instance_id);
    if (member->id != request.member_id) return fenced_instance(*request.instance_id, request.member_id, *member);
    return check_epoch(*member, request);
  }
  if (member == nullptr || member->classic || member->epoch == kLeaveStaticEpoch) return std::nullopt;
  return Refusal{ErrorCode::UNRELEASED_INSTANCE_ID,
                 fmt::format("Static member {} with instance id {} cannot join the group because the instance id is "
                             "owned by {} member.",
                             request.member_id, *request.instance_id, member->id)};
}

std::optional<Refusal> ConsumerGroup::check_regex(const Request& request) const {
  const std::string_view regex = request.subscribed_topic_regex.value_or("");
  if (regex.empty() || subscriptions_.subscribers(regex) > 0) return std::nullopt;
  const auto compiled = node::Regex::compile(regex, node::kTopicRegexBytesMax);
  if (compiled) return std::nullopt;
  return Refusal{
      ErrorCode::INVALID_REGULAR_EXPRESSION,
      fmt::format("SubscribedTopicRegex `{}` is not a valid regular expression: {}.", regex, compiled.error())};
}

std::optional<Refusal> ConsumerGroup::check_leave(const Request& request) const {
  if (!request.instance_id) {
    if (find(request.member_id) == nullptr) return unknown_member(request.member_id);
    return std::nullopt;
  }
  const ConsumerMember* member = find_static(*request.instance_id);
  if (member == nullptr) return unknown_instance(*request.instance_id);
  if (member->id != request.member_id) return fenced_instance(*request.instance_id, request.member_id, *member);
  return std::nullopt;
}

std::optional<Refusal> ConsumerGroup::check(const Request& request) const {
  if (request.member_epoch < 0) return check_leave(request);
  if (is_full_for(request.member_id, request.instance_id)) {
    return Refusal{ErrorCode::GROUP_MAX_SIZE_REACHED,
                   fmt::format("The consumer group has reached its maximum capacity of {} members.",
                               context_.settings.consumer_group_size_max)};
  }
  if (auto refusal = request.instance_id ? check_static(request) : check_dynamic(request)) return refusal;
  if (auto refusal = check_regex(request)) return refusal;
  const ConsumerMember* member = request.instance_id ? find_static(*request.instance_id) : find(request.member_id);
  if (member != nullptr && must_rejoin(*member, owned_of(request))) {
    return Refusal{ErrorCode::FENCED_MEMBER_EPOCH,
                   "The consumer group member is in a unknown state. The member must abandon all its partitions and "
                   "rejoin."};
  }
  return std::nullopt;
}

// -- What follows from it ------------------------------------------------------------------------------------------

namespace {

void set_from(const Request& request, const Client& client, ConsumerMember& member) {
  if (request.instance_id) member.instance_id = *request.instance_id;
  if (request.rack_id) member.rack_id = *request.rack_id;
  if (request.rebalance_timeout_ms != -1) member.rebalance_timeout_ms = request.rebalance_timeout_ms;
  if (request.server_assignor) member.server_assignor = *request.server_assignor;
  if (request.subscribed_topic_names) {
    member.topics.clear();
    for (const std::string_view topic : *request.subscribed_topic_names) member.topics.emplace(topic);
  }
  if (request.subscribed_topic_regex) member.regex = *request.subscribed_topic_regex;
  member.client_id = client.id;
  member.client_host = client.host;
  member.classic.reset();
}

Response::Assignment assignment_of(const ConsumerMember& member) {
  Response::Assignment assignment;
  for (const auto& [topic, epochs] : member.assigned) {
    auto& to = assignment.topic_partitions.emplace_back();
    to.topic_id = topic;
    for (const auto& [partition, epoch] : epochs) to.partitions.push_back(partition);
  }
  return assignment;
}

}  // namespace

void ConsumerGroup::heartbeat(const Call& call, const Client& client, const Request& request, const Moment& moment,
                              Effects& effects) {
  if (const auto refusal = check(request)) return answer(call, *refusal, effects);
  if (request.member_epoch < 0) return on_leave(call, request, moment, effects);

  Update update{.moment = moment, .effects = effects};
  update.owned = owned_of(request);
  update.member.id = request.member_id.empty() ? random_member_id(context_.chance) : std::string(request.member_id);
  const std::string assignor_before(preferred_assignor());
  if (request.instance_id && request.member_epoch == kJoinEpoch) {
    if (const ConsumerMember* old = find_static(*request.instance_id)) replace_static(*old, update);
  }
  begin(update);
  if (update.is_new) {
    effects.notes.push_back(fmt::format("group {}: member {} joins", shown(id()), shown(update.member.id)));
  }
  set_from(request, client, update.member);
  write_member(update);
  update_regex(update);
  update_epoch(
      update.have_topics_changed || update.regex == Update::Regex::resolved || preferred_assignor() != assignor_before,
      moment, effects);
  update_target(moment, effects);
  reconcile_member(update);
  set_timer(Timer::session, update.member.id, session_timeout(), moment);

  Response response{.member_id = update.member.id,
                    .member_epoch = update.member.epoch,
                    .heartbeat_interval_ms = heartbeat_interval_ms()};
  // A request that says everything is from a member that lost an answer.
  const bool is_full = request.rebalance_timeout_ms != -1 && request.topic_partitions &&
                       (request.subscribed_topic_names || request.subscribed_topic_regex);
  if (request.member_epoch == kJoinEpoch || is_full || update.member.assigned != update.before.assigned) {
    response.assignment = assignment_of(update.member);
  }
  effects.reply(call, response);
  refresh_regexes(update.has_new_regex, moment, effects);
}

void ConsumerGroup::on_leave(const Call& call, const Request& request, const Moment& moment, Effects& effects) {
  const ConsumerMember* member = request.instance_id ? find_static(*request.instance_id) : find(request.member_id);
  CHECK(member != nullptr);
  const std::string member_id = member->id;
  if (request.member_epoch == kLeaveStaticEpoch) {
    // It keeps what it has until it is back, or its session is over.
    ConsumerMember away = *member;
    away.epoch = kLeaveStaticEpoch;
    away.revoking.clear();
    for (auto& [topic, epochs] : away.assigned) {
      for (auto& [partition, epoch] : epochs) epoch = 0;
    }
    write(current_assignment_record(id(), away), effects);
    clear_timer(Timer::rebalance, member_id);
  } else {
    effects.notes.push_back(fmt::format("group {}: member {} leaves", shown(id()), shown(member_id)));
    fence({member_id}, moment, effects);
  }
  effects.reply(call, Response{.member_id = member_id, .member_epoch = request.member_epoch});
}

}  // namespace tailrace::groupcoord
