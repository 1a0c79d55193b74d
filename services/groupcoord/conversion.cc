#include "services/groupcoord/conversion.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "services/groupcoord/classic_group.h"
#include "services/groupcoord/classic_notes.h"
#include "services/groupcoord/consumer_group.h"
#include "services/groupcoord/consumer_records.h"
#include "services/groupcoord/consumer_subscription.h"
#include "services/groupcoord/metadata_hash.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;

Refusal not_a_consumer_group(std::string_view group) {
  return {ErrorCode::GROUP_ID_NOT_FOUND, fmt::format("Group {} is not a consumer group.", group)};
}

// -- From the classic protocol -------------------------------------------------------------------------------------

namespace {

Refusal cannot_upgrade(std::string_view group, std::string_view why) {
  return {ErrorCode::GROUP_ID_NOT_FOUND,
          fmt::format("Cannot upgrade classic group {} to consumer group because {}.", group, why)};
}

// What the members say, under the protocol that they agreed on or would.
std::optional<std::string> protocol_of(const ClassicGroup& classic) {
  if (classic.protocol_name()) return classic.protocol_name();
  return classic.members().vote();
}

// nullopt: what it says or has is not a consumer's; `why` has the words.
std::optional<ConsumerMember> consumer_member(const ClassicMember& from, std::string_view protocol,
                                              std::int32_t generation, const node::MetadataImage& image,
                                              std::string& why) {
  const auto subscription = parse_subscription(from.metadata(protocol));
  const auto assignment = parse_assignment(from.assignment, image);
  if (!subscription || !assignment) {
    why = "the embedded consumer protocol is malformed";
    return std::nullopt;
  }
  if (assignment->has_user_data) {
    why =
        "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
        "assignor before re-attempting the upgrade";
    return std::nullopt;
  }
  ConsumerMember member;
  member.id = from.id;
  member.instance_id = from.instance_id;
  if (subscription->rack_id && !subscription->rack_id->empty()) member.rack_id = std::string(*subscription->rack_id);
  member.client_id = from.client_id;
  member.client_host = from.client_host;
  member.rebalance_timeout_ms = from.rebalance_timeout_ms;
  for (const std::string_view topic : subscription->topics) member.topics.emplace(topic);
  member.classic = ConsumerMember::Classic{from.session_timeout_ms, from.protocols};
  member.epoch = generation;
  member.previous_epoch = generation;
  member.assigned = with_epoch(assignment->partitions, generation);
  return member;
}

}  // namespace

std::expected<std::unique_ptr<ConsumerGroup>, Refusal> upgrade(ClassicGroup& classic, Context& context,
                                                               const kafka::ConsumerGroupHeartbeatRequest& request,
                                                               const Moment& moment, Effects& effects) {
  auto group = std::make_unique<ConsumerGroup>(context, classic.id());
  if (classic.is_empty()) {
    if (auto refusal = group->check(request)) return std::unexpected(std::move(*refusal));
    classic.refuse_waiting(ErrorCode::REBALANCE_IN_PROGRESS, effects);
    classic.append_tombstones(effects);
    return group;
  }
  const std::size_t size = classic.members().size();
  if (!context.settings.may_upgrade) {
    return std::unexpected(cannot_upgrade(classic.id(), "online upgrade is disabled"));
  }
  if (!classic.uses_consumer_protocol()) {
    return std::unexpected(cannot_upgrade(classic.id(), "the group does not use the consumer embedded protocol"));
  }
  if (size > context.settings.consumer_group_size_max) {
    return std::unexpected(cannot_upgrade(classic.id(), "the group size exceeds the consumer group maximum size"));
  }
  Effects converted;
  classic.append_tombstones(converted);
  std::string why;
  if (!group->take_over(classic, moment, converted, why)) {
    return std::unexpected(cannot_upgrade(classic.id(), why));
  }
  if (auto refusal = group->check(request)) return std::unexpected(std::move(*refusal));

  classic.refuse_waiting(ErrorCode::REBALANCE_IN_PROGRESS, effects);
  std::ranges::move(converted.records, std::back_inserter(effects.records));
  effects.notes.push_back(fmt::format(
      "group {}: is a consumer group from now on, with {} members of the classic protocol", shown(classic.id()), size));
  return group;
}

