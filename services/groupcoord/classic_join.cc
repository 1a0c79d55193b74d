// JoinGroup: who may come in, under which id, and whether the others have to join again because of that.
#include <algorithm>
#include <set>
#include <utility>

#include "services/groupcoord/classic_group.h"
#include "services/groupcoord/classic_notes.h"
#include "services/groupcoord/classic_replies.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/messages/join_group.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;

struct ClassicGroup::Join {
  const Call& call;
  const Client& client;
  const kafka::JoinGroupRequest& request;
  const Moment& moment;
  Effects& effects;
  std::vector<ClassicProtocol> protocols;  // of the request

  // Before version 1 there is one time-out for both.
  [[nodiscard]] std::int32_t rebalance_timeout_ms() const {
    return call.api_version == 0 ? request.session_timeout_ms : request.rebalance_timeout_ms;
  }
  void refuse(std::string_view member_id, ErrorCode error) const { refuse_join(call, member_id, error, effects); }
  [[nodiscard]] std::string reason(std::string_view what) const {
    std::string text(what);
    if (request.reason && !request.reason->empty()) text += ", it says: " + shown(*request.reason);
    return text;
  }
};

namespace {

// KIP-394.
bool requires_member_id(const Call& call) { return call.api_version >= 4; }
// KIP-814.
bool can_skip_assignment(const Call& call) { return call.api_version >= 9; }

// A name that is given twice counts once.
std::vector<ClassicProtocol> protocols_of(const kafka::JoinGroupRequest& request) {
  std::vector<ClassicProtocol> protocols;
  std::set<std::string_view> names;
  for (const auto& protocol : request.protocols) {
    if (!names.insert(protocol.name).second) continue;
    protocols.push_back({std::string(protocol.name), {protocol.metadata.begin(), protocol.metadata.end()}});
  }
  return protocols;
}

// A random UUID (version 4) in text.
std::string random_uuid(const Chance& chance) {
  const std::uint64_t high = (chance() & ~std::uint64_t{0xF000}) | std::uint64_t{0x4000};
  const std::uint64_t low = (chance() & ~(std::uint64_t{0xC} << 60)) | std::uint64_t{0x8} << 60;
  std::string text;
  for (unsigned digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) text.push_back('-');
    const std::uint64_t half = digit < 16 ? high : low;
    text.push_back("0123456789abcdef"[half >> (60 - 4 * (digit % 16)) & 0xF]);
  }
  return text;
}

// What can be said in a message, of a name that was: it is cut between two characters of UTF-8.
std::string_view cut(std::string_view name, std::size_t bytes_max) {
  if (name.size() <= bytes_max) return name;
  while (bytes_max > 0 && (static_cast<unsigned char>(name[bytes_max]) & 0xC0) == 0x80) --bytes_max;
  return name.substr(0, bytes_max);
}

std::string member_id_for(std::string_view name, const Chance& chance) {
  constexpr std::size_t kUuidBytes = 37;  // with the dash before it
  return std::string(cut(name, kafka::kStringBytesMax - kUuidBytes)) + "-" + random_uuid(chance);
}

}  // namespace

