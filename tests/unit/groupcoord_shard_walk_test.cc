// A shard is what its records say: whatever is asked of it, in any order and at any time, each request is answered
// once, and a new shard that reads the records knows the same.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/support/shard_world.h"

namespace tailrace::groupcoord {
namespace {

class ShardWalk : public ShardWorld {
 protected:
  struct Member {
    std::string group;
    std::string id;
    std::int32_t generation = -1;
    std::vector<std::uint64_t> waits_for{};  // JoinGroup, SyncGroup
  };

  std::int32_t pick(std::int32_t count) { return static_cast<std::int32_t>(walk_() % static_cast<unsigned>(count)); }
  std::int32_t pick_member() { return pick(static_cast<std::int32_t>(members_.size())); }
  std::string any_group() { return std::string(1, static_cast<char>('a' + pick(3))); }

  void step(int number) {
    switch (pick(19)) {
      case 0:
      case 1:
        return commit_something(number);
      case 2:
      case 3:
      case 4:
        return join_somebody();
      case 5:
      case 6:
        return sync_somebody();
      case 7:
        return commit_of_member(number);
      case 8: {
        if (members_.empty()) return;
        const Member& member = members_[static_cast<std::size_t>(pick_member())];
        (void)heartbeat(member.group, member.id, member.generation);
        return;
      }
      case 9: {
        if (members_.empty()) return;
        const auto at = members_.begin() + pick_member();
        leave(at->group, at->id);
        members_.erase(at);
        return;
      }
      case 10: {
        (void)delete_offset(any_group(), pick(2) == 0 ? "orders" : "payments", pick(3));
        return;
      }
      case 11: {
        const std::string group = any_group();
        if (remove_group(group) == ErrorCode::NONE) {
          EXPECT_FALSE(has(group));
          EXPECT_FALSE(shard_->offsets().has_any(group));
        }
        return;
      }
      case 12: {
        if (pick(3) != 0) return;
        const std::string_view topic = pick(2) == 0 ? "orders" : "payments";
        image(pick(2) == 0
                  ? cluster_.remove(topic)
                  : cluster_.add(topic, static_cast<std::uint8_t>((topic == "orders" ? 1 : 2) + 2 * pick(2)), 3));
        settle();
        return;
      }
      case 13:
      case 14:
        return begin_consumer();
      case 15:
      case 16:
        return consumer_goes_on(number);
      default:
        return pass(std::chrono::milliseconds(pick(8'000)));
    }
  }

  // The consumer protocol.
  kafka::ConsumerGroupHeartbeatResponse beat(const kafka::ConsumerGroupHeartbeatRequest& request) {
    const Call made = call(68, 1);
    take(shard_->consumer_heartbeat(made, {.id = "client", .host = "/10.0.0.1"}, request, moment_));
    return answer<kafka::ConsumerGroupHeartbeatResponse>(made.token);
  }
  void begin_consumer() {
    const std::string group = any_group();
    const std::string id = "consumer-" + std::to_string(pick(4));
    kafka::ConsumerGroupHeartbeatRequest request{
        .group_id = group, .member_id = id, .rebalance_timeout_ms = 5'000, .topic_partitions = {{}}};
    request.subscribed_topic_names = {{pick(2) == 0 ? "orders" : "payments"}};
    const auto response = beat(request);
    if (response.error_code == 0) consumers_.push_back({group, id, response.member_epoch});
  }
  void consumer_goes_on(int number) {
    if (consumers_.empty()) return;
    const auto at = consumers_.begin() + pick(static_cast<std::int32_t>(consumers_.size()));
    const bool leaves = pick(4) == 0;
    const auto response =
        beat({.group_id = at->group, .member_id = at->id, .member_epoch = leaves ? -1 : at->generation});
    at->generation = response.member_epoch;
    if (leaves || response.error_code != 0) {
      consumers_.erase(at);
    } else if (pick(2) == 0) {
      (void)commit(at->group, {.offset = number, .member = at->id, .generation = at->generation - pick(2)});
    }
  }

  void commit_something(int number) {
    const std::string group = any_group();
    const std::string_view topic = pick(2) == 0 ? "orders" : "payments";
    const std::int32_t partition = pick(2);
    if (commit(group, {.topic = topic, .partition = partition, .offset = number, .metadata = "walk"}) ==
        ErrorCode::NONE) {
      EXPECT_EQ(offset_of(group, topic, partition), number);
    }
  }
  void commit_of_member(int number) {
    if (members_.empty()) return;
    const Member& member = members_[static_cast<std::size_t>(pick_member())];
    const std::optional<Offset> before = offset_of(member.group);
    const ErrorCode error =
        commit(member.group,
               {.offset = number, .member = member.id, .generation = member.generation - (pick(5) == 0 ? 1 : 0)});
    EXPECT_EQ(offset_of(member.group), error == ErrorCode::NONE ? std::optional<Offset>(number) : before);
  }
  void join_somebody() {
    if (members_.size() < 6 || pick(2) == 0) {
      const std::string group = any_group();
      const std::uint64_t token = join(group, "");
      const auto response = answer<kafka::JoinGroupResponse>(token);
      if (response.error_code == wire(ErrorCode::MEMBER_ID_REQUIRED)) {
        members_.push_back({group, std::string(response.member_id)});
      }
      return;
    }
    Member& member = members_[static_cast<std::size_t>(pick_member())];
    member.waits_for.push_back(join(member.group, member.id));
    look(member);
  }
  void sync_somebody() {
    if (members_.empty()) return;
    Member& member = members_[static_cast<std::size_t>(pick_member())];
    look(member);
    member.waits_for.push_back(sync(member.group, member.id, member.generation, true));
  }
  void look(Member& member) {
    for (const std::uint64_t token : member.waits_for) {
      const auto found = answers_.find(token);
      if (found == answers_.end() || found->second.call.api_key != 11) continue;
      const auto response = answer<kafka::JoinGroupResponse>(token);
      if (response.error_code == 0) member.generation = response.generation_id;
    }
    std::erase_if(member.waits_for, [&](std::uint64_t token) { return is_answered(token); });
  }

  using Places = std::map<std::string, Offset>;
  [[nodiscard]] Places places() const {
    Places all;
    for (const auto& [group, topics] : shard_->offsets().groups()) {
      for (const auto& [topic, partitions] : topics) {
        partitions.for_each([&](const CommittedOffset& each) {
          all[group + '/' + topic + '-' + std::to_string(each.partition)] = each.offset;
        });
      }
    }
    return all;
  }
  // What is committed stays, until the next commit or until it is removed.
  static void check_step(const Places& before, const Places& after, Offset committed) {
    for (const auto& [place, offset] : after) {
      const auto known = before.find(place);
      if (known == before.end() || known->second != offset) {
        EXPECT_EQ(offset, committed) << place;
      }
    }
  }

  std::vector<std::string> offsets_told(const Shard& shard) {
    std::vector<std::string> told;
    for (const std::string_view id : {"a", "b", "c"}) {
      AnswerRoom room;
      const WantedOffsets wanted{.group_id = id, .topics = std::nullopt};
      kafka::Buffer bytes;
      kafka::encode(fetch_response({fetch_offsets(shard, wanted, true, 9, room)}, 9), 9, bytes);
      told.emplace_back(as_text(bytes.bytes()));
    }
    return told;
  }
  static std::string group_told(const Shard& shard, std::string_view id) {
    AnswerRoom room;
    kafka::DescribeGroupsResponse response;
    response.groups.push_back(describe_group(shard, id, true, 6, room));
    return kafka::to_json(response, 6);
  }
  static std::string consumer_group_told(const Shard& shard, std::string_view id) {
    AnswerRoom room;
    kafka::ConsumerGroupDescribeResponse response;
    response.groups.push_back(describe_consumer_group(shard, id, true, room));
    return kafka::to_json(response, 1);
  }
  void compare_with_reload() {
    const std::unique_ptr<Shard> again = reload();
    EXPECT_EQ(offsets_told(*shard_), offsets_told(*again));
    for (const auto& [id, group] : shard_->groups()) {
      ASSERT_NE(again->find(id), nullptr) << id;
      ASSERT_EQ(again->find(id)->type(), group->type());
      if (group->type() == GroupType::consumer) {
        EXPECT_EQ(consumer_group_told(*shard_, id), consumer_group_told(*again, id));
        continue;
      }
      // Between two generations the record says the last one.
      if (group->state() != "Stable" && group->state() != "Empty") continue;
      EXPECT_EQ(group_told(*shard_, id), group_told(*again, id));
    }
    for (const auto& [id, group] : again->groups()) EXPECT_NE(shard_->find(id), nullptr) << id;
  }

  std::mt19937_64 walk_;
  std::vector<Member> members_;
  std::vector<Member> consumers_;
};

TEST_F(ShardWalk, ANewShardKnowsTheSame) {
  settings_.offsets_retention_ms = 30'000;
  settings_.offsets_retention_check = std::chrono::seconds(7);
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    walk_.seed(seed);
    random_.seed(seed);
    log_.clear();
    members_.clear();
    consumers_.clear();
    asked_.clear();
    answers_.clear();
    start();
    load();
    for (int i = 0; i < 250; ++i) {
      const Places before = places();
      step(i);
      check_step(before, places(), i);
      if (i % 25 == 0) compare_with_reload();
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
    // When all clients are silent, everybody is answered and everything goes in the end.
    pass(std::chrono::minutes(10));
    for (const auto& [token, call] : asked_) EXPECT_TRUE(is_answered(token)) << call.api_key;
    EXPECT_TRUE(shard_->groups().empty());
    compare_with_reload();
  }
}

}  // namespace
}  // namespace tailrace::groupcoord
