#include "services/groupcoord/consumer_group.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "services/groupcoord/classic_notes.h"
#include "services/groupcoord/consumer_records.h"
#include "services/groupcoord/group_settings.h"
#include "services/groupcoord/image_change.h"
#include "services/groupcoord/settings.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;

ConsumerGroup::ConsumerGroup(Context& context, std::string id) : Group(context, std::move(id)) {}

ConsumerGroup::~ConsumerGroup() = default;

// -- The world -----------------------------------------------------------------------------------------------------

void ConsumerGroup::on_loaded(const Moment& moment) {
  for (const auto& [id, member] : members_) {
    set_timer(Timer::session, id, session_timeout(), moment);
    if (member.state == MemberState::unrevoked_partitions && member.epoch >= 0 && !member.classic) {
      set_timer(Timer::rebalance, id, std::chrono::milliseconds(member.rebalance_timeout_ms), moment);
    }
  }
}

void ConsumerGroup::on_image(const ImageChange& change) {
  has_new_topics_ |= change.has_new_topics;
  const auto& subscribed = subscriptions_.topics();
  const bool has_changed =
      change.topics.size() < subscribed.size()
          ? std::ranges::any_of(
                change.topics, [&](auto name) { return subscribed.contains(name); })
          : std::ranges::any_of(
                subscribed, [&](const auto& topic) { return std::ranges::binary_search(change.topics, topic.first); });
  if (has_changed || change.have_racks_changed) metadata_fresh_until_.reset();
}

void ConsumerGroup::on_time(const Moment& moment, Effects& effects) {
  std::vector<std::string> late;
  for (const auto& [timer, id] : timers_.take_due(moment.now)) {
    if (find(id) == nullptr || std::ranges::find(late, id) != late.end()) continue;
    constexpr std::string_view kReasons[] = {
        "sent no heartbeat within its session time-out", "did not give up partitions within its rebalance time-out",
        "did not join within its rebalance time-out", "did not sync within its rebalance time-out"};
    effects.notes.push_back(fmt::format("group {}: member {} is removed: it {}", shown(this->id()), shown(id),
                                        kReasons[static_cast<std::size_t>(timer)]));
    late.push_back(id);
  }
  if (!late.empty()) fence(late, moment, effects);
}

std::unique_ptr<Group> ConsumerGroup::take_successor() { return std::move(successor_); }

void ConsumerGroup::set_timer(Timer timer, std::string_view member, Duration timeout, const Moment& moment) {
  timers_.set({timer, std::string(member)}, moment.now + timeout);
}

void ConsumerGroup::clear_timer(Timer timer, std::string_view member) { timers_.clear({timer, std::string(member)}); }

// -- Reading -------------------------------------------------------------------------------------------------------

std::string_view ConsumerGroup::state() const {
  if (members_.empty()) return "Empty";
  if (epoch_ > target_.epoch) return "Assigning";
  const bool is_stable = std::ranges::all_of(
      members_, [this](const auto& member) { return member.second.is_reconciled_to(target_.epoch); });
  return is_stable ? "Stable" : "Reconciling";
}

const ConsumerMember* ConsumerGroup::find(std::string_view id) const {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second;
}

const ConsumerMember* ConsumerGroup::find_static(std::string_view instance_id) const {
  const auto found = static_members_.find(instance_id);
  return found == static_members_.end() ? nullptr : find(found->second);
}

Refusal ConsumerGroup::unknown_member(std::string_view member) const {
  return {ErrorCode::UNKNOWN_MEMBER_ID, fmt::format("Member {} is not a member of group {}.", member, id())};
}

bool ConsumerGroup::is_full_for(std::string_view member_id, const std::optional<std::string_view>& instance_id) const {
  if (instance_id && static_members_.contains(*instance_id)) return false;
  return members_.size() >= context_.settings.consumer_group_size_max && find(member_id) == nullptr;
}

// Which assignor most members would like; of equals, and if nobody says, the one that is configured first.
std::string_view ConsumerGroup::preferred_assignor() const {
  std::string_view preferred;
  std::size_t votes = 0;
  for (const std::string& name : context_.settings.consumer_assignors) {
    const auto found = server_assignors_.find(name);
    if (preferred.empty() || (found != server_assignors_.end() && found->second > votes)) {
      preferred = name;
      votes = found == server_assignors_.end() ? 0 : found->second;
    }
  }
  return preferred;
}

Duration ConsumerGroup::session_timeout() const {
  return std::chrono::milliseconds(session_timeout_ms(context_.settings, *context_.image, id()));
}
std::int32_t ConsumerGroup::heartbeat_interval_ms() const {
  return groupcoord::heartbeat_interval_ms(context_.settings, *context_.image, id());
}
std::int32_t ConsumerGroup::assignment_interval_ms() const {
  return groupcoord::assignment_interval_ms(context_.settings, *context_.image, id());
}

// -- Offsets -------------------------------------------------------------------------------------------------------

namespace {

// Tools that commit for a group without members, and producers that say nothing of a member.
bool needs_no_member(const Committer& who, bool is_empty) {
  if (who.generation < 0 && is_empty) return true;
  return who.is_transactional && who.generation == -1 && who.member_id.empty() && !who.instance_id;
}

ErrorCode wrong_epoch(const ConsumerMember& member) {
  return member.classic ? ErrorCode::ILLEGAL_GENERATION : ErrorCode::STALE_MEMBER_EPOCH;
}

}  // namespace

