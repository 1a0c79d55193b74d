// A shard with its log, a clock that stands still, and clients that keep what they were answered. What the shard gives
// out goes into the log at once; a new shard can be fed with it. An answer that comes twice fails the test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/groupcoord/group_answers.h"
#include "services/groupcoord/offset_fetch.h"
#include "services/groupcoord/settings.h"
#include "services/groupcoord/shard.h"
#include "services/kafka/codec.h"
#include "services/kafka/group_record.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/group_records.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/offset_delete.h"
#include "services/kafka/messages/sync_group.h"
#include "tests/unit/support/cluster_image.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;

class ShardWorld : public ::testing::Test {
 protected:
  struct Commit {
    std::string_view topic = "orders";
    std::int32_t partition = 0;
    Offset offset = 0;
    std::string_view member{};
    std::int32_t generation = -1;
    std::int16_t version = 9;
    std::string_view metadata{};
  };
  struct Logged {
    Record record;
    ProducerId producer_id = kNoProducerId;
    std::optional<bool> is_committed{};  // a control marker
  };

  void SetUp() override {
    settings_.initial_rebalance_delay = Duration(0);
    cluster_.add("orders", 1, 4);
    cluster_.add("payments", 2, 2);
    start();
    load();
  }
  void start() { shard_ = std::make_unique<Shard>(settings_, chance_, cluster_.image()); }
  void load() { take(shard_->on_loaded(moment_)); }
  // The process is started again.
  void restart() {
    shard_ = reload();
    load();
  }
  std::unique_ptr<Shard> reload() {
    auto shard = std::make_unique<Shard>(settings_, chance_, cluster_.image());
    for (const Logged& each : log_) EXPECT_TRUE(feed(each, *shard));
    return shard;
  }
  static bool feed(const Logged& logged, Shard& shard) {
    if (logged.is_committed) {
      shard.end_transaction(logged.producer_id, *logged.is_committed);
      return true;
    }
    const std::optional<Bytes> value = logged.record.value ? std::optional<Bytes>(*logged.record.value) : std::nullopt;
    return shard.apply(logged.record.key, value, logged.producer_id);
  }
  // A record of an adopted log.
  bool see(Logged logged) {
    const bool is_known = feed(logged, *shard_);
    if (is_known) log_.push_back(std::move(logged));
    return is_known;
  }
  template <class Key>
  static Record record_of(const Key& key) {
    kafka::Buffer bytes;
    EXPECT_TRUE(kafka::encode_group_key(key, bytes));
    return {.key = {bytes.data(), bytes.data() + bytes.size()}, .value = std::nullopt};
  }
  template <class Key, class Value>
  static Record record_of(const Key& key, const Value& value, std::int16_t version) {
    Record record = record_of(key);
    kafka::Buffer bytes;
    EXPECT_TRUE(kafka::encode_group_value(value, version, bytes));
    record.value.emplace(bytes.data(), bytes.data() + bytes.size());
    return record;
  }
  bool see_commit(std::string_view group, Offset offset, ProducerId producer = kNoProducerId,
                  std::int32_t partition = 0) {
    return see({record_of(kafka::OffsetCommitKey{.group = group, .topic = "orders", .partition = partition},
                          kafka::OffsetCommitValue{.offset = offset, .commit_timestamp = moment_.wall_ms}, 3),
                producer});
  }

  // -- What comes out --

  void take(Effects effects) {
    last_records_ = effects.records.size();
    for (Record& each : effects.records) log_.push_back({std::move(each)});
    for (Reply& each : effects.replies) {
      EXPECT_TRUE(asked_.contains(each.call.token));
      EXPECT_TRUE(answers_.emplace(each.call.token, std::move(each)).second) << "answered twice";
    }
  }
  Call call(std::int16_t key, std::int16_t version) {
    const Call made{++token_, key, version};
    asked_.emplace(made.token, made);
    return made;
  }
  [[nodiscard]] bool is_answered(std::uint64_t token) const { return answers_.contains(token); }
  // Borrows from the answer.
  template <class Message>
  Message answer(std::uint64_t token) {
    const auto found = answers_.find(token);
    if (found == answers_.end()) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    auto message = kafka::decode_exactly<Message>(found->second.body.bytes(), found->second.call.api_version);
    EXPECT_TRUE(message.has_value());
    return message ? *std::move(message) : Message{};
  }
  template <class Message>
  ErrorCode error(std::uint64_t token) {
    return static_cast<ErrorCode>(answer<Message>(token).error_code);
  }

  // -- Requests --

