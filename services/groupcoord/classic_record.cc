// How a classic group begins and what is written of it: the record of its last generation, which brings it back after a
// restart.
#include <utility>

#include "engine/base/check.h"
#include "services/groupcoord/classic_group.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/codec.h"
#include "services/kafka/group_record.h"
#include "services/kafka/messages/consumer_protocol.h"
#include "services/kafka/messages/group_records.h"

namespace tailrace::groupcoord {
namespace {

// Beyond this a group counts as one whose topics are not known: more than a cluster has.
constexpr std::size_t kTopicsMax = 1'000'000;

std::vector<std::byte> copy(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

std::optional<std::string> copy(std::optional<std::string_view> text) {
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

ClassicMember member_from(const kafka::GroupMetadataValue& value,
                          const kafka::GroupMetadataValue::MemberMetadata& member) {
  return {.id = std::string(member.member_id),
          .instance_id = copy(member.group_instance_id),
          .client_id = std::string(member.client_id),
          .client_host = std::string(member.client_host),
          .rebalance_timeout_ms = member.rebalance_timeout == -1 ? member.session_timeout : member.rebalance_timeout,
          .session_timeout_ms = member.session_timeout,
          .protocols = {{.name = std::string(*value.protocol), .metadata = copy(member.subscription)}},
          .assignment = copy(member.assignment)};
}

bool is_free(const ClassicMembers& members, const ClassicMember& member) {
  if (members.find(member.id) != nullptr) return false;
  return !member.instance_id || members.find_static(*member.instance_id) == nullptr;
}

std::vector<std::byte> record_key(std::string_view group) {
  kafka::Buffer bytes;
  CHECK(kafka::encode_group_key(kafka::GroupMetadataKey{.group = group}, bytes));
  return copy(bytes.bytes());
}

}  // namespace

// -- How it begins -------------------------------------------------------------------------------------------------

bool ClassicGroup::load(const kafka::GroupMetadataValue& value) {
  if (!value.members.empty() && !value.protocol) return false;
  ClassicMembers members;
  for (const auto& each : value.members) {
    ClassicMember member = member_from(value, each);
    if (member.id.empty() || !is_free(members, member)) return false;
    members.add(std::move(member));
  }
  const ClassicMember* leader = value.leader ? members.find(*value.leader) : nullptr;
  if (leader != nullptr) members.set_leader(*leader);

  members_ = std::move(members);
  state_ = members_.empty() ? ClassicState::empty : ClassicState::stable;
  state_since_ms_ = value.current_state_timestamp;
  generation_ = value.generation;
  protocol_type_ = value.protocol_type;
  protocol_name_ = copy(value.protocol);
  topics_ = subscribed_topics();
  owed_syncs_ = 0;
  sessions_ = {};
  join_due_ = sync_due_ = std::nullopt;
  return true;
}

void ClassicGroup::on_loaded(const Moment& moment, Effects& effects) {
  for (const auto& [id, member] : members_.all()) keep_alive(*member, moment);
  if (members_.size() > context_.settings.group_size_max) {
    prepare_rebalance("it is larger than group.max.size", moment, effects);
  }
}

void ClassicGroup::create(const Moment& moment, Effects& effects) {
  state_since_ms_ = moment.wall_ms;
  effects.records.push_back(record());
}

bool ClassicGroup::take_over(std::int32_t generation, std::vector<ClassicMember> members, const Moment& moment,
                             Effects& effects) {
  ClassicMembers taken;
  for (ClassicMember& member : members) {
    if (member.id.empty() || !is_free(taken, member)) return false;
    taken.add(std::move(member));
  }
  std::optional<std::string> protocol = taken.vote();
  if (!protocol) return false;
  members_ = std::move(taken);
  state_ = ClassicState::stable;
  state_since_ms_ = moment.wall_ms;
  generation_ = generation;
  protocol_type_ = "consumer";
  protocol_name_ = std::move(protocol);
  topics_ = subscribed_topics();
  sessions_ = {};
  join_due_ = sync_due_ = std::nullopt;
  for (const auto& [id, member] : members_.all()) keep_alive(*member, moment);
  Record written = record();
  if (!fits(written)) return false;
  effects.records.push_back(std::move(written));
  return true;
}

// -- The record ----------------------------------------------------------------------------------------------------

Record ClassicGroup::record() const {
  kafka::GroupMetadataValue value{.protocol_type = protocol_type_,
                                  .generation = generation_,
                                  .protocol = protocol_name_,
                                  .leader = std::nullopt,
                                  .current_state_timestamp = state_since_ms_};
  if (members_.leader() != nullptr) value.leader = members_.leader()->id;
  value.members.reserve(members_.size());
  for (const auto& [id, member] : members_.all()) {
    value.members.push_back({.member_id = member->id,
                             .group_instance_id = member->instance_id,
                             .client_id = member->client_id,
                             .client_host = member->client_host,
                             .rebalance_timeout = member->rebalance_timeout_ms,
                             .session_timeout = member->session_timeout_ms,
                             .subscription = member->metadata(*protocol_name_),
                             .assignment = member->assignment});
  }
  kafka::Buffer bytes;
  CHECK(kafka::encode_group_value(value, kafka::kGroupMetadataValueVersion, bytes));  // its strings came in messages
  return {.key = record_key(id()), .value = copy(bytes.bytes())};
}

// One that is too large for the log would be lost, and with it all that was decided after it.
bool ClassicGroup::fits(const Record& record) const {
  return record.key.size() + (record.value ? record.value->size() : 0) <= context_.settings.record_size_max;
}

void ClassicGroup::append_tombstones(Effects& effects) const {
  effects.records.push_back({.key = record_key(id()), .value = std::nullopt});
}

// A subscription is read as of version 0: all later ones begin with it.
std::optional<ClassicGroup::Topics> ClassicGroup::subscribed_topics() const {
  if (!uses_consumer_protocol()) return std::nullopt;
  Topics topics;
  for (const auto& [id, member] : members_.all()) {
    constexpr std::size_t kVersionBytes = 2;
    const Bytes metadata = member->metadata(*protocol_name_);
    if (metadata.size() < kVersionBytes) return std::nullopt;
    const auto subscription = kafka::decode<kafka::ConsumerProtocolSubscription>(metadata.subspan(kVersionBytes), 0);
    if (!subscription) return std::nullopt;
    for (const std::string_view topic : subscription->topics) topics.emplace(topic);
    if (topics.size() > kTopicsMax) return std::nullopt;
  }
  return topics;
}

}  // namespace tailrace::groupcoord
