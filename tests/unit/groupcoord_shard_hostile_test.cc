// Requests that no client sends, of every version, to a shard with groups of all kinds. Each is answered once, then or
// when time has passed, in bytes that can be read; and what became of the shard is what its records say.
#include <gtest/gtest.h>

#include <string>

#include "services/kafka/random.h"
#include "tests/unit/support/shard_world.h"

namespace tailrace::groupcoord {
namespace {

class ShardHostileTest : public ShardWorld {
 protected:
  // A request of the version, some of it made to fit: about one of the groups, from one of the members.
  template <class Request>
  Request random_request(kafka::Random& random, std::int16_t version) {
    Request request = kafka::Codec<Request>::random(random, version);
    static constexpr std::string_view kGroups[] = {"tool", "classic", "consumer", "new", ""};
    if (!random.one_in(4)) request.group_id = kGroups[random.below(std::size(kGroups))];
    if constexpr (requires { request.member_id; }) {
      if (random.one_in(3)) request.member_id = random.one_in(2) ? std::string_view(member_) : "m";
      if (random.one_in(4)) request.member_id = "";
    }
    if constexpr (requires { request.generation_id; }) {
      if (random.one_in(2)) request.generation_id = static_cast<std::int32_t>(random.below(3));
    }
    if constexpr (requires { request.member_epoch; }) {
      if (random.one_in(2)) request.member_epoch = static_cast<std::int32_t>(random.below(5)) - 2;
    }
    if constexpr (requires { request.session_timeout_ms; }) {
      if (random.one_in(2)) request.session_timeout_ms = 10'000;
    }
    return request;
  }
  static std::int16_t any_version(kafka::Random& random, const kafka::MessageInfo& info) {
    const auto count = static_cast<std::size_t>(info.version_max - info.version_min + 1);
    return static_cast<std::int16_t>(info.version_min + static_cast<std::int16_t>(random.below(count)));
  }
  template <class Request, class Serve>
  void ask(kafka::Random& random, Serve serve) {
    const std::int16_t version = any_version(random, Request::kMessage);
    const auto request = random_request<Request>(random, version);
    serve(call(Request::kMessage.api_key, version), request);
  }
  void ask_something(kafka::Random& random) {
    const Client client{.id = "client", .host = "/10.0.0.1"};
    switch (random.below(8)) {
      case 0:
        return ask<kafka::JoinGroupRequest>(
            random, [&](const Call& made, const auto& it) { take(shard_->join(made, client, it, moment_)); });
      case 1:
        return ask<kafka::SyncGroupRequest>(
            random, [&](const Call& made, const auto& it) { take(shard_->sync(made, it, moment_)); });
      case 2:
        return ask<kafka::HeartbeatRequest>(
            random, [&](const Call& made, const auto& it) { take(shard_->heartbeat(made, it, moment_)); });
      case 3:
        return ask<kafka::LeaveGroupRequest>(
            random, [&](const Call& made, const auto& it) { take(shard_->leave(made, it, moment_)); });
      case 4:
        return ask<kafka::OffsetCommitRequest>(
            random, [&](const Call& made, const auto& it) { take(shard_->commit(made, it, moment_)); });
      case 5:
        return ask<kafka::OffsetDeleteRequest>(
            random, [&](const Call& made, const auto& it) { take(shard_->delete_offsets(made, it, moment_)); });
      case 6:
        return ask<kafka::ConsumerGroupHeartbeatRequest>(random, [&](const Call& made, const auto& it) {
          take(shard_->consumer_heartbeat(made, client, it, moment_));
        });
      default:
        return read_something(random);
    }
  }
  // What is asked about several groups, from request to bytes.
  void read_something(kafka::Random& random) {
    AnswerRoom room;
    kafka::Buffer bytes;
    const std::int16_t version = any_version(random, kafka::OffsetFetchRequest::kMessage);
    const auto request = kafka::Codec<kafka::OffsetFetchRequest>::random(random, version);
    std::vector<WantedOffsets> wanted = wanted_offsets(request, version);
    if (!wanted.empty()) wanted[0].group_id = "tool";
    std::vector<FetchedGroup> fetched;
    for (const WantedOffsets& each : wanted) {
      fetched.push_back(fetch_offsets(*shard_, each, request.require_stable, version, room));
    }
    kafka::encode(fetch_response(std::move(fetched), version), version, bytes);
    EXPECT_TRUE(kafka::decode_exactly<kafka::OffsetFetchResponse>(bytes.bytes(), version).has_value());

    kafka::ListGroupsResponse listed;
    list_groups(*shard_, kafka::Codec<kafka::ListGroupsRequest>::random(random, 5), listed);
    for (const std::string_view id : {std::string_view("tool"), std::string_view("classic"), random.text()}) {
      (void)describe_group(*shard_, id, true, 6, room);
      (void)describe_consumer_group(*shard_, id, true, room);
    }
    if (random.one_in(10)) {
      Effects effects;
      (void)delete_group(*shard_, random.one_in(2) ? random.text() : "tool", effects);
      take(std::move(effects));
    }
  }

  std::string member_;
};

TEST_F(ShardHostileTest, EveryRequestIsAnsweredOnce) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    kafka::Random random(seed);
    log_.clear();
    asked_.clear();
    answers_.clear();
    start();
    load();
    commit("tool", {.offset = 1});
    member_ = enter("classic");
    for (int i = 0; i < 400; ++i) {
      ask_something(random);
      if (random.one_in(20)) pass(std::chrono::milliseconds(random.below(20'000)));
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
    const std::unique_ptr<Shard> again = reload();
    EXPECT_EQ(again->groups().size(), shard_->groups().size());
    EXPECT_EQ(again->offsets().groups().size(), shard_->offsets().groups().size());
    pass(std::chrono::hours(24 * 60));  // a rebalance may wait for weeks if somebody asks for it
    for (const auto& [token, call] : asked_) EXPECT_TRUE(is_answered(token)) << call.api_key;
  }
}

}  // namespace
}  // namespace tailrace::groupcoord
