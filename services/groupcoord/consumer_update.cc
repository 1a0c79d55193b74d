// What a heartbeat of the consumer protocol and a JoinGroup of the classic one have in common: the member is written
// down, the group's epoch and its target assignment follow, and the member makes its next step towards the target.
#include "services/groupcoord/consumer_update.h"

#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "engine/base/check.h"
#include "services/groupcoord/classic_notes.h"
#include "services/groupcoord/consumer_records.h"
#include "services/groupcoord/metadata_hash.h"
#include "services/groupcoord/settings.h"
#include "services/groupcoord/topic_regex.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {

std::string random_member_id(const Chance& chance) {
  Uuid id;
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint64_t bits = chance();
    for (std::size_t i = 0; i < 8; ++i) id.bytes[half * 8 + i] = static_cast<std::uint8_t>(bits >> (8 * i));
  }
  id.bytes[0] &= 0x7F;                        // tools take what begins with "-" for an option
  id.bytes[6] = (id.bytes[6] & 0x0F) | 0x40;  // version 4,
  id.bytes[8] = (id.bytes[8] & 0x3F) | 0x80;  // variant 1 (RFC 4122)
  return id.text();
}

void ConsumerGroup::begin(Update& update) {
  const ConsumerMember* known = find(update.member.id);
  update.is_new = known == nullptr;
  if (known != nullptr) update.member = *known;
  update.before = update.member;
}

// The static member is back under another id, and takes over all that the old one had.
void ConsumerGroup::replace_static(const ConsumerMember& old, Update& update) {
  ConsumerMember next = old;
  next.id = update.member.id;
  next.epoch = kJoinEpoch;
  next.previous_epoch = kJoinEpoch;
  const Assignment target = target_.of(old.id);
  const std::string old_id = old.id;
  write_tombstones_of(old_id, update.effects);
  write(member_record(id(), next), update.effects);
  write(target_record(id(), next.id, target), update.effects);
  write(current_assignment_record(id(), next), update.effects);
}

void ConsumerGroup::write_member(Update& update) {
  if (!update.is_new && update.member == update.before) return;
  update.have_topics_changed = update.member.topics != update.before.topics;
  write(member_record(id(), update.member), update.effects);
}

// The member is written down already.
void ConsumerGroup::update_regex(Update& update) {
  const std::string& before = update.before.regex;
  const std::string& now = update.member.regex;
  if (before == now) return;
  update.regex = Update::Regex::changed;
  if (!before.empty() && subscriptions_.subscribers(before) == 0) {
    write(regex_tombstone(id(), before), update.effects);
  }
  if (now.empty()) {
    update.regex = Update::Regex::resolved;
  } else if (subscriptions_.subscribers(now) == 1) {
    update.has_new_regex = true;
  } else if (subscriptions_.find_resolved(now) != nullptr) {
    update.regex = Update::Regex::resolved;
  }
}

void ConsumerGroup::update_epoch(bool must_grow, const Moment& moment, Effects& effects) {
  if (!must_grow && metadata_fresh_until_ && moment.now < *metadata_fresh_until_) return;
  const std::int64_t hash = metadata_hash(subscriptions_.topics(), *context_.image);
  if (must_grow || hash != metadata_hash_) write_epoch(hash, moment, effects);
  // Changes of topics are heard of (on_image); what is computed now lasts as long as Kafka lets it.
  metadata_fresh_until_ = moment.now + std::chrono::milliseconds(std::numeric_limits<std::int32_t>::max());
  if (has_partition_metadata_) write(partition_metadata_tombstone(id()), effects);
}

void ConsumerGroup::write_epoch(std::int64_t hash, const Moment& moment, Effects& effects) {
  write(group_epoch_record(id(), epoch_ + 1, hash), effects);
  metadata_fresh_until_ = moment.now + std::chrono::milliseconds(std::numeric_limits<std::int32_t>::max());
}

void ConsumerGroup::update_target(const Moment& moment, Effects& effects) {
  if (target_.epoch >= epoch_) return;
  // A clock that was set back does not make the group wait.
  const TimestampMs computed = target_.computed_ms;
  if (computed != 0 && moment.wall_ms >= computed && moment.wall_ms < computed + assignment_interval_ms()) return;
  const Assignor assignor = find_assignor(preferred_assignor());
  CHECK(assignor != nullptr);  // the settings have none but those that there are
  for (const auto& [member, target] : next_targets(assignor, members_, subscriptions_, target_, *context_.image)) {
    write(target_record(id(), member, target), effects);
  }
  write(target_epoch_record(id(), epoch_, moment.wall_ms), effects);
  effects.notes.push_back(
      fmt::format("group {}: epoch {} is assigned to {} members", shown(id()), epoch_, members_.size()));
}

void ConsumerGroup::reconcile_member(Update& update) {
  const ConsumerMember* current = find(update.member.id);
  CHECK(current != nullptr);
  update.member = *current;
  if (!update.has_subscription_changed() && current->is_reconciled_to(target_.epoch)) return;
  ConsumerMember next = reconcile({.member = *current,
                                   .target_epoch = target_.epoch,
                                   .target = target_.of(current->id),
                                   .subscribed_topics = subscriptions_.topic_ids(*current, *context_.image),
                                   .has_subscription_changed = update.has_subscription_changed(),
                                   .current = partition_epochs_,
                                   .owned = update.owned});
  if (next == *current) return;
  write(current_assignment_record(id(), next), update.effects);
  if (!next.classic) {
    if (next.state == MemberState::unrevoked_partitions) {
      set_timer(Timer::rebalance, next.id, std::chrono::milliseconds(next.rebalance_timeout_ms), update.moment);
    } else {
      clear_timer(Timer::rebalance, next.id);
    }
  }
  update.member = std::move(next);
}

// Looks up which topics the regular expressions match, if that may have changed, and not more often than every ten
// seconds. Kafka does it beside the heartbeats, so it comes after the answer to one.
void ConsumerGroup::refresh_regexes(bool has_new, const Moment& moment, Effects& effects) {
  constexpr TimestampMs kPauseMs = 10'000;
  const auto& resolved = subscriptions_.resolved();
  if (subscriptions_.regexes().empty()) return;
  bool must_refresh = has_new || has_new_topics_ || subscriptions_.regexes().size() != resolved.size();
  if (!resolved.empty() && moment.wall_ms >= resolved.begin()->second.resolved_ms) {
    const TimestampMs since_ms = moment.wall_ms - resolved.begin()->second.resolved_ms;
    if (since_ms <= kPauseMs) return;
    must_refresh |= std::chrono::milliseconds(since_ms) > context_.settings.consumer_regex_refresh;
  }
  if (!must_refresh) return;

  std::vector<std::string_view> regexes;
  for (const auto& [regex, count] : subscriptions_.regexes()) regexes.push_back(regex);
  bool has_changed = false;
  for (auto& [regex, topics] : match_topics(regexes, *context_.image)) {
    const ResolvedRegex* before = subscriptions_.find_resolved(regex);
    has_changed |= before == nullptr ? !topics.empty() : before->topics != topics;
    write(regex_record(id(), regex, {.topics = std::move(topics), .version = 0, .resolved_ms = moment.wall_ms}),
          effects);
  }
  has_new_topics_ = false;
  const std::int64_t hash = metadata_hash(subscriptions_.topics(), *context_.image);
  if (has_changed || hash != metadata_hash_) write_epoch(hash, moment, effects);
}

}  // namespace tailrace::groupcoord
