#include "services/groupcoord/classic_group.h"

namespace tailrace::groupcoord {

std::string_view ClassicGroup::state() const {
  switch (state_) {
    case ClassicState::empty:
      return "Empty";
    case ClassicState::preparing_rebalance:
      return "PreparingRebalance";
    case ClassicState::completing_rebalance:
      return "CompletingRebalance";
    case ClassicState::stable:
      break;
  }
  return "Stable";
}

kafka::DescribeGroupsResponse::DescribedGroup ClassicGroup::describe() const {
  kafka::DescribeGroupsResponse::DescribedGroup described{
      .group_id = id(), .group_state = state(), .protocol_type = protocol_type_};
  const bool is_stable = state_ == ClassicState::stable;
  if (is_stable) described.protocol_data = *protocol_name_;
  described.members.reserve(members_.size());
  for (const auto& [id, member] : members_.all()) {
    described.members.push_back({.member_id = member->id,
                                 .group_instance_id = member->instance_id,
                                 .client_id = member->client_id,
                                 .client_host = member->client_host,
                                 .member_metadata = is_stable ? member->metadata(*protocol_name_) : Bytes(),
                                 .member_assignment = member->assignment});
  }
  return described;
}

kafka::ErrorCode ClassicGroup::check_delete() const {
  return is_empty() ? kafka::ErrorCode::NONE : kafka::ErrorCode::NON_EMPTY_GROUP;
}

bool ClassicGroup::is_subscribed_to(std::string_view topic) const {
  return topics_ ? topics_->contains(topic) : uses_consumer_protocol();
}

// The last commit counts where nobody ever joins, and where the members are known not to want the topic. For a group
// that was left the moment of that counts; old records do not have it.
std::optional<TimestampMs> ClassicGroup::unused_since(TimestampMs committed_ms) const {
  if (protocol_type_.empty()) return committed_ms;
  if (is_empty()) return state_since_ms_ == kNoTimestamp ? committed_ms : state_since_ms_;
  if (state_ == ClassicState::stable && uses_consumer_protocol() && topics_) return committed_ms;
  return std::nullopt;
}

}  // namespace tailrace::groupcoord
