#include "services/groupcoord/classic_members.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace tailrace::groupcoord {

Bytes ClassicMember::metadata(std::string_view protocol) const {
  for (const ClassicProtocol& mine : protocols) {
    if (mine.name == protocol) return mine.metadata;
  }
  return {};
}

ClassicMember* ClassicMembers::find(std::string_view id) const {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : found->second.get();
}

ClassicMember* ClassicMembers::find_static(std::string_view instance_id) const {
  const auto found = static_members_.find(instance_id);
  return found == static_members_.end() ? nullptr : found->second;
}

ClassicMember& ClassicMembers::add(ClassicMember member) {
  auto owned = std::make_unique<ClassicMember>(std::move(member));
  ClassicMember& added = *owned;
  CHECK(members_.emplace(added.id, std::move(owned)).second);
  if (added.instance_id) CHECK(static_members_.emplace(*added.instance_id, &added).second);
  if (added.waiting_join) ++waiting_to_join_;
  if (leader_ == nullptr) leader_ = &added;
  count_protocols(added);
  remove_pending(added.id);
  return added;
}

void ClassicMembers::remove(ClassicMember& member) {
  uncount_protocols(member);
  if (member.waiting_join) --waiting_to_join_;
  if (member.instance_id) static_members_.erase(*member.instance_id);
  const bool has_led = leader_ == &member;
  members_.erase(members_.find(member.id));
  if (has_led) leader_ = members_.empty() ? nullptr : members_.begin()->second.get();
}

void ClassicMembers::rename(ClassicMember& member, std::string id) {
  auto node = members_.extract(member.id);  // the key is a view of the id
  member.id = std::move(id);
  node.key() = member.id;
  CHECK(members_.insert(std::move(node)).inserted);
}

void ClassicMembers::set_protocols(ClassicMember& member, std::vector<ClassicProtocol> protocols) {
  uncount_protocols(member);
  member.protocols = std::move(protocols);
  count_protocols(member);
}

bool ClassicMembers::remove_pending(std::string_view id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return false;
  pending_.erase(found);
  return true;
}

std::optional<Call> ClassicMembers::set_waiting_join(ClassicMember& member, std::optional<Call> call) {
  if (member.waiting_join) --waiting_to_join_;
  if (call) ++waiting_to_join_;
  return std::exchange(member.waiting_join, call);
}

bool ClassicMembers::elect_joined_leader() {
  if (leader_ != nullptr && leader_->waiting_join) return true;
  for (const auto& [id, member] : members_) {
    if (!member->waiting_join) continue;
    leader_ = member.get();
    return true;
  }
  return false;
}

bool ClassicMembers::all_support(std::string_view protocol) const {
  const auto found = supporters_.find(protocol);
  return (found == supporters_.end() ? 0 : found->second) == members_.size();
}

std::optional<std::string> ClassicMembers::vote() const {
  std::map<std::string_view, std::size_t> votes;
  for (const auto& [id, member] : members_) {
    for (const ClassicProtocol& protocol : member->protocols) {
      if (!all_support(protocol.name)) continue;
      ++votes[protocol.name];
      break;
    }
  }
  if (votes.empty()) return std::nullopt;
  const auto best = std::ranges::max_element(votes, {}, [](const auto& entry) { return entry.second; });
  return std::string(best->first);
}

std::int32_t ClassicMembers::rebalance_timeout_ms() const {
  std::int32_t longest = 0;
  for (const auto& [id, member] : members_) longest = std::max(longest, member->rebalance_timeout_ms);
  return longest;
}

void ClassicMembers::count_protocols(const ClassicMember& member) {
  for (const ClassicProtocol& protocol : member.protocols) ++supporters_[protocol.name];
}

void ClassicMembers::uncount_protocols(const ClassicMember& member) {
  for (const ClassicProtocol& protocol : member.protocols) {
    const auto found = supporters_.find(protocol.name);
    if (--found->second == 0) supporters_.erase(found);
  }
}

}  // namespace tailrace::groupcoord
