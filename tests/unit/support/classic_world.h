// A classic group with a clock that stands still, and clients that keep what they were answered. Time is let pass
// deadline by deadline. Answers are decoded; one that comes twice fails the test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/bytes.h"
#include "services/groupcoord/classic_group.h"
#include "services/groupcoord/settings.h"
#include "services/kafka/codec.h"
#include "services/kafka/group_record.h"
#include "services/kafka/messages/describe_groups.h"
#include "services/kafka/messages/group_records.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/sync_group.h"

namespace tailrace::groupcoord {

using kafka::ErrorCode;
using Token = std::uint64_t;

// What a client says of itself in JoinGroup.
struct Joiner {
  std::string id{};
  std::optional<std::string> instance{};
  std::vector<std::pair<std::string, std::string>> protocols{{"range", "range-metadata"}};
  std::string type = "consumer";
  std::int32_t session_ms = 10'000;
  std::int32_t rebalance_ms = 60'000;
  std::int16_t version = 9;
  std::string client = "client";
  std::string reason{};
};

class ClassicWorld {
 public:
  explicit ClassicWorld(std::uint64_t seed = 1)
      : random_(seed), chance_([this] { return random_(); }), group_(new_group()) {}

  Settings settings;
  std::vector<Record> records;
  std::vector<std::string> notes;
  Moment moment{Instant{1'000'000}, 1'700'000'000'000};
  std::function<void(const Reply&)> on_reply;  // when set, it gets the answers, and nothing is kept

  ClassicGroup& group() { return *group_; }
  std::string_view state() { return group_->state(); }

  // -- Requests --

  Token join(const Joiner& joiner) {
    kafka::JoinGroupRequest request{.group_id = "group",
                                    .session_timeout_ms = joiner.session_ms,
                                    .rebalance_timeout_ms = joiner.version == 0 ? -1 : joiner.rebalance_ms,
                                    .member_id = joiner.id,
                                    .protocol_type = joiner.type};
    if (joiner.instance) request.group_instance_id = *joiner.instance;
    if (!joiner.reason.empty()) request.reason = joiner.reason;
    for (const auto& [name, metadata] : joiner.protocols) {
      request.protocols.push_back({.name = name, .metadata = as_bytes(metadata)});
    }
    const Call call = new_call(11, joiner.version);
    Effects effects;
    group_->join(call, {.id = joiner.client, .host = "/10.0.0.1"}, request, moment, effects);
    take(std::move(effects));
    return call.token;
  }
  // Both rounds of a dynamic member; `joiner` learns its id.
  Token enter(Joiner& joiner) {
    const Token first = join(joiner);
    if (!is_answered(first)) return first;
    EXPECT_EQ(join_error(first), ErrorCode::MEMBER_ID_REQUIRED);
    joiner.id = joined(first).member_id;
    return join(joiner);
  }
  Token sync(std::string_view id, std::int32_t generation,
             const std::vector<std::pair<std::string, std::string>>& assignments = {}, std::int16_t version = 5,
             std::optional<std::string_view> instance = std::nullopt, std::string_view protocol = "range") {
    kafka::SyncGroupRequest request{
        .group_id = "group", .generation_id = generation, .member_id = id, .group_instance_id = instance};
    if (version >= 5) {
      request.protocol_type = "consumer";
      request.protocol_name = protocol;
    }
    for (const auto& [member, assignment] : assignments) {
      request.assignments.push_back({.member_id = member, .assignment = as_bytes(assignment)});
    }
    return sync(request, version);
  }
  Token sync(const kafka::SyncGroupRequest& request, std::int16_t version) {
    const Call call = new_call(14, version);
    Effects effects;
    group_->sync(call, request, moment, effects);
    take(std::move(effects));
    return call.token;
  }
  ErrorCode heartbeat(std::string_view id, std::int32_t generation,
                      std::optional<std::string_view> instance = std::nullopt) {
    const Call call = new_call(12, 4);
    Effects effects;
    group_->heartbeat(
        call, {.group_id = "group", .generation_id = generation, .member_id = id, .group_instance_id = instance},
        moment, effects);
    take(std::move(effects));
    return static_cast<ErrorCode>(answer<kafka::HeartbeatResponse>(call.token).error_code);
  }
  const kafka::LeaveGroupResponse& leave(const std::vector<std::pair<std::string, std::optional<std::string>>>& members,
                                         std::int16_t version = 5) {
    kafka::LeaveGroupRequest request{.group_id = "group"};
    if (version < 3) request.member_id = members.front().first;
    for (const auto& [id, instance] : members) {
      if (version < 3) break;
      request.members.push_back({.member_id = id, .group_instance_id = instance});
    }
    const Call call = new_call(13, version);
    Effects effects;
    group_->leave(call, request, moment, effects);
    take(std::move(effects));
    return answer<kafka::LeaveGroupResponse>(call.token);
  }
  // The error of a single member, whatever the version.
  ErrorCode leave_one(const std::string& id, std::optional<std::string> instance = std::nullopt,
                      std::int16_t version = 5) {
    const auto& response = leave({{id, std::move(instance)}}, version);
    if (version < 3) return static_cast<ErrorCode>(response.error_code);
    EXPECT_EQ(response.error_code, 0);
    return static_cast<ErrorCode>(response.members.at(0).error_code);
  }

  // -- Answers --

