// Members of a consumer group that speak the classic protocol (KIP-848's migration). Nobody leads, nobody waits for
// others: JoinGroup is a heartbeat that says everything, SyncGroup asks for what the member has by now, and Heartbeat
// says REBALANCE_IN_PROGRESS when there is a reason to join again.
#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>

#include "services/groupcoord/classic_notes.h"
#include "services/groupcoord/classic_replies.h"
#include "services/groupcoord/consumer_records.h"
#include "services/groupcoord/consumer_subscription.h"
#include "services/groupcoord/consumer_update.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/sync_group.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;

// -- JoinGroup -----------------------------------------------------------------------------------------------------

namespace {

// KIP-394.
bool requires_member_id(const Call& call) { return call.api_version >= 4; }

// Before version 1 there is one time-out for both.
std::int32_t rebalance_timeout_ms(const Call& call, const kafka::JoinGroupRequest& request) {
  return call.api_version == 0 ? request.session_timeout_ms : request.rebalance_timeout_ms;
}

void set_from(const Call& call, const Client& client, const kafka::JoinGroupRequest& request,
              const Subscription& subscription, ConsumerMember& member) {
  if (request.group_instance_id) member.instance_id = *request.group_instance_id;
  if (subscription.rack_id && !subscription.rack_id->empty()) member.rack_id = *subscription.rack_id;
  const std::int32_t timeout_ms = rebalance_timeout_ms(call, request);
  if (timeout_ms != -1) member.rebalance_timeout_ms = timeout_ms;
  member.topics.clear();
  for (const std::string_view topic : subscription.topics) member.topics.emplace(topic);
  member.regex.clear();
  member.client_id = client.id;
  member.client_host = client.host;
  auto& classic = member.classic.emplace(ConsumerMember::Classic{});
  classic.session_timeout_ms = request.session_timeout_ms;
  std::set<std::string_view> names;
  for (const auto& protocol : request.protocols) {
    if (!names.insert(protocol.name).second) continue;
    classic.protocols.push_back({std::string(protocol.name), {protocol.metadata.begin(), protocol.metadata.end()}});
  }
}

}  // namespace

// One of its protocols is one that all members of the classic protocol support.
bool ConsumerGroup::supports_classic(const kafka::JoinGroupRequest& request) const {
  if (request.protocol_type != "consumer") return false;
  return std::ranges::any_of(request.protocols, [this](const auto& protocol) {
    const auto found = classic_protocols_.find(protocol.name);
    return (found == classic_protocols_.end() ? 0 : found->second) == classic_members_;
  });
}