void ClassicGroup::join(const Call& call, const Client& client, const kafka::JoinGroupRequest& request,
                        const Moment& moment, Effects& effects) {
  Join join{call, client, request, moment, effects, protocols_of(request)};
  const std::string_view id = request.member_id;
  if (!has_room_for(id)) {
    if (ClassicMember* member = members_.find(id)) drop(*member, effects);
    if (members_.remove_pending(id)) sessions_.clear(std::string(id));
    return join.refuse("", ErrorCode::GROUP_MAX_SIZE_REACHED);
  }
  if (!supports(request.protocol_type, join.protocols)) return join.refuse(id, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
  return id.empty() ? join_new(join) : join_known(join);
}

// In PreparingRebalance those count that have joined: when group.max.size was made smaller, the last ones to come back
// are left out.
bool ClassicGroup::has_room_for(std::string_view member_id) const {
  const std::size_t size_max = context_.settings.group_size_max;
  const ClassicMember* member = members_.find(member_id);
  switch (state_) {
    case ClassicState::empty:
      return true;
    case ClassicState::preparing_rebalance:
      return (member != nullptr && member->waiting_join) || members_.waiting_to_join() < size_max;
    case ClassicState::completing_rebalance:
    case ClassicState::stable:
      break;
  }
  return member != nullptr || members_.size() < size_max;
}

bool ClassicGroup::supports(std::string_view protocol_type, const std::vector<ClassicProtocol>& protocols) const {
  if (is_empty()) return !protocol_type.empty() && !protocols.empty();
  if (protocol_type != protocol_type_) return false;
  return std::ranges::any_of(protocols, [this](const auto& protocol) { return members_.all_support(protocol.name); });
}

void ClassicGroup::join_new(Join& join) {
  const std::optional<std::string_view> instance_id = join.request.group_instance_id;
  std::string id = member_id_for(instance_id.value_or(join.client.id), context_.chance);
  if (instance_id) {
    ClassicMember* member = members_.find_static(*instance_id);
    return member == nullptr ? add(join, std::move(id)) : replace_static(join, *member, std::move(id));
  }
  return requires_member_id(join.call) ? add_pending(join, std::move(id)) : add(join, std::move(id));
}

void ClassicGroup::add_pending(const Join& join, std::string id) {
  sessions_.set(id, join.moment.now + std::chrono::milliseconds(join.request.session_timeout_ms));
  join.refuse(id, ErrorCode::MEMBER_ID_REQUIRED);
  members_.add_pending(std::move(id));
}

void ClassicGroup::join_known(Join& join) {
  const std::string_view id = join.request.member_id;
  if (members_.is_pending(id)) {
    // Only ids of dynamic members are ever pending.
    if (join.request.group_instance_id) return join.refuse("", ErrorCode::UNKNOWN_SERVER_ERROR);
    return add(join, std::string(id));
  }
  const ErrorCode error = check_member(id, join.request.group_instance_id);
  if (error != ErrorCode::NONE) return join.refuse(id, error);

  ClassicMember& member = *members_.find(id);
  const bool is_leader = &member == members_.leader();
  if (state_ == ClassicState::preparing_rebalance) return update_and_rebalance(join, member, "a member joins");
  if (member.protocols != join.protocols)
    return update_and_rebalance(join, member, "a member supports other protocols");
  // The leader asks for a rebalance when it sees what changes the assignment, new partitions for one.
  if (state_ == ClassicState::stable && is_leader) return update_and_rebalance(join, member, "the leader joins again");
  // It may not have had the answer.
  const bool with_members = state_ == ClassicState::completing_rebalance && is_leader;
  answer_join(join.call, member, {.leader = members_.leader()->id, .with_members = with_members}, join.effects);
}

void ClassicGroup::add(Join& join, std::string id) {
  const auto& request = join.request;
  if (state_ == ClassicState::preparing_rebalance && is_initial_) has_new_member_ = true;
  if (members_.empty()) protocol_type_ = request.protocol_type;
  ClassicMember& member = members_.add(
      {.id = std::move(id),
       .instance_id = request.group_instance_id.transform([](std::string_view name) { return std::string(name); }),
       .client_id = std::string(join.client.id),
       .client_host = std::string(join.client.host),
       .rebalance_timeout_ms = join.rebalance_timeout_ms(),
       .session_timeout_ms = request.session_timeout_ms,
       .protocols = std::move(join.protocols),
       .waiting_join = join.call,
       .is_new = true});
  // It cannot send heartbeats while it waits, and whether its connection lives is not known here.
  sessions_.set(member.id, join.moment.now + kNewMemberJoinTimeout);
  prepare_or_complete(join.reason("a member comes: " + shown(member.id)), join.moment, join.effects);
}

void ClassicGroup::wait_to_join(ClassicMember& member, Join& join) {
  member.rebalance_timeout_ms = join.rebalance_timeout_ms();
  member.session_timeout_ms = join.request.session_timeout_ms;
  members_.set_protocols(member, std::move(join.protocols));
  const std::optional<Call> before = members_.set_waiting_join(member, join.call);
  // It asks again, over another connection most likely.
  if (before) refuse_join(*before, member.id, ErrorCode::REBALANCE_IN_PROGRESS, join.effects);
}

void ClassicGroup::update_and_rebalance(Join& join, ClassicMember& member, std::string_view what) {
  wait_to_join(member, join);
  prepare_or_complete(join.reason(what), join.moment, join.effects);
}

// A static member is back (KIP-345). Whoever is still there under its old id is shut out. While the group is stable the
// new one goes on with the old one's assignment, and nobody else notices.
void ClassicGroup::replace_static(Join& join, ClassicMember& member, std::string id) {
  const std::string old_id = member.id;
  const bool is_leader = &member == members_.leader();
  const std::string old_leader = members_.leader()->id;
  if (const auto before = members_.set_waiting_join(member, std::nullopt)) {
    refuse_join(*before, old_id, ErrorCode::FENCED_INSTANCE_ID, join.effects);
  }
  if (const auto before = std::exchange(member.waiting_sync, std::nullopt)) {
    refuse_sync(*before, ErrorCode::FENCED_INSTANCE_ID, join.effects);
  }
  sessions_.clear(old_id);
  members_.rename(member, std::move(id));
  member.is_new = false;
  keep_alive(member, join.moment);
  wait_to_join(member, join);
  join.effects.notes.push_back("group=" + shown(this->id()) + " static member=" + shown(member.id) + " replaces " +
                               shown(old_id));

  if (state_ == ClassicState::preparing_rebalance) return complete_if_all_joined(join.moment, join.effects);
  if (state_ == ClassicState::completing_rebalance) {
    // The leader may have the old id in its assignment.
    return prepare_rebalance(join.reason("a static member is back before the assignment"), join.moment, join.effects);
  }
  if (members_.vote() != protocol_name_) {
    return prepare_rebalance(join.reason("a static member is back with other protocols"), join.moment, join.effects);
  }
  Record written = record();
  if (!fits(written)) return prepare_rebalance("a static member is back with more", join.moment, join.effects);
  join.effects.records.push_back(std::move(written));
  members_.set_waiting_join(member, std::nullopt);
  answer_join(join.call, member, answer_of_replaced(join.call, is_leader, old_leader), join.effects);
}

// Before version 9 a leader that is back is told that somebody else leads: it would assign anew, and the others would
// not hear of that.
ClassicGroup::JoinAnswer ClassicGroup::answer_of_replaced(const Call& call, bool is_leader,
                                                          std::string_view old_leader) const {
  if (!can_skip_assignment(call)) return {.leader = old_leader};
  return {.leader = members_.leader()->id, .with_members = is_leader, .skip_assignment = is_leader};
}

void ClassicGroup::answer_join(const Call& call, const ClassicMember& member, const JoinAnswer& answer,
                               Effects& effects) const {
  kafka::JoinGroupResponse response{.generation_id = generation_,
                                    .protocol_type = protocol_type_,
                                    .protocol_name = protocol_name_,
                                    .leader = answer.leader,
                                    .skip_assignment = answer.skip_assignment,
                                    .member_id = member.id};
  if (call.api_version >= 7 && protocol_name_->empty()) response.protocol_name = std::nullopt;
  if (answer.with_members) {
    response.members.reserve(members_.size());
    for (const auto& [id, each] : members_.all()) {
      response.members.push_back(
          {.member_id = each->id, .group_instance_id = each->instance_id, .metadata = each->metadata(*protocol_name_)});
    }
  }
  effects.reply(call, response);
}

}  // namespace tailrace::groupcoord