ErrorCode ConsumerGroup::on_commit(const Committer& who, const Moment& /*moment*/) {
  if (needs_no_member(who, members_.empty())) return ErrorCode::NONE;
  const ConsumerMember* member = find(who.member_id);
  if (member == nullptr) return ErrorCode::UNKNOWN_MEMBER_ID;
  // Older versions cannot say an epoch.
  constexpr std::int16_t kFirstWithEpoch = 9;
  if (!who.is_transactional && !member->classic && who.api_version < kFirstWithEpoch) {
    return ErrorCode::UNSUPPORTED_VERSION;
  }
  return who.generation > member->epoch ? wrong_epoch(*member) : ErrorCode::NONE;
}

ErrorCode ConsumerGroup::check_commit(const Committer& who, const Uuid& topic_id, std::int32_t partition) const {
  if (needs_no_member(who, members_.empty())) return ErrorCode::NONE;
  const ConsumerMember* member = find(who.member_id);
  if (member == nullptr) return ErrorCode::UNKNOWN_MEMBER_ID;
  if (who.generation >= member->epoch) return ErrorCode::NONE;
  for (const AssignmentEpochs* partitions : {&member->assigned, &member->revoking}) {
    const auto topic = partitions->find(topic_id);
    if (topic == partitions->end()) continue;
    const auto assigned_in = topic->second.find(partition);
    if (assigned_in == topic->second.end()) continue;
    return who.generation >= assigned_in->second ? ErrorCode::NONE : wrong_epoch(*member);
  }
  return wrong_epoch(*member);
}

ErrorCode ConsumerGroup::check_fetch(std::optional<std::string_view> member_id, std::int32_t member_epoch) const {
  if (!member_id && member_epoch < 0) return ErrorCode::NONE;
  const ConsumerMember* member = find(member_id.value_or(""));
  if (member == nullptr) return ErrorCode::UNKNOWN_MEMBER_ID;
  return member_epoch == member->epoch ? ErrorCode::NONE : wrong_epoch(*member);
}

ErrorCode ConsumerGroup::check_delete() const {
  return members_.empty() ? ErrorCode::NONE : ErrorCode::NON_EMPTY_GROUP;
}

// Its end, in the order that Kafka wants: of nobody is there anything left when the group goes.
void ConsumerGroup::append_tombstones(Effects& effects) const {
  for (const auto& [member, state] : members_) {
    effects.records.push_back(current_assignment_tombstone(id(), member));
  }
  for (const auto& [member, state] : members_) effects.records.push_back(target_tombstone(id(), member));
  for (const auto& [member, target] : target_.by_member) {
    if (!members_.contains(member)) effects.records.push_back(target_tombstone(id(), member));
  }
  effects.records.push_back(target_epoch_tombstone(id()));
  for (const auto& [member, state] : members_) effects.records.push_back(member_tombstone(id(), member));
  for (const auto& [regex, resolved] : subscriptions_.resolved()) {
    effects.records.push_back(regex_tombstone(id(), regex));
  }
  if (has_partition_metadata_) effects.records.push_back(partition_metadata_tombstone(id()));
  effects.records.push_back(group_epoch_tombstone(id()));
}

// -- Describing ----------------------------------------------------------------------------------------------------

namespace {

using Described = kafka::ConsumerGroupDescribeResponse;

template <class Partitions>
void append_topic(const Uuid& topic, const Partitions& partitions, const node::MetadataImage& image,
                  Described::Assignment& to) {
  const node::TopicImage* known = image.find(topic);
  if (known == nullptr) return;
  auto at = std::ranges::find(to.topic_partitions, topic, &Described::TopicPartitions::topic_id);
  if (at == to.topic_partitions.end()) {
    at = to.topic_partitions.insert(at, Described::TopicPartitions{.topic_id = topic, .topic_name = known->name});
  }
  at->partitions.insert(at->partitions.end(), partitions.begin(), partitions.end());
}

std::vector<std::int32_t> keys(const std::map<std::int32_t, std::int32_t>& epochs) {
  std::vector<std::int32_t> partitions;
  for (const auto& [partition, epoch] : epochs) partitions.push_back(partition);
  return partitions;
}

}  // namespace

void ConsumerGroup::describe(Described::DescribedGroup& to) const {
  const node::MetadataImage& image = *context_.image;
  to.group_id = id();
  to.group_state = state();
  to.group_epoch = epoch_;
  to.assignment_epoch = target_.epoch;
  to.assignor_name = preferred_assignor();
  to.members.reserve(members_.size());
  for (const auto& [member_id, member] : members_) {
    Described::Member& described = to.members.emplace_back();
    described.member_id = member_id;
    described.instance_id = member.instance_id;
    described.rack_id = member.rack_id;
    described.member_epoch = member.epoch;
    described.client_id = member.client_id;
    described.client_host = member.client_host;
    described.subscribed_topic_names.assign(member.topics.begin(), member.topics.end());
    described.subscribed_topic_regex = member.regex;
    described.member_type = member.classic ? 0 : 1;
    // It has what it is to give up, too, until it says otherwise.
    for (const auto& [topic, epochs] : member.assigned) append_topic(topic, keys(epochs), image, described.assignment);
    for (const auto& [topic, epochs] : member.revoking) append_topic(topic, keys(epochs), image, described.assignment);
    for (const auto& [topic, partitions] : target_.of(member_id)) {
      append_topic(topic, partitions, image, described.target_assignment);
    }
  }
}

bool ConsumerGroup::has_same_fold(const ConsumerGroup& other) const {
  return epoch_ == other.epoch_ && metadata_hash_ == other.metadata_hash_ &&
         has_partition_metadata_ == other.has_partition_metadata_ && members_ == other.members_ &&
         target_ == other.target_ && subscriptions_ == other.subscriptions_ &&
         static_members_ == other.static_members_ && server_assignors_ == other.server_assignors_ &&
         classic_protocols_ == other.classic_protocols_ && classic_members_ == other.classic_members_ &&
         partition_epochs_ == other.partition_epochs_;
}

}  // namespace tailrace::groupcoord
