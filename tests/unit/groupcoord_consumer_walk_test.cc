// A consumer group and many clients, by chance: they come, go, fall silent, miss answers and change their mind, topics
// come and go, the coordinator is started anew. Whatever happens, no partition has two owners among those who keep to
// the protocol, epochs do not go back, what is in memory is what the records say, and when all calms down everything is
// assigned.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "services/groupcoord/consumer_subscription.h"
#include "services/kafka/consumer_protocol.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/sync_group.h"
#include "tests/unit/consumer_group_world.h"

namespace tailrace::groupcoord {
namespace {

using kafka::ErrorCode;
using Partition = std::pair<Uuid, std::int32_t>;

struct ModelClient {
  std::string member_id;
  std::optional<std::string> instance_id;
  std::vector<std::string> topics;
  std::string regex;
  bool obeys = true;        // else it never gives up what it has
  bool is_gone = false;     // for good
  bool is_classic = false;  // speaks the classic protocol
  bool is_eager = false;    // then: gives up all before it joins
  bool must_sync = false;
  bool must_join = true;
  bool says_all = true;  // it missed an answer, or has something to say
  std::int32_t epoch = 0;
  std::set<Partition> has;
  std::set<Partition> to_revoke;  // which it has still, and is to give up
  Instant last_heard;

  [[nodiscard]] Assignment owned() const {
    Assignment owned;
    for (const auto& [topic, partition] : has) owned[topic].push_back(partition);
    return owned;
  }
  void lose_all() {
    has.clear();
    to_revoke.clear();
    epoch = 0;
    must_join = true;
    must_sync = false;
    says_all = true;
  }
};

class Walk {
 public:
  explicit Walk(std::uint64_t seed, bool with_classic = false) : random_(seed), with_classic_(with_classic) {
    world_.settings.may_downgrade = false;
    world_.random.seed(seed);
    for (const char* name : {"a1", "a2", "b1"}) world_.set_topic(name, 1 + below(6));
    group_ = std::make_unique<ConsumerGroup>(world_.context, "g");
    world_.tell(*group_);
  }