bool ConsumerGroup::take_over(const ClassicGroup& classic, const Moment& moment, Effects& effects, std::string& why) {
  const std::int32_t generation = classic.generation();
  const std::optional<std::string> protocol = protocol_of(classic);
  if (!protocol) {
    why = "its members have no protocol in common";
    return false;
  }
  std::vector<ConsumerMember> members;
  for (const auto& [member_id, from] : classic.members().all()) {
    auto member = consumer_member(*from, *protocol, generation, *context_.image, why);
    if (!member) return false;
    members.push_back(std::move(*member));
  }

  for (const ConsumerMember& member : members) write(member_record(id(), member), effects);
  write(group_epoch_record(id(), generation, metadata_hash(subscriptions_.topics(), *context_.image)), effects);
  for (const ConsumerMember& member : members) {
    write(target_record(id(), member.id, without_epochs(member.assigned)), effects);
  }
  write(target_epoch_record(id(), generation, 0), effects);
  for (const ConsumerMember& member : members) {
    write(current_assignment_record(id(), member), effects);
    set_timer(Timer::session, member.id, std::chrono::milliseconds(member.classic->session_timeout_ms), moment);
  }
  return true;
}

// -- And back ------------------------------------------------------------------------------------------------------

namespace {

// All that it has not given up.
Assignment held_by(const ConsumerMember& member) {
  AssignmentEpochs held = member.assigned;
  for (const auto& [topic, partitions] : member.revoking) held[topic].insert(partitions.begin(), partitions.end());
  return without_epochs(held);
}

}  // namespace

// Without these, all members that are left speak the classic protocol, and it may be.
bool ConsumerGroup::may_become_classic(const std::set<std::string_view>& without) const {
  std::size_t staying = 0;
  for (const auto& [member_id, member] : members_) {
    if (without.contains(member_id)) continue;
    if (!member.classic) return false;
    ++staying;
  }
  return staying > 0 && context_.settings.may_downgrade && staying <= context_.settings.group_size_max;
}

// False, and nothing is changed: there is no protocol that all support.
bool ConsumerGroup::become_classic(const std::set<std::string_view>& without, bool must_rebalance,
                                   std::string_view reason, const Moment& moment, Effects& effects) {
  std::vector<ClassicMember> members;
  for (const auto& [member_id, from] : members_) {
    if (without.contains(member_id)) continue;
    ClassicMember member;
    member.id = member_id;
    member.instance_id = from.instance_id;
    member.client_id = from.client_id;
    member.client_host = from.client_host;
    member.rebalance_timeout_ms = from.rebalance_timeout_ms;
    member.session_timeout_ms = from.classic->session_timeout_ms;
    member.protocols = from.classic->protocols;
    const Bytes metadata = member.protocols.empty() ? Bytes{} : Bytes(member.protocols.front().metadata);
    // Until the rebalance it has what it has. Kafka writes down the target then, and when the next member of the
    // consumer protocol comes before this one has heard of anything, two have the same partition.
    const Assignment assignment = must_rebalance ? held_by(from) : target_.of(member_id);
    member.assignment = assignment_bytes(assignment, metadata, *context_.image);
    members.push_back(std::move(member));
  }

  auto classic = std::make_unique<ClassicGroup>(context_, id());
  Effects converted;
  append_tombstones(converted);
  if (!classic->take_over(epoch_, std::move(members), moment, converted)) return false;
  if (must_rebalance) classic->prepare_rebalance(reason, moment, converted);
  std::ranges::move(converted.records, std::back_inserter(effects.records));
  std::ranges::move(converted.replies, std::back_inserter(effects.replies));
  std::ranges::move(converted.notes, std::back_inserter(effects.notes));
  effects.notes.push_back(fmt::format("group {}: is a classic group from now on: {}", shown(id()), reason));
  successor_ = std::move(classic);
  return true;
}

}  // namespace tailrace::groupcoord