void ConsumerGroup::join(const Call& call, const Client& client, const kafka::JoinGroupRequest& request,
                         const Moment& moment, Effects& effects) {
  const auto refuse = [&](ErrorCode error) { refuse_join(call, "", error, effects); };
  if (!context_.settings.may_upgrade && !context_.settings.may_downgrade) {
    return refuse(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  }
  const bool is_unknown = request.member_id.empty();
  const std::string member_id = is_unknown ? random_member_id(context_.chance) : std::string(request.member_id);
  if (is_full_for(member_id, request.group_instance_id)) return refuse(ErrorCode::GROUP_MAX_SIZE_REACHED);
  if (!supports_classic(request)) return refuse(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  if (is_unknown && !request.group_instance_id && requires_member_id(call)) {
    return refuse_join(call, member_id, ErrorCode::MEMBER_ID_REQUIRED, effects);
  }
  const ConsumerMember* old = request.group_instance_id ? find_static(*request.group_instance_id) : nullptr;
  if (request.group_instance_id && !is_unknown) {
    if (old == nullptr) return refuse(ErrorCode::UNKNOWN_MEMBER_ID);
    if (old->id != member_id) return refuse(ErrorCode::FENCED_INSTANCE_ID);
  }
  const auto subscription = parse_subscription(request.protocols.front().metadata);
  if (!subscription) return refuse(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);

  // A static member that comes back with the classic protocol may be the last that did not speak it.
  const bool was_last = old != nullptr && !old->classic && members_.size() - classic_members_ == 1;
  Update update{.moment = moment, .effects = effects};
  update.owned = owned_partitions(*subscription, *context_.image);
  update.member.id = member_id;
  if (old != nullptr && is_unknown) replace_static(*old, update);
  begin(update);
  if (update.is_new) {
    effects.notes.push_back(
        fmt::format("group {}: member {} joins with the classic protocol", shown(id()), shown(member_id)));
  }
  set_from(call, client, request, *subscription, update.member);
  write_member(update);
  update_regex(update);
  update_epoch(update.has_subscription_changed(), moment, effects);

  const bool is_behind = target_.epoch < epoch_;
  const bool becomes_classic = was_last && may_become_classic({});
  if (!becomes_classic) update_target(moment, effects);
  if (!becomes_classic || !is_behind) {
    reconcile_member(update);
  }
  const kafka::JoinGroupResponse response{.generation_id = update.member.epoch,
                                          .protocol_type = "consumer",
                                          .protocol_name = update.member.classic->protocols.front().name,
                                          .member_id = update.member.id};
  effects.reply(call, response);
  if (becomes_classic && become_classic({}, is_behind, "its members speak the classic protocol", moment, effects)) {
    return;
  }
  clear_timer(Timer::join, member_id);
  set_timer(Timer::session, member_id, std::chrono::milliseconds(request.session_timeout_ms), moment);
  set_timer(Timer::sync, member_id, std::chrono::milliseconds(update.member.rebalance_timeout_ms), moment);
}

// -- SyncGroup and Heartbeat ---------------------------------------------------------------------------------------

ErrorCode ConsumerGroup::check_classic_member(std::string_view member_id, std::optional<std::string_view> instance_id,
                                              const ConsumerMember*& member) const {
  member = instance_id ? find_static(*instance_id) : find(member_id);
  if (member == nullptr) return ErrorCode::UNKNOWN_MEMBER_ID;
  if (member->id != member_id) return ErrorCode::FENCED_INSTANCE_ID;
  return member->classic ? ErrorCode::NONE : ErrorCode::UNKNOWN_MEMBER_ID;
}

ErrorCode ConsumerGroup::check_classic_generation(std::string_view member_id,
                                                  std::optional<std::string_view> instance_id, std::int32_t generation,
                                                  const ConsumerMember*& member) const {
  const ErrorCode error = check_classic_member(member_id, instance_id, member);
  if (error != ErrorCode::NONE) return error;
  return member->epoch == generation ? ErrorCode::NONE : ErrorCode::ILLEGAL_GENERATION;
}

void ConsumerGroup::sync(const Call& call, const kafka::SyncGroupRequest& request, const Moment& moment,
                         Effects& effects) {
  const ConsumerMember* member = nullptr;
  const ErrorCode error =
      check_classic_generation(request.member_id, request.group_instance_id, request.generation_id, member);
  if (error != ErrorCode::NONE) return refuse_sync(call, error, effects);
  const auto& protocols = member->classic->protocols;
  const std::string_view protocol = protocols.empty() ? std::string_view() : protocols.front().name;
  if (request.protocol_type.value_or("consumer") != "consumer" ||
      request.protocol_name.value_or(protocol) != protocol) {
    return refuse_sync(call, ErrorCode::INCONSISTENT_GROUP_PROTOCOL, effects);
  }
  const Duration rebalance_timeout = std::chrono::milliseconds(member->rebalance_timeout_ms);
  if (target_.epoch > member->epoch && member->state != MemberState::unrevoked_partitions) {
    if (!timers_.has({Timer::join, member->id})) set_timer(Timer::join, member->id, rebalance_timeout, moment);
    return refuse_sync(call, ErrorCode::REBALANCE_IN_PROGRESS, effects);
  }
  clear_timer(Timer::sync, member->id);
  set_timer(Timer::session, member->id, std::chrono::milliseconds(member->classic->session_timeout_ms), moment);
  const std::vector<std::byte> assignment =
      assignment_bytes(without_epochs(member->assigned),
                       protocols.empty() ? Bytes{} : Bytes(protocols.front().metadata), *context_.image);
  effects.reply(call, kafka::SyncGroupResponse{.protocol_type = request.protocol_type,
                                               .protocol_name = request.protocol_name,
                                               .assignment = assignment});
}

// Of what it is to have and has not, somebody else still has something.
bool ConsumerGroup::is_waiting_for_others(const ConsumerMember& member) const {
  for (const auto& [topic, partitions] : target_.of(member.id)) {
    for (const std::int32_t partition : partitions) {
      if (!contains(member.assigned, topic, partition) && partition_epochs_.is_owned(topic, partition)) return true;
    }
  }
  return false;
}

void ConsumerGroup::classic_heartbeat(const Call& call, const kafka::HeartbeatRequest& request, const Moment& moment,
                                      Effects& effects) {
  const ConsumerMember* member = nullptr;
  const ErrorCode error =
      check_classic_generation(request.member_id, request.group_instance_id, request.generation_id, member);
  if (error != ErrorCode::NONE) return answer_heartbeat(call, error, effects);
  set_timer(Timer::session, member->id, std::chrono::milliseconds(member->classic->session_timeout_ms), moment);
  // When there is nobody else any more, who would notice? Kafka waits for the next JoinGroup.
  update_epoch(false, moment, effects);
  update_target(moment, effects);
  const bool must_join = member->epoch < target_.epoch || member->state == MemberState::unrevoked_partitions ||
                         (member->state == MemberState::unreleased_partitions && !is_waiting_for_others(*member));
  if (must_join && !timers_.has({Timer::join, member->id})) {
    set_timer(Timer::join, member->id, std::chrono::milliseconds(member->rebalance_timeout_ms), moment);
  }
  answer_heartbeat(call, must_join ? ErrorCode::REBALANCE_IN_PROGRESS : ErrorCode::NONE, effects);
}

// -- LeaveGroup ----------------------------------------------------------------------------------------------------

ErrorCode ConsumerGroup::check_leaving(std::string_view member_id, std::optional<std::string_view> instance_id,
                                       const ConsumerMember*& member) const {
  member = instance_id ? find_static(*instance_id) : find(member_id);
  if (member == nullptr) return ErrorCode::UNKNOWN_MEMBER_ID;
  // Tools name a static member by its instance id alone.
  const bool is_named = !instance_id || !member_id.empty();
  return is_named && member->id != member_id ? ErrorCode::FENCED_INSTANCE_ID : ErrorCode::NONE;
}

void ConsumerGroup::leave(const Call& call, const kafka::LeaveGroupRequest& request, const Moment& moment,
                          Effects& effects) {
  constexpr std::int16_t kFirstOfSeveral = 3;
  std::vector<kafka::LeaveGroupRequest::MemberIdentity> identities = request.members;
  if (call.api_version < kFirstOfSeveral) identities = {{.member_id = request.member_id}};
  kafka::LeaveGroupResponse response;
  std::set<std::string> leaving;
  for (const auto& identity : identities) {
    const ConsumerMember* member = nullptr;
    const ErrorCode error = check_leaving(identity.member_id, identity.group_instance_id, member);
    response.members.push_back({.member_id = identity.member_id,
                                .group_instance_id = identity.group_instance_id,
                                .error_code = static_cast<std::int16_t>(error)});
    if (error != ErrorCode::NONE || !leaving.insert(member->id).second) continue;
    effects.notes.push_back(fmt::format("group {}: member {} leaves, it says: {}", shown(id()), shown(member->id),
                                        shown(identity.reason.value_or("nothing"))));
  }
  if (!leaving.empty()) fence({leaving.begin(), leaving.end()}, moment, effects);
  answer_leave(call, std::move(response), effects);
}

}  // namespace tailrace::groupcoord