  void step() {
    const int what = below(100);
    if (what < 62 && !clients_.empty()) {
      heartbeat(clients_[static_cast<std::size_t>(below(static_cast<int>(clients_.size())))], below(12) == 0);
    } else if (what < 70) {
      add_client();
    } else if (what < 74) {
      leave();
    } else if (what < 76 && !clients_.empty()) {
      any_client().is_gone = true;
    } else if (what < 80) {
      change_mind();
    } else if (what < 83) {
      change_topics();
    } else if (what < 85) {
      restart();
    } else if (what < 87) {
      send_nonsense();
    } else {
      pass(below(2'500));
    }
    check();
  }

  // Everybody who is not gone keeps coming, until nothing is left to be done.
  void calm_down() {
    for (ModelClient& client : clients_) {
      if (client.obeys) continue;  // two that do not obey would take from each other for ever
      client.obeys = true;
      client.lose_all();
    }
    for (int round = 0; round < 80; ++round) {
      pass(2'000);
      for (ModelClient& client : clients_) {
        if (!client.is_gone) heartbeat(client, false);
      }
      check();
    }
  }

  void expect_all_assigned() {
    std::set<Partition> expected;
    std::size_t members = 0;
    for (const ModelClient& client : clients_) {
      if (client.is_gone) continue;
      ++members;
      for (const auto& [name, topic] : world_.context.image->topics()) {
        if (!is_subscribed(client, name)) continue;
        for (const auto& [partition, image] : topic->partitions) expected.insert({topic->id, partition});
      }
    }
    std::set<Partition> had;
    for (const ModelClient& client : clients_) {
      if (client.is_gone) continue;
      for (const Partition& partition : client.has) EXPECT_TRUE(had.insert(partition).second);
      const Assignment& target = group_->target().of(client.member_id);
      EXPECT_EQ(client.owned(), target) << client.member_id << (client.is_classic ? " (classic)" : "");
    }
    EXPECT_EQ(had, expected);
    EXPECT_EQ(group_->members().size(), members);
    EXPECT_EQ(group_->state(), members == 0 ? "Empty" : "Stable");
  }

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<std::uint64_t>(end)); }
  ModelClient& any_client() { return clients_[static_cast<std::size_t>(below(static_cast<int>(clients_.size())))]; }

  bool is_subscribed(const ModelClient& client, const std::string& topic) const {
    if (std::ranges::find(client.topics, topic) != client.topics.end()) return true;
    return !client.regex.empty() && topic.starts_with(client.regex[0]);
  }

  void pass(std::int64_t milliseconds) {
    world_.pass(milliseconds);
    Effects effects;
    group_->on_time(world_.moment, effects);
    keep(effects);
    // Who is not heard for so long knows that it is not a member any more.
    for (ModelClient& client : clients_) {
      if (client.epoch != 0 && world_.moment.now - client.last_heard >= std::chrono::seconds(45)) client.lose_all();
    }
  }

  void keep(Effects& effects) {
    for (Record& record : effects.records) world_.log.push_back(std::move(record));
  }

  HeartbeatAnswer send(const HeartbeatWords& words) {
    Effects effects;
    const auto request = words.request();
    const Call call{.token = ++token_, .api_key = 68, .api_version = 1};
    if (const auto refusal = ConsumerGroup::refuse(request, 1, world_.settings)) {
      ConsumerGroup::answer(call, *refusal, effects);
    } else {
      group_->heartbeat(call, {.id = "c", .host = "/10.0.0.1"}, request, world_.moment, effects);
    }
    EXPECT_EQ(effects.replies.size(), 1u);
    EXPECT_EQ(effects.replies.front().call.token, token_);
    const HeartbeatAnswer answer = read_answer(effects.replies.front());
    if (answer.error != ErrorCode::NONE) {
      EXPECT_TRUE(effects.records.empty());
    }
    keep(effects);
    return answer;
  }

  void heartbeat(ModelClient& client, bool is_answer_lost) {
    if (client.is_gone) return;
    if (client.is_classic) return classic_heartbeat(client, is_answer_lost);
    if (client.obeys && below(3) != 0) {  // it takes its time to give up
      for (const Partition& partition : client.to_revoke) client.has.erase(partition);
      if (!client.to_revoke.empty()) client.says_all = true;
      client.to_revoke.clear();
    }
    HeartbeatWords words = alive(client.member_id, client.epoch);
    words.instance_id = client.instance_id;
    if (client.must_join || client.says_all) {
      words.topics = client.topics;
      words.regex = client.regex;
      words.rebalance_timeout_ms = 30'000;
    }
    if (client.must_join) {
      client.has.clear();
      words.owned = Assignment{};
      words.epoch = 0;
    } else if (client.says_all || below(4) == 0) {
      words.owned = client.owned();
    }
    const HeartbeatAnswer answer = send(words);
    if (is_answer_lost) {
      client.says_all = true;
      return;
    }
    on_answer(client, answer);
  }

  // -- Clients that speak the classic protocol --

  void classic_heartbeat(ModelClient& client, bool is_answer_lost) {
    const ErrorCode error = client.must_join   ? join(client, is_answer_lost)
                            : client.must_sync ? sync(client, is_answer_lost)
                                               : beat(client);
    switch (error) {
      case ErrorCode::NONE:
      case ErrorCode::MEMBER_ID_REQUIRED:
        break;
      case ErrorCode::REBALANCE_IN_PROGRESS:
        client.must_join = true;
        client.must_sync = false;
        break;
      case ErrorCode::UNKNOWN_MEMBER_ID:
        client.lose_all();
        client.member_id.clear();
        return;
      case ErrorCode::ILLEGAL_GENERATION:
        return client.lose_all();
      case ErrorCode::FENCED_INSTANCE_ID:
        client.lose_all();
        client.is_gone = true;
        return;
      default:
        ADD_FAILURE() << static_cast<int>(error);
        return;
    }
    client.last_heard = world_.moment.now;
  }

  template <class Response>
  Response classic_answer(Effects& effects, std::int16_t version) {
    EXPECT_EQ(effects.replies.size(), 1u);
    EXPECT_EQ(effects.replies.front().call.token, token_);
    bodies_.push_back(std::move(effects.replies.front().body));
    const auto decoded = kafka::decode_exactly<Response>(bodies_.back().bytes(), version);
    EXPECT_TRUE(decoded.has_value());
    keep(effects);
    EXPECT_EQ(group_->take_successor(), nullptr);
    return decoded ? *decoded : Response{};
  }

  ErrorCode join(ModelClient& client, bool is_answer_lost) {
    if (client.is_eager) client.has.clear();
    kafka::ConsumerProtocolSubscription subscription{.topics = {client.topics.begin(), client.topics.end()}};
    for (const auto& [topic, partitions] : client.owned()) {
      const auto* known = world_.context.image->find(topic);
      if (known != nullptr) subscription.owned_partitions.push_back({.topic = known->name, .partitions = partitions});
    }
    kafka::Buffer metadata;
    EXPECT_TRUE(kafka::encode_consumer_protocol(subscription, 3, metadata));
    kafka::JoinGroupRequest request{.group_id = "g",
                                    .session_timeout_ms = 45'000,
                                    .rebalance_timeout_ms = 60'000,
                                    .member_id = client.member_id,
                                    .group_instance_id = client.instance_id,
                                    .protocol_type = "consumer"};
    request.protocols.push_back({.name = "range", .metadata = metadata.bytes()});
    Effects effects;
    group_->join({.token = ++token_, .api_key = 11, .api_version = 9}, {.id = "c", .host = "/10.0.0.2"}, request,
                 world_.moment, effects);
    const auto response = classic_answer<kafka::JoinGroupResponse>(effects, 9);
    const auto error = static_cast<ErrorCode>(response.error_code);
    if (is_answer_lost) return ErrorCode::NONE;
    if (error == ErrorCode::MEMBER_ID_REQUIRED) client.member_id = response.member_id;
    if (error != ErrorCode::NONE) return error;
    EXPECT_GE(response.generation_id, client.epoch);
    client.member_id = response.member_id;
    client.epoch = response.generation_id;
    client.must_join = false;
    client.must_sync = true;
    return error;
  }

  ErrorCode sync(ModelClient& client, bool is_answer_lost) {
    Effects effects;
    group_->sync({.token = ++token_, .api_key = 14, .api_version = 5},
                 {.group_id = "g",
                  .generation_id = client.epoch,
                  .member_id = client.member_id,
                  .group_instance_id = client.instance_id,
                  .protocol_type = "consumer",
                  .protocol_name = "range"},
                 world_.moment, effects);
    const auto response = classic_answer<kafka::SyncGroupResponse>(effects, 5);
    const auto error = static_cast<ErrorCode>(response.error_code);
    if (is_answer_lost || error != ErrorCode::NONE) return is_answer_lost ? ErrorCode::NONE : error;
    const std::size_t had = client.has.size();
    std::set<Partition> now;
    const auto assignment = parse_assignment(response.assignment, *world_.context.image);
    for (const auto& [topic, partitions] : assignment->partitions) {
      for (const std::int32_t partition : partitions) now.insert({topic, partition});
    }
    const bool gave_up = !std::ranges::includes(now, client.has);
    client.has = std::move(now);
    client.must_sync = false;
    client.must_join = gave_up && had > 0;  // as cooperative members do
    return error;
  }

  ErrorCode beat(ModelClient& client) {
    Effects effects;
    group_->classic_heartbeat({.token = ++token_, .api_key = 12, .api_version = 4},
                              {.group_id = "g",
                               .generation_id = client.epoch,
                               .member_id = client.member_id,
                               .group_instance_id = client.instance_id},
                              world_.moment, effects);
    return static_cast<ErrorCode>(classic_answer<kafka::HeartbeatResponse>(effects, 4).error_code);
  }

  // -- Clients that speak the consumer protocol --

  void on_answer(ModelClient& client, const HeartbeatAnswer& answer) {
    switch (answer.error) {
      case ErrorCode::NONE:
        break;
      case ErrorCode::FENCED_MEMBER_EPOCH:
      case ErrorCode::UNKNOWN_MEMBER_ID:
        return client.lose_all();
      case ErrorCode::UNRELEASED_INSTANCE_ID:
      case ErrorCode::FENCED_INSTANCE_ID:
        client.lose_all();
        client.is_gone = true;
        return;
      default:
        ADD_FAILURE() << static_cast<int>(answer.error) << ": " << answer.message;
        return;
    }
    EXPECT_GE(answer.epoch, client.epoch) << client.member_id;
    client.epoch = answer.epoch;
    client.must_join = false;
    client.says_all = false;
    client.last_heard = world_.moment.now;
    if (!answer.assignment) return;
    std::set<Partition> now;
    for (const auto& [topic, partitions] : *answer.assignment) {
      for (const std::int32_t partition : partitions) now.insert({topic, partition});
    }
    client.to_revoke.clear();
    std::ranges::set_difference(client.has, now, std::inserter(client.to_revoke, client.to_revoke.end()));
    client.has.insert(now.begin(), now.end());
    client.says_all = !client.to_revoke.empty() && below(2) == 0;
  }

  void add_client() {
    if (std::ranges::count(clients_, false, &ModelClient::is_gone) >= 9) return;
    ModelClient client;
    client.member_id = "m" + std::to_string(++last_client_);
    if (below(4) == 0) client.instance_id = "i" + std::to_string(below(3));
    client.obeys = below(10) != 0;
    // There is somebody of the other protocol, who keeps the group from becoming a classic one.
    client.is_classic = with_classic_ && !group_->is_empty() && below(2) == 0;
    client.is_eager = below(2) == 0;
    if (client.is_classic) {
      client.obeys = true;
      client.member_id.clear();
      // Whoever joins by the classic protocol takes over at once what another has under its instance id.
      if (client.instance_id) client.instance_id = "c" + std::to_string(last_client_);
    }
    choose_topics(client);
    clients_.push_back(std::move(client));
    heartbeat(clients_.back(), false);
  }

  void choose_topics(ModelClient& client) {
    client.topics.clear();
    client.regex.clear();
    const int kind = client.is_classic ? 1 + below(3) : below(4);
    if (kind == 0) client.regex = below(2) == 0 ? "a.*" : "b.*";
    if (kind != 0 || below(3) == 0) {
      for (const char* name : {"a1", "a2", "b1", "b2", "nothing"}) {
        if (kind == 1 || below(2) == 0) client.topics.emplace_back(name);
      }
    }
  }

  void change_mind() {
    if (clients_.empty()) return;
    ModelClient& client = any_client();
    choose_topics(client);
    client.says_all = true;
    if (client.is_classic) client.must_join = true;
  }

  void leave() {
    if (clients_.empty()) return;
    ModelClient& client = any_client();
    if (client.is_gone || client.must_join || client.is_classic) return;
    const bool comes_back = client.instance_id && below(2) == 0;
    HeartbeatWords words = alive(client.member_id, comes_back ? kLeaveStaticEpoch : kLeaveEpoch);
    words.instance_id = client.instance_id;
    EXPECT_TRUE(send(words).error == ErrorCode::NONE || !client.obeys ||
                client.epoch != 0);  // it may have been removed meanwhile
    client.lose_all();
    if (comes_back) {
      client.member_id = "m" + std::to_string(++last_client_);
    } else {
      client.is_gone = true;
    }
  }

  void change_topics() {
    static const std::vector<std::string> kNames{"a1", "a2", "b1", "b2"};
    const std::string& name = kNames[static_cast<std::size_t>(below(4))];
    const auto* topic = world_.context.image->find(std::string_view(name));
    if (topic == nullptr) {
      world_.set_topic(name, 1 + below(5));
    } else if (below(3) == 0) {
      world_.delete_topic(name);
    } else {
      world_.set_topic(name, static_cast<std::int32_t>(topic->partitions.size()) + 1);
    }
    world_.tell(*group_);
  }

  void restart() {
    world_.compact();
    group_ = world_.reloaded("g");
    group_->on_loaded(world_.moment);
  }

  void send_nonsense() {
    HeartbeatWords words = alive("m" + std::to_string(below(last_client_ + 2)), below(50) - 3);
    if (below(2) == 0) words.instance_id = "i" + std::to_string(below(4));
    if (below(2) == 0) words.owned = Assignment{{world_.topic_ids.begin()->second, {0, 0, -7, 99}}};
    if (words.epoch <= 0 ||
        std::ranges::any_of(clients_, [&](const ModelClient& client) { return client.member_id == words.member_id; })) {
      return;  // that would be somebody's heartbeat
    }
    EXPECT_NE(send(words).error, ErrorCode::NONE);
  }

  void check() {
    std::set<Partition> owned;
    for (const ModelClient& client : clients_) {
      if (client.is_gone || !client.obeys) continue;
      for (const Partition& partition : client.has) {
        ASSERT_TRUE(owned.insert(partition).second) << "two owners, one is " << client.member_id;
      }
    }
    ASSERT_GE(group_->epoch(), last_epoch_);
    last_epoch_ = group_->epoch();
    if (below(10) == 0) {
      ASSERT_TRUE(group_->has_same_fold(*world_.reloaded("g")));
    }
  }

  World world_;
  std::mt19937_64 random_;
  bool with_classic_;
  std::unique_ptr<ConsumerGroup> group_;
  std::vector<kafka::Buffer> bodies_;  // of answers that are looked at
  std::vector<ModelClient> clients_;
  std::uint64_t token_ = 0;
  int last_client_ = 0;
  std::int32_t last_epoch_ = 0;
};

class ConsumerWalk : public ::testing::TestWithParam<bool> {};

TEST_P(ConsumerWalk, KeepsItsPromises) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Walk walk(seed, GetParam());
    for (int i = 0; i < 400 && !::testing::Test::HasFailure(); ++i) walk.step();
    walk.calm_down();
    walk.expect_all_assigned();
    if (::testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(WithClassicMembers, ConsumerWalk, ::testing::Bool());

}  // namespace
}  // namespace tailrace::groupcoord
