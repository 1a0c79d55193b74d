// Classic groups under requests of every kind, sound or not, in any order, with time that passes and restarts: after
// each step the group is sound, and what members are told about a generation fits together.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/unit/support/classic_world.h"

namespace tailrace::groupcoord {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class Walk {
 public:
  explicit Walk(std::uint64_t seed) : world_(seed), random_(seed) {
    world_.on_reply = [this](const Reply& reply) { on_reply(reply); };
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      const std::map<std::string, std::string> before = static_ids();
      is_restarted_ = false;
      step();
      for (const auto& [instance, id] : static_ids()) {
        const auto found = before.find(instance);
        const bool is_renamed = found != before.end() && found->second != id && !is_restarted_;
        if (is_renamed) renamed_from_[id] = found->second;
      }
      check();
    }
    world_.pass(hours(24 * 30));
    EXPECT_EQ(world_.waiting(), 0u);
    EXPECT_EQ(world_.state(), "Empty");
    EXPECT_EQ(world_.group().members().pending(), 0u);
    EXPECT_FALSE(world_.group().next_deadline().has_value());
  }
  std::size_t generations() const { return protocols_.size(); }
  std::size_t assigned() const { return assigned_; }

 private:
  struct Asked {
    std::string id;
    std::int32_t generation = 0;
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + below(values.size()));
  }

  std::map<std::string, std::string> static_ids() {
    std::map<std::string, std::string> ids;
    for (const auto& [id, member] : world_.group().members().all()) {
      if (member->instance_id) ids[*member->instance_id] = member->id;
    }
    return ids;
  }
  // Mostly a member's.
  std::string some_id() {
    const ClassicMembers::Map& members = world_.group().members().all();
    if (!members.empty() && !one_in(8)) return members.at(std::next(members.begin(), below(members.size()))->first)->id;
    if (!seen_.empty() && !one_in(8)) return seen_[below(seen_.size())];
    return one_of<std::string>({"", "stranger"});
  }
  std::optional<std::string> some_instance() {
    if (!one_in(3)) return std::nullopt;
    return one_of<std::string>({"i0", "i1", "i2"});
  }
  std::optional<std::string> instance_of(const std::string& id) {
    const ClassicMember* member = world_.group().members().find(id);
    if (member == nullptr || one_in(10)) return some_instance();
    return member->instance_id;
  }
  std::int32_t some_generation() {
    const std::int32_t current = world_.group().generation();
    return one_in(10) ? current + one_of({-1, 1, 1'000'000}) : current;
  }

  void step() {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
        return join("");
      case 3:
      case 4:
      case 5:
      case 6:
        return join(some_id());
      case 7:
      case 8:
      case 9:
        return sync();
      case 10:
        return heartbeat();
      case 11:
        if (one_in(2)) leave();
        return;
      case 12: {
        const std::string id = some_id();
        const std::optional<std::string> instance = instance_of(id);
        Committer who{.member_id = id, .generation = some_generation(), .is_transactional = one_in(4)};
        if (instance) who.instance_id = *instance;
        world_.group().on_commit(who, world_.moment);
        return;
      }
      case 13:
        if (one_in(20)) restart();
        if (one_in(20)) world_.settings.group_size_max = one_of<std::size_t>({1, 3, 100});
        return;
      default:
        world_.pass(milliseconds(one_of({0, 1, 500, 3'000, 7'000}) + static_cast<int>(below(1'000))));
        if (one_in(50)) world_.pass(milliseconds(one_of({30'000, 400'000})));
    }
  }

  void join(const std::string& id) {
    Joiner joiner{.id = id,
                  .instance = id.empty() ? some_instance() : instance_of(id),
                  .protocols = {},
                  .type = one_in(30) ? "connect" : "consumer",
                  .session_ms = one_of({6'000, 10'000, 45'000}),
                  .rebalance_ms = one_of({-1, 0, 5'000, 30'000, 60'000}),
                  .version = static_cast<std::int16_t>(below(10))};
    for (int i = static_cast<int>(below(4)); i >= 0; --i) {
      joiner.protocols.emplace_back(one_of<std::string>({"range", "range", "sticky", "mine"}),
                                    one_of<std::string>({"m", "n", ""}));
    }
    if (one_in(50)) joiner.protocols.clear();
    if (joiner.version < 5) joiner.instance = std::nullopt;
    asked_[world_.next_token()] = {.id = id};
    world_.join(joiner);
  }
  void sync() {
    std::string id = some_id();
    if (one_in(2)) id = world_.leader_id();
    const std::int32_t generation = some_generation();
    const std::optional<std::string> instance = instance_of(id);
    std::vector<std::pair<std::string, std::string>> assignments;
    std::map<std::string, std::string> given;
    for (int i = static_cast<int>(below(8)); i > 0; --i) {
      assignments.emplace_back(some_id(), std::to_string(generation) + "/" + std::to_string(below(1'000)));
      const auto& [to, assignment] = assignments.back();
      if (world_.group().members().find(to) != nullptr) given[to] = assignment;
    }
    kafka::SyncGroupRequest request{.group_id = "group", .generation_id = generation, .member_id = id};
    if (instance) request.group_instance_id = *instance;
    for (const auto& [member, assignment] : assignments) {
      request.assignments.push_back({.member_id = member, .assignment = as_bytes(assignment)});
    }
    asked_[world_.next_token()] = {.id = id, .generation = generation};
    // The leader's word counts while it is waited for; the answers to it need to know.
    const bool may_count = id == world_.leader_id() && generation == world_.group().generation() &&
                           world_.group().classic_state() == ClassicState::completing_rebalance;
    if (may_count) given_[generation] = given;
    world_.sync(request, static_cast<std::int16_t>(below(6)));
  }
  void heartbeat() {
    const std::string id = some_id();
    const std::optional<std::string> instance = instance_of(id);
    kafka::HeartbeatRequest request{.group_id = "group", .generation_id = some_generation(), .member_id = id};
    if (instance) request.group_instance_id = *instance;
    Effects effects;
    world_.group().heartbeat(world_.new_call(12, 4), request, world_.moment, effects);
    world_.take(std::move(effects));
  }
  void leave() {
    std::vector<std::pair<std::string, std::optional<std::string>>> members;
    for (int i = static_cast<int>(below(3)); i >= 0; --i) {
      const std::string id = some_id();
      members.emplace_back(id, instance_of(id));
    }
    kafka::LeaveGroupRequest request{.group_id = "group", .member_id = members.front().first};
    for (const auto& [id, instance] : members) {
      request.members.push_back({.member_id = id});
      if (instance) request.members.back().group_instance_id = *instance;
    }
    Effects effects;
    world_.group().leave(world_.new_call(13, static_cast<std::int16_t>(below(6))), request, world_.moment, effects);
    world_.take(std::move(effects));
  }
  void restart() {
    world_.restart();
    is_restarted_ = true;
    asked_.clear();
    last_generation_ = world_.group().generation();
    protocols_.erase(protocols_.upper_bound(last_generation_), protocols_.end());
  }

  void on_reply(const Reply& reply) {
    if (reply.call.api_key != 11 && reply.call.api_key != 14) return;
    const Asked asked = asked_.at(reply.call.token);
    asked_.erase(reply.call.token);
    reply.call.api_key == 11 ? on_joined(reply, asked) : on_synced(reply, asked);
  }
  void on_joined(const Reply& reply, const Asked& asked) {
    const auto joined = kafka::decode_exactly<kafka::JoinGroupResponse>(reply.body.bytes(), reply.call.api_version);
    ASSERT_TRUE(joined.has_value());
    if (!joined->member_id.empty()) seen_.emplace_back(joined->member_id);
    if (seen_.size() > 20) seen_.erase(seen_.begin());
    if (joined->error_code != 0) return;
    EXPECT_TRUE(asked.id.empty() || joined->member_id == asked.id);
    // All of a generation hear of the same protocol, and only while it is the last one (one step may see several).
    EXPECT_GE(joined->generation_id, last_generation_);
    EXPECT_LE(joined->generation_id, world_.group().generation());
    const std::string protocol(joined->protocol_name.value_or(""));
    EXPECT_EQ(protocols_.emplace(joined->generation_id, protocol).first->second, protocol);
    EXPECT_TRUE(!joined->skip_assignment || joined->leader == joined->member_id);
    EXPECT_TRUE(joined->leader == joined->member_id || joined->members.empty());
  }
  void on_synced(const Reply& reply, const Asked& asked) {
    const auto synced = kafka::decode_exactly<kafka::SyncGroupResponse>(reply.body.bytes(), reply.call.api_version);
    ASSERT_TRUE(synced.has_value());
    if (synced->error_code != 0) return;
    ++assigned_;
    EXPECT_EQ(asked.generation, last_generation_);
    ASSERT_TRUE(given_.contains(asked.generation));
    EXPECT_EQ(as_text(synced->assignment), given_to(asked.id, asked.generation));
  }
  // A static member that is back has what was given to the one before it.
  std::string given_to(std::string id, std::int32_t generation) {
    const auto& given = given_.at(generation);
    for (;;) {
      const auto found = given.find(id);
      if (found != given.end()) return found->second;
      const auto renamed = renamed_from_.find(id);
      if (renamed == renamed_from_.end()) return "";
      id = renamed->second;
    }
  }

  void check() {
    const ClassicGroup& group = world_.group();
    const ClassicMembers& members = group.members();
    std::size_t joins = 0;
    std::size_t syncs = 0;
    std::set<std::string> instances;
    for (const auto& [id, member] : members.all()) {
      EXPECT_EQ(id, member->id);
      EXPECT_FALSE(members.is_pending(id));
      EXPECT_FALSE(member->waiting_join && member->waiting_sync);
      if (member->waiting_join) ++joins;
      if (member->waiting_sync) ++syncs;
      if (!member->instance_id) continue;
      EXPECT_TRUE(instances.insert(*member->instance_id).second);
      EXPECT_EQ(members.find_static(*member->instance_id), member.get());
    }
    EXPECT_EQ(members.waiting_to_join(), joins);
    EXPECT_EQ(world_.waiting(), joins + syncs);  // each call is with one member
    EXPECT_TRUE(joins == 0 || group.classic_state() == ClassicState::preparing_rebalance);
    EXPECT_TRUE(syncs == 0 || group.classic_state() == ClassicState::completing_rebalance);
    EXPECT_TRUE(group.classic_state() != ClassicState::empty || members.empty());
    EXPECT_TRUE(group.classic_state() != ClassicState::stable || group.protocol_name().has_value());
    EXPECT_EQ(members.leader() != nullptr, !members.empty());
    EXPECT_TRUE(members.leader() == nullptr || members.find(members.leader()->id) == members.leader());
    const bool is_busy = !members.empty() || members.pending() > 0 || group.state() == "PreparingRebalance";
    EXPECT_TRUE(!is_busy || group.next_deadline().has_value());
    EXPECT_GE(group.generation(), last_generation_);
    last_generation_ = group.generation();
    EXPECT_EQ(group.describe().members.size(), members.size());
    if (world_.records.size() > 100) world_.records.erase(world_.records.begin(), world_.records.end() - 1);
    world_.notes.clear();
  }

  ClassicWorld world_;
  std::mt19937_64 random_;
  std::map<Token, Asked> asked_;
  std::vector<std::string> seen_;                                     // member ids of late
  std::map<std::int32_t, std::string> protocols_;                     // by generation
  std::map<std::int32_t, std::map<std::string, std::string>> given_;  // by generation and member
  std::map<std::string, std::string> renamed_from_;                   // static members
  bool is_restarted_ = false;                                         // in this step
  std::int32_t last_generation_ = 0;
  std::size_t assigned_ = 0;
};

TEST(ClassicWalk, AnyRequestInAnyStateLeavesTheGroupSound) {
  const char* asked = std::getenv("TAILRACE_SEED");
  const std::uint64_t first = asked == nullptr ? 1 : std::strtoull(asked, nullptr, 10);
  const std::uint64_t last = asked == nullptr ? 100 : first;
  std::size_t generations = 0;
  std::size_t assigned = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("TAILRACE_SEED=" + std::to_string(seed));
    Walk walk(seed);
    walk.run(3'000);
    if (HasFailure()) return;
    generations += walk.generations();
    assigned += walk.assigned();
  }
  // The walk gets somewhere.
  EXPECT_GT(generations, 20 * (last - first + 1));
  EXPECT_GT(assigned, 20 * (last - first + 1));
}

}  // namespace
}  // namespace tailrace::groupcoord
