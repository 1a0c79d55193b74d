// The rebalance of a classic group: how it begins, whom it waits for and how long, and the generation that comes of it.
#include <algorithm>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "services/groupcoord/classic_group.h"
#include "services/groupcoord/classic_notes.h"
#include "services/groupcoord/classic_replies.h"
#include "services/groupcoord/settings.h"

namespace tailrace::groupcoord {
namespace {

bool may_follow(ClassicState to, ClassicState from) {
  switch (to) {
    case ClassicState::preparing_rebalance:
      return from != ClassicState::preparing_rebalance;
    case ClassicState::empty:
    case ClassicState::completing_rebalance:
      return from == ClassicState::preparing_rebalance;
    case ClassicState::stable:
      break;
  }
  return from == ClassicState::completing_rebalance;
}

}  // namespace

void ClassicGroup::transition(ClassicState to, const Moment& moment) {
  CHECK(may_follow(to, state_));
  is_initial_ = to == ClassicState::preparing_rebalance && state_ == ClassicState::empty;
  state_ = to;
  state_since_ms_ = moment.wall_ms;
}

Duration ClassicGroup::rebalance_timeout() const { return std::chrono::milliseconds(members_.rebalance_timeout_ms()); }

void ClassicGroup::prepare_rebalance(std::string_view reason, const Moment& moment, Effects& effects) {
  if (state_ == ClassicState::completing_rebalance) {
    for (const auto& [id, member] : members_.all()) member->assignment.clear();
    refuse_syncs(kafka::ErrorCode::REBALANCE_IN_PROGRESS, moment, effects);
  }
  forget_syncs();
  transition(ClassicState::preparing_rebalance, moment);
  effects.notes.push_back("group=" + shown(id()) + " rebalances generation=" + std::to_string(generation_) +
                          " reason=\"" + std::string(reason) + "\"");
  if (is_initial_) {
    initial_step_ = context_.settings.initial_rebalance_delay;
    initial_remaining_ = std::max(rebalance_timeout() - initial_step_, Duration::zero());
    has_new_member_ = false;
    join_due_ = moment.now + initial_step_;
    return;
  }
  join_due_ = moment.now + rebalance_timeout();
  complete_if_all_joined(moment, effects);
}

void ClassicGroup::prepare_or_complete(std::string_view reason, const Moment& moment, Effects& effects) {
  if (state_ == ClassicState::preparing_rebalance) return complete_if_all_joined(moment, effects);
  prepare_rebalance(reason, moment, effects);
}

// A group that was empty waits for others to come, even when all that it knows have joined.
void ClassicGroup::complete_if_all_joined(const Moment& moment, Effects& effects) {
  if (state_ != ClassicState::preparing_rebalance || is_initial_) return;
  if (members_.have_all_joined()) complete_join(moment, effects);
}

// The delay begins anew as long as members come, up to the rebalance time-out of the first one (KIP-134).
void ClassicGroup::on_initial_delay(const Moment& moment, Effects& effects) {
  if (!has_new_member_ || initial_remaining_ == Duration::zero()) return complete_join(moment, effects);
  has_new_member_ = false;
  const Duration step = std::min(context_.settings.initial_rebalance_delay, initial_remaining_);
  initial_remaining_ = std::max(initial_remaining_ - initial_step_, Duration::zero());
  initial_step_ = step;
  join_due_ = moment.now + step;
}

// Those that have not joined are left out, but for static members: they keep their place as long as their session.
void ClassicGroup::complete_join(const Moment& moment, Effects& effects) {
  join_due_.reset();
  std::vector<ClassicMember*> late;
  for (const auto& [id, member] : members_.all()) {
    if (!member->waiting_join && !member->is_static()) late.push_back(member.get());
  }
  for (ClassicMember* member : late) {
    effects.notes.push_back("group=" + shown(id()) + " member=" + shown(member->id) + " has not joined in time");
    drop(*member, effects);
  }
  if (!members_.empty() && !members_.elect_joined_leader()) {
    effects.notes.push_back("group=" + shown(id()) + " waits on: nobody has joined");
    join_due_ = moment.now + std::max(rebalance_timeout(), kRejoinPauseMin);
    return;
  }
  begin_generation(moment, effects);
}

void ClassicGroup::begin_generation(const Moment& moment, Effects& effects) {
  generation_ = generation_ == std::numeric_limits<std::int32_t>::max() ? 0 : generation_ + 1;
  if (members_.empty()) {
    protocol_name_.reset();
    topics_ = subscribed_topics();
    transition(ClassicState::empty, moment);
    effects.records.push_back(record());
    effects.notes.push_back("group=" + shown(id()) + " is empty generation=" + std::to_string(generation_));
    return;
  }
  protocol_name_ = members_.vote();
  CHECK(protocol_name_.has_value());  // nobody comes in without one that all support
  topics_ = subscribed_topics();
  transition(ClassicState::completing_rebalance, moment);
  effects.notes.push_back("group=" + shown(id()) + " has joined generation=" + std::to_string(generation_) +
                          " members=" + std::to_string(members_.size()) + " protocol=" + shown(*protocol_name_) +
                          " leader=" + shown(members_.leader()->id));
  for (const auto& [id, member] : members_.all()) {
    if (const auto call = members_.set_waiting_join(*member, std::nullopt)) {
      const bool is_leader = member.get() == members_.leader();
      answer_join(*call, *member, {.leader = members_.leader()->id, .with_members = is_leader}, effects);
    }
    member->is_new = false;
    member->owes_sync = true;
    keep_alive(*member, moment);
  }
  owed_syncs_ = members_.size();
  sync_due_ = moment.now + rebalance_timeout();
}

// Those that have not sent SyncGroup are gone, and the others have to do without them.
void ClassicGroup::on_sync_due(const Moment& moment, Effects& effects) {
  sync_due_.reset();
  std::vector<ClassicMember*> late;
  for (const auto& [id, member] : members_.all()) {
    if (member->owes_sync) late.push_back(member.get());
  }
  if (late.empty()) return;
  for (ClassicMember* member : late) drop(*member, effects);
  prepare_rebalance(std::to_string(late.size()) + " members have not sent SyncGroup in time", moment, effects);
}

// -- Time ----------------------------------------------------------------------------------------------------------

std::optional<Instant> ClassicGroup::next_deadline() const {
  std::optional<Instant> first = sessions_.next();
  for (const std::optional<Instant>& due : {join_due_, sync_due_}) {
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

// Each thing happens once at most: a time-out of 0 that begins anew is for the next call.
void ClassicGroup::on_time(const Moment& moment, Effects& effects) {
  for (const std::string& id : sessions_.take_due(moment.now)) {
    if (!sessions_.has(id)) on_session_over(id, moment, effects);  // unless what came before has prolonged it
  }
  const bool is_join_due = join_due_ && *join_due_ <= moment.now;
  const bool is_sync_due = sync_due_ && *sync_due_ <= moment.now;
  if (is_join_due) {
    is_initial_ ? on_initial_delay(moment, effects) : complete_join(moment, effects);
  } else if (is_sync_due) {
    on_sync_due(moment, effects);
  }
}

}  // namespace tailrace::groupcoord