  bool is_answered(Token token) const { return replies_.contains(token); }
  template <class Message>
  const Message& answer(Token token) {
    EXPECT_TRUE(is_answered(token)) << "token " << token;
    static const Message kNone{};
    if (!is_answered(token)) return kNone;
    const Reply& reply = replies_.at(token);
    auto message = kafka::decode_exactly<Message>(reply.body.bytes(), reply.call.api_version);
    EXPECT_TRUE(message.has_value());
    if (!message) return kNone;
    auto kept = std::make_shared<Message>(std::move(*message));
    kept_.push_back(kept);
    return *kept;
  }
  const kafka::JoinGroupResponse& joined(Token token) { return answer<kafka::JoinGroupResponse>(token); }
  const kafka::SyncGroupResponse& synced(Token token) { return answer<kafka::SyncGroupResponse>(token); }
  ErrorCode join_error(Token token) { return static_cast<ErrorCode>(joined(token).error_code); }
  ErrorCode sync_error(Token token) { return static_cast<ErrorCode>(synced(token).error_code); }
  std::string assigned(Token token) { return std::string(as_text(synced(token).assignment)); }
  std::size_t waiting() const { return asked_ - replies_.size(); }

  // -- Stories that many tests begin with --

  // The members join, the leader gives each "for-<its id>", all are told. Returns the generation.
  std::int32_t make_stable(std::vector<Joiner*> joiners) {
    std::vector<Token> tokens;
    for (Joiner* joiner : joiners) tokens.push_back(enter(*joiner));
    for (int i = 0; i < 1'000 && state() == "PreparingRebalance"; ++i) pass(std::chrono::milliseconds(100));
    std::vector<std::pair<std::string, std::string>> assignments;
    for (std::size_t i = 0; i < joiners.size(); ++i) {
      EXPECT_EQ(join_error(tokens[i]), ErrorCode::NONE);
      joiners[i]->id = joined(tokens[i]).member_id;
      assignments.emplace_back(joiners[i]->id, "for-" + joiners[i]->id);
    }
    const std::int32_t generation = group_->generation();
    for (const Joiner* joiner : joiners) sync(joiner->id, generation, assignments, 3, joiner->instance);
    EXPECT_EQ(state(), "Stable");
    return generation;
  }
  std::string leader_id() { return group_->members().leader() == nullptr ? "" : group_->members().leader()->id; }

  // -- Time --

  void pass(Duration duration) {
    const Instant end = moment.now + duration;
    for (int steps = 0; steps < 10'000; ++steps) {
      const std::optional<Instant> due = group_->next_deadline();
      if (!due || *due > end) {
        set_now(end);
        return;
      }
      if (*due > moment.now) set_now(*due);
      tick();
    }
    ADD_FAILURE() << "time stands still";
  }
  void tick() {
    Effects effects;
    group_->on_time(moment, effects);
    take(std::move(effects));
  }

  // -- The log --

  kafka::GroupMetadataValue value(const Record& record) {
    EXPECT_TRUE(record.value.has_value());
    const auto value = kafka::decode_group_value<kafka::GroupMetadataValue>(*record.value);
    EXPECT_TRUE(value.has_value());
    return value ? *value : kafka::GroupMetadataValue{};
  }
  kafka::GroupMetadataValue last_value() {
    EXPECT_FALSE(records.empty());
    return records.empty() ? kafka::GroupMetadataValue{} : value(records.back());
  }
  // The process is started again: what is not in the last record is gone, and nobody is answered any more.
  void restart() {
    asked_ = replies_.size();
    asked_tokens_.clear();
    group_ = new_group();
    EXPECT_TRUE(records.empty() || group_->load(value(records.back())));
    Effects effects;
    group_->on_loaded(moment, effects);
    take(std::move(effects));
  }

  Effects& take(Effects&& effects) {
    for (Record& record : effects.records) records.push_back(std::move(record));
    for (Reply& reply : effects.replies) {
      const Token token = reply.call.token;
      EXPECT_TRUE(asked_tokens_.erase(token) == 1) << "nobody waits for " << token;
      if (on_reply) {
        on_reply(reply);
        --asked_;
        continue;
      }
      EXPECT_TRUE(replies_.emplace(token, std::move(reply)).second) << "answered twice: " << token;
    }
    for (std::string& note : effects.notes) notes.push_back(std::move(note));
    return effects;
  }
  // What the next request will have.
  Token next_token() const { return last_token_ + 1; }
  Call new_call(std::int16_t api_key, std::int16_t version) {
    ++asked_;
    asked_tokens_.insert(++last_token_);
    return {.token = last_token_, .api_key = api_key, .api_version = version};
  }

 private:
  std::unique_ptr<ClassicGroup> new_group() { return std::make_unique<ClassicGroup>(context_, "group"); }
  void set_now(Instant now) {
    const Duration passed = now - moment.now;
    moment.now = now;
    moment.wall_ms += std::chrono::duration_cast<std::chrono::milliseconds>(passed).count();
  }

  std::mt19937_64 random_;
  Chance chance_;
  Context context_{settings, chance_, nullptr};
  std::unique_ptr<ClassicGroup> group_;
  std::map<Token, Reply> replies_;
  std::set<Token> asked_tokens_;
  std::vector<std::shared_ptr<void>> kept_;  // decoded answers, until the end of the test
  std::size_t asked_ = 0;
  Token last_token_ = 0;
};

}  // namespace tailrace::groupcoord