  std::uint64_t join(std::string_view group, std::string_view member, std::string_view protocol_type = "consumer",
                     std::int32_t session_ms = 10'000) {
    const Call made = call(11, 9);
    kafka::JoinGroupRequest request{.group_id = group,
                                    .session_timeout_ms = session_ms,
                                    .rebalance_timeout_ms = 60'000,
                                    .member_id = member,
                                    .protocol_type = protocol_type};
    request.protocols.push_back({.name = "range", .metadata = as_bytes(kSubscription)});
    take(shard_->join(made, {.id = "client", .host = "/10.0.0.1"}, request, moment_));
    return made.token;
  }
  std::uint64_t sync(std::string_view group, std::string_view member, std::int32_t generation, bool is_leader) {
    const Call made = call(14, 4);
    kafka::SyncGroupRequest request{.group_id = group, .generation_id = generation, .member_id = member};
    if (is_leader) request.assignments.push_back({.member_id = member, .assignment = as_bytes(kAssignment)});
    take(shard_->sync(made, request, moment_));
    return made.token;
  }
  ErrorCode heartbeat(std::string_view group, std::string_view member, std::int32_t generation) {
    const Call made = call(12, 4);
    take(shard_->heartbeat(made, {.group_id = group, .generation_id = generation, .member_id = member}, moment_));
    return error<kafka::HeartbeatResponse>(made.token);
  }
  std::uint64_t leave(std::string_view group, std::string_view member) {
    const Call made = call(13, 5);
    kafka::LeaveGroupRequest request{.group_id = group};
    request.members.push_back({.member_id = member});
    take(shard_->leave(made, request, moment_));
    return made.token;
  }
  // The only member of a group that is stable then; its id. The generation is 1 for a new group.
  std::string enter(std::string_view group, std::string_view protocol_type = "consumer") {
    const std::uint64_t first = join(group, "", protocol_type);
    const std::string id(answer<kafka::JoinGroupResponse>(first).member_id);
    const std::uint64_t second = join(group, id, protocol_type);
    settle();
    const auto joined = answer<kafka::JoinGroupResponse>(second);
    EXPECT_EQ(joined.error_code, 0);
    EXPECT_TRUE(is_answered(sync(group, id, joined.generation_id, true)));
    EXPECT_EQ(shard_->find(group)->state(), "Stable");
    return id;
  }
  ErrorCode commit(std::string_view group, const Commit& what) {
    const Call made = call(8, what.version);
    kafka::OffsetCommitRequest request{
        .group_id = group, .generation_id_or_member_epoch = what.generation, .member_id = what.member};
    auto& topic = request.topics.emplace_back();
    topic.name = what.topic;
    if (const node::TopicImage* const known = cluster_.image()->find(what.topic); known != nullptr) {
      topic.topic_id = known->id;
    }
    topic.partitions.push_back(
        {.partition_index = what.partition, .committed_offset = what.offset, .committed_metadata = what.metadata});
    take(shard_->commit(made, request, moment_));
    const auto response = answer<kafka::OffsetCommitResponse>(made.token);
    if (response.topics.size() != 1 || response.topics[0].partitions.size() != 1) {
      ADD_FAILURE();
      return ErrorCode::UNKNOWN_SERVER_ERROR;
    }
    return static_cast<ErrorCode>(response.topics[0].partitions[0].error_code);
  }
  // The error of the whole, or of the partition.
  ErrorCode delete_offset(std::string_view group, std::string_view topic, std::int32_t partition) {
    const Call made = call(47, 0);
    kafka::OffsetDeleteRequest request{.group_id = group};
    request.topics.push_back({.name = topic, .partitions = {{.partition_index = partition}}});
    take(shard_->delete_offsets(made, request, moment_));
    const auto response = answer<kafka::OffsetDeleteResponse>(made.token);
    if (response.error_code != 0) return static_cast<ErrorCode>(response.error_code);
    return static_cast<ErrorCode>(response.topics.at(0).partitions.at(0).error_code);
  }
  ErrorCode remove_group(std::string_view group) {
    Effects effects;
    const ErrorCode error = shard_->delete_group(group, effects);
    take(std::move(effects));
    return error;
  }
  void image(ClusterImage::Image image) {
    const ImageChange change = ImageChange::between(shard_->image(), *image);
    take(shard_->on_image(std::move(image), change));
  }

  // -- Time --

  // What is due now.
  void settle() {
    for (int steps = 0; shard_->next_deadline() && *shard_->next_deadline() <= moment_.now; ++steps) {
      ASSERT_LT(steps, 10'000) << "it never ends";
      take(shard_->on_time(moment_));
    }
  }
  // Deadline by deadline.
  void pass(Duration duration) {
    const Instant until = moment_.now + duration;
    while (shard_->next_deadline() && *shard_->next_deadline() <= until) {
      advance_to(std::max(*shard_->next_deadline(), moment_.now));
      settle();
    }
    advance_to(until);
  }
  void advance_to(Instant at) {
    moment_.wall_ms += (at - moment_.now) / std::chrono::milliseconds(1);
    moment_.now = at;
  }

  // -- What is there --

  [[nodiscard]] std::optional<Offset> offset_of(std::string_view group, std::string_view topic = "orders",
                                                std::int32_t partition = 0) const {
    const CommittedOffset* const found = shard_->offsets().find(group, topic, partition);
    return found == nullptr ? std::nullopt : std::optional<Offset>(found->offset);
  }
  [[nodiscard]] bool has(std::string_view group) const { return shard_->find(group) != nullptr; }

  // What consumers put into the classic protocol: version 0, topic "orders", no user data; and its partition 0.
  static constexpr std::string_view kSubscription{"\0\0\0\0\0\1\0\6orders\xFF\xFF\xFF\xFF", 18};
  static constexpr std::string_view kAssignment{"\0\0\0\0\0\1\0\6orders\0\0\0\1\0\0\0\0\xFF\xFF\xFF\xFF", 26};

  Settings settings_;
  std::mt19937_64 random_{1};
  Chance chance_ = [this] { return random_(); };
  ClusterImage cluster_;
  Moment moment_{.now = Instant{1'000'000}, .wall_ms = 1'700'000'000'000};
  std::unique_ptr<Shard> shard_;
  std::vector<Logged> log_;
  std::size_t last_records_ = 0;
  std::uint64_t token_ = 0;
  std::map<std::uint64_t, Call> asked_;
  std::map<std::uint64_t, Reply> answers_;
};

}  // namespace tailrace::groupcoord
