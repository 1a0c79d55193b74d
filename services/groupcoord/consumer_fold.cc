// The fold of a consumer group: what each of its records means, live and on a reload.
#include <algorithm>

#include "engine/base/check.h"
#include "services/groupcoord/consumer_group.h"
#include "services/groupcoord/consumer_records.h"
#include "services/kafka/group_record.h"
#include "services/kafka/messages/consumer_group_records.h"

namespace tailrace::groupcoord {
namespace {

using CurrentAssignment = kafka::ConsumerGroupCurrentMemberAssignmentValue;

std::optional<std::string> owned(const std::optional<std::string_view>& text) {
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

// Records of Kafka before 4.4 have no epochs: then all was assigned in the member's.
AssignmentEpochs epochs_of(const std::vector<CurrentAssignment::TopicPartitions>& topics, std::int32_t member_epoch) {
  AssignmentEpochs assignment;
  for (const auto& topic : topics) {
    const bool has_epochs = topic.assignment_epochs && topic.assignment_epochs->size() == topic.partitions.size();
    for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
      const std::int32_t epoch = has_epochs ? (*topic.assignment_epochs)[i] : std::max(member_epoch, 0);
      assignment[topic.topic_id].emplace(topic.partitions[i], epoch);
    }
  }
  return assignment;
}

Assignment target_of(const kafka::ConsumerGroupTargetAssignmentMemberValue& value) {
  Assignment target;
  for (const auto& topic : value.topic_partitions) {
    if (topic.partitions.empty()) continue;
    std::vector<std::int32_t>& partitions = target[topic.topic_id];
    partitions.insert(partitions.end(), topic.partitions.begin(), topic.partitions.end());
  }
  for (auto& [topic, partitions] : target) {
    std::ranges::sort(partitions);
    const auto repeated = std::ranges::unique(partitions);
    partitions.erase(repeated.begin(), repeated.end());
  }
  return target;
}

MemberState state_of(std::int8_t state) {
  switch (static_cast<MemberState>(state)) {
    case MemberState::stable:
    case MemberState::unrevoked_partitions:
    case MemberState::unreleased_partitions:
      return static_cast<MemberState>(state);
    case MemberState::unknown:
      break;
  }
  return MemberState::unknown;
}

}  // namespace

// False: the value cannot be read. None is a tombstone.
template <class Value>
bool ConsumerGroup::read(std::optional<Bytes> bytes, std::optional<Value>& value) const {
  if (!bytes) return true;
  auto decoded = kafka::decode_group_value<Value>(*bytes);
  if (!decoded) return false;
  value = std::move(*decoded);
  return true;
}

ConsumerGroup::Fold ConsumerGroup::apply(Bytes key, std::optional<Bytes> value) {
  using kafka::GroupRecordType;
  const auto type = kafka::group_record_type(key);
  if (!type) return Fold::passed_over;
  bool is_done = false;
  switch (*type) {
    case GroupRecordType::consumer_group_metadata: {
      if (!value) return Fold::gone;
      std::optional<kafka::ConsumerGroupMetadataValue> metadata;
      is_done = read(value, metadata);
      if (is_done) {
        epoch_ = metadata->epoch;
        metadata_hash_ = metadata->metadata_hash;
      }
      break;
    }
    case GroupRecordType::consumer_group_partition_metadata:
      has_partition_metadata_ = value.has_value();
      is_done = true;
      break;
    case GroupRecordType::consumer_group_member_metadata:
      is_done = fold_member(key, value);
      break;
    case GroupRecordType::consumer_group_target_assignment_metadata: {
      std::optional<kafka::ConsumerGroupTargetAssignmentMetadataValue> metadata;
      is_done = read(value, metadata);
      if (!is_done) break;
      target_.epoch = metadata ? metadata->assignment_epoch : -1;
      target_.computed_ms = metadata ? metadata->assignment_timestamp : 0;
      break;
    }
    case GroupRecordType::consumer_group_target_assignment_member:
      is_done = fold_target(key, value);
      break;
    case GroupRecordType::consumer_group_current_member_assignment:
      is_done = fold_current_assignment(key, value);
      break;
    case GroupRecordType::consumer_group_regular_expression:
      is_done = fold_regex(key, value);
      break;
    default:
      break;
  }
  return is_done ? Fold::done : Fold::passed_over;
}

bool ConsumerGroup::fold_member(Bytes key, std::optional<Bytes> value) {
  const auto decoded = kafka::decode_group_key<kafka::ConsumerGroupMemberMetadataKey>(key);
  std::optional<kafka::ConsumerGroupMemberMetadataValue> metadata;
  if (!decoded || !read(value, metadata)) return false;
  if (!metadata) {
    remove_member(decoded->member_id);
    return true;
  }
  const ConsumerMember* known = find(decoded->member_id);
  ConsumerMember member;
  if (known != nullptr) member = *known;
  member.id = decoded->member_id;
  member.instance_id = owned(metadata->instance_id);
  member.rack_id = owned(metadata->rack_id);
  member.client_id = metadata->client_id;
  member.client_host = metadata->client_host;
  member.rebalance_timeout_ms = metadata->rebalance_timeout_ms;
  member.topics.clear();
  for (const std::string_view topic : metadata->subscribed_topic_names) member.topics.emplace(topic);
  member.regex = metadata->subscribed_topic_regex.value_or("");
  member.server_assignor = owned(metadata->server_assignor);
  member.classic.reset();
  if (metadata->classic_member_metadata) {
    auto& classic = member.classic.emplace(ConsumerMember::Classic{});
    classic.session_timeout_ms = metadata->classic_member_metadata->session_timeout_ms;
    for (const auto& protocol : metadata->classic_member_metadata->supported_protocols) {
      classic.protocols.push_back({std::string(protocol.name), {protocol.metadata.begin(), protocol.metadata.end()}});
    }
  }
  put_member(std::move(member));
  return true;
}

bool ConsumerGroup::fold_current_assignment(Bytes key, std::optional<Bytes> value) {
  const auto decoded = kafka::decode_group_key<kafka::ConsumerGroupCurrentMemberAssignmentKey>(key);
  std::optional<CurrentAssignment> current;
  if (!decoded || !read(value, current)) return false;
  const ConsumerMember* known = find(decoded->member_id);
  if (known == nullptr && !current) return true;
  ConsumerMember member;
  if (known != nullptr) member = *known;
  member.id = decoded->member_id;
  member.epoch = current ? current->member_epoch : kLeaveEpoch;
  member.previous_epoch = current ? current->previous_member_epoch : kLeaveEpoch;
  if (current) member.state = state_of(current->state);
  member.assigned = current ? epochs_of(current->assigned_partitions, member.epoch) : AssignmentEpochs{};
  member.revoking = current ? epochs_of(current->partitions_pending_revocation, member.epoch) : AssignmentEpochs{};
  put_member(std::move(member));
  return true;
}

bool ConsumerGroup::fold_target(Bytes key, std::optional<Bytes> value) {
  const auto decoded = kafka::decode_group_key<kafka::ConsumerGroupTargetAssignmentMemberKey>(key);
  std::optional<kafka::ConsumerGroupTargetAssignmentMemberValue> target;
  if (!decoded || !read(value, target)) return false;
  const std::string member(decoded->member_id);
  if (target) {
    target_.by_member.insert_or_assign(member, target_of(*target));
  } else {
    target_.by_member.erase(member);
  }
  return true;
}

bool ConsumerGroup::fold_regex(Bytes key, std::optional<Bytes> value) {
  const auto decoded = kafka::decode_group_key<kafka::ConsumerGroupRegularExpressionKey>(key);
  std::optional<kafka::ConsumerGroupRegularExpressionValue> resolved;
  if (!decoded || !read(value, resolved)) return false;
  if (!resolved) {
    subscriptions_.drop_resolved(decoded->regular_expression);
    return true;
  }
  ResolvedRegex to{.topics = {}, .version = resolved->version, .resolved_ms = resolved->timestamp};
  for (const std::string_view topic : resolved->topics) to.topics.emplace(topic);
  subscriptions_.set_resolved(decoded->regular_expression, std::move(to));
  return true;
}

void ConsumerGroup::put_member(ConsumerMember member) {
  if (const ConsumerMember* old = find(member.id)) uncount(*old);
  count(member);
  std::string id = member.id;
  members_.insert_or_assign(std::move(id), std::move(member));
}

void ConsumerGroup::remove_member(std::string_view id) {
  const auto found = members_.find(id);
  if (found == members_.end()) return;
  uncount(found->second);
  for (const Timer timer : {Timer::session, Timer::rebalance, Timer::join, Timer::sync}) clear_timer(timer, id);
  members_.erase(found);
}

void ConsumerGroup::count(const ConsumerMember& member) {
  subscriptions_.add(member);
  partition_epochs_.add(member.assigned, member.epoch);
  partition_epochs_.add(member.revoking, member.epoch);
  if (member.instance_id) static_members_[*member.instance_id] = member.id;
  if (member.server_assignor) ++server_assignors_[*member.server_assignor];
  if (!member.classic) return;
  ++classic_members_;
  for (const ClassicProtocol& protocol : member.classic->protocols) ++classic_protocols_[protocol.name];
}

void ConsumerGroup::uncount(const ConsumerMember& member) {
  const auto decrement = [](auto& counts, const std::string& name) {
    const auto found = counts.find(name);
    if (found != counts.end() && --found->second == 0) counts.erase(found);
  };
  subscriptions_.remove(member);
  partition_epochs_.remove(member.assigned, member.epoch);
  partition_epochs_.remove(member.revoking, member.epoch);
  if (member.instance_id) {
    const auto found = static_members_.find(*member.instance_id);
    if (found != static_members_.end() && found->second == member.id) static_members_.erase(found);
  }
  if (member.server_assignor) decrement(server_assignors_, *member.server_assignor);
  if (!member.classic) return;
  --classic_members_;
  for (const ClassicProtocol& protocol : member.classic->protocols) decrement(classic_protocols_, protocol.name);
}

void ConsumerGroup::write(Record record, Effects& effects) {
  const Fold fold = apply(record.key, record.value ? std::optional<Bytes>(*record.value) : std::nullopt);
  CHECK(fold == Fold::done);
  effects.records.push_back(std::move(record));
}

}  // namespace tailrace::groupcoord
