// The broker between a zkbridge that tells what it should lead and an engine that may refuse: what is asked of the
// engine, when, and after which break.
#include "services/broker/control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/kafka/codec.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/leader_and_isr.h"
#include "services/kafka/messages/stop_replica.h"
#include "services/kafka/messages/update_metadata.h"
#include "services/node/control.h"
#include "tests/unit/support/plain_link.h"
#include "tests/unit/support/set_clock_io.h"
#include "tests/unit/support/temporary_directory.h"

namespace tailrace::broker {
namespace {

using node::ControlType;

constexpr std::int16_t kLeaderAndIsrVersion = 7;
constexpr std::int16_t kStopReplicaVersion = 3;
constexpr std::int16_t kUpdateMetadataVersion = 8;
constexpr std::int8_t kIncremental = 1;
constexpr std::int8_t kFull = 2;
constexpr auto kDiskFull = static_cast<std::uint16_t>(Code::disk_full);

const node::Config& config() {
  static const node::Config made = std::move(*node::make_config({}, {}));
  return made;
}

Uuid id_of(char name) {
  Uuid id;
  id.bytes.fill(static_cast<std::uint8_t>(name));
  return id;
}

class ControlTest : public testing::Test {
 protected:
  ControlTest() {
    listener_ = std::move(*ipc::Listener::create(
        io_, *bell_, directory_.path() + "/z.sock", {.roles = {ipc::Role::broker}},
        [this](auto link) { bridge_ = std::make_unique<ipc::MessageChannel>(io_, std::move(link)); }));
    control_ = std::make_unique<Control>(
        node_, *bell_, directory_.path() + "/z.sock", forwarder_, [this] { is_ready_ = true; },
        [] { FAIL() << "refused"; });
    control_->start({{"PLAINTEXT", "localhost", 9092}});
    until([&] { return bridge_ != nullptr; });
    kafka::Buffer welcome;
    kafka::encode(kafka::NodeRegistrationResponse{.cluster_id = "cluster", .broker_id = 1, .broker_epoch = 5}, 0,
                  welcome);
    bridge_->send(static_cast<std::uint32_t>(ControlType::welcome), {welcome.bytes()});
    until([&] { return node_.node_id == 1; });
    attach_engine();
  }
  ~ControlTest() override {
    forwarder_.use(nullptr);
    control_.reset();
    bridge_.reset();
    listener_.reset();
  }

  void turn() {
    engine_.publish();
    engine_.poll();
    control_->work();
    control_->publish();
    if (bridge_) {
      bridge_->poll([this](std::uint32_t type, Bytes message) {
        if (static_cast<ControlType>(type) == ControlType::control_reply)
          replies_.push_back(node::parse_numbered_frame(message)->number);
      });
      bridge_->publish();
    }
    io_.turn(true);
  }
  template <class Condition>
  void until(Condition&& condition) {
    for (int turns = 0; turns < 100'000; ++turns) {
      if (condition()) return;
      turn();
    }
    FAIL() << "it does not happen";
  }
  void settle() {
    for (int i = 0; i < 20; ++i) turn();
  }

  // -- The engine ----------------------------------------------------------------------------------------------------
  void attach_engine() {
    auto [near, far] = test::PlainLink::make_pair(1 << 16);
    far_ = std::move(far);
    engine_.attach(std::move(near));
    control_->on_engine_attached();
    const auto identify = next<api::Identify>();
    ASSERT_TRUE(identify);
    answer(api::Done{.request = identify->request});
  }
  void lose_engine() {
    engine_.detach();
    far_.reset();
    engine_.poll();
  }
  // What comes next, which must be of this kind; nothing within a few turns: nullopt.
  template <class Request>
  std::optional<Request> next() {
    settle();
    const ipc::RingRecord record = far_->consumer().next();
    if (record.type == ipc::kPaddingType) return std::nullopt;
    EXPECT_EQ(record.type, static_cast<std::uint32_t>(api::type_of<Request>()));
    Request request;
    std::memcpy(static_cast<void*>(&request), record.payload.data(), sizeof request);
    far_->consumer().release();
    return request;
  }
  template <class T>
  void answer(const T& record) {
    std::memcpy(far_->producer().reserve(static_cast<std::uint32_t>(api::type_of<T>()), sizeof record), &record,
                sizeof record);
    far_->publish();
    settle();
  }

  // -- zkbridge ------------------------------------------------------------------------------------------------------
  template <class Message>
  std::uint64_t tell(const Message& message, std::int16_t version) {
    kafka::Buffer frame;
    kafka::encode_request_header(
        {.api_key = Message::kMessage.api_key, .api_version = version, .client_id = "controller"}, frame);
    kafka::encode(message, version, frame);
    bridge_->send(static_cast<std::uint32_t>(ControlType::control), {node::frame_number(++number_), frame.bytes()});
    settle();
    return number_;
  }
  // Topics named by one letter, each with one partition that we lead.
  std::uint64_t lead(const std::string& topics, std::int8_t type = kFull, LeaderEpoch epoch = 0) {
    kafka::LeaderAndIsrRequest message;
    message.type = type;
    for (const char& name : topics) {
      kafka::LeaderAndIsrRequest::LeaderAndIsrTopicState topic{.topic_name = std::string_view(&name, 1),
                                                               .topic_id = id_of(name)};
      topic.partition_states.push_back({.leader = 1, .leader_epoch = epoch, .isr = {1}, .replicas = {1}});
      message.topic_states.push_back(std::move(topic));
    }
    return tell(message, kLeaderAndIsrVersion);
  }
  std::uint64_t stop(char name) {
    kafka::StopReplicaRequest message;
    message.topic_states.push_back({.topic_name = std::string_view(&name, 1)});
    message.topic_states.back().partition_states.push_back({.partition_index = 0, .delete_partition = true});
    return tell(message, kStopReplicaVersion);
  }
  bool has_replied(std::uint64_t number) { return std::ranges::find(replies_, number) != replies_.end(); }

  test::TemporaryDirectory directory_;
  test::SetClockIo io_;
  std::unique_ptr<ipc::Bell> bell_ = std::move(*ipc::Bell::create(io_));
  std::vector<std::byte> memory_ = std::vector<std::byte>(1 << 20);
  ipc::Arena arena_{memory_};
  api::Client engine_{io_, 1};
  NodeState node_{io_, config(), engine_, arena_};
  Forwarder forwarder_{node_, Forwarder::kAdministrationMax};
  std::unique_ptr<ipc::Listener> listener_;
  std::unique_ptr<ipc::MessageChannel> bridge_;
  std::unique_ptr<Control> control_;
  std::unique_ptr<test::PlainLink> far_;
  std::vector<std::uint64_t> replies_;
  std::uint64_t number_ = 0;
  bool is_ready_ = false;
};

TEST_F(ControlTest, ARoleThatIsRefusedIsTriedAgainLessAndLessOften) {
  const std::uint64_t asked = lead("a");
  auto request = next<api::SetRole>();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->last_code, api::kOk);
  answer(api::RoleSet{.request = request->request, .code = kDiskFull});
  EXPECT_TRUE(has_replied(asked));  // with the error: the controller does not wait for ever
  for (const int pause_ms : {50, 100, 200, 400, 800, 1000, 1000}) {
    SCOPED_TRACE(pause_ms);
    io_.pass(std::chrono::milliseconds(pause_ms) - Duration{1});
    EXPECT_FALSE(next<api::SetRole>());
    io_.pass(Duration{1});
    request = next<api::SetRole>();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->last_code, kDiskFull);  // the engine has said so already
    answer(api::RoleSet{.request = request->request, .code = kDiskFull});
  }
  // In a new session all begins anew.
  lose_engine();
  attach_engine();
  request = next<api::SetRole>();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->last_code, api::kOk);
  answer(api::RoleSet{.request = request->request});
  io_.pass(std::chrono::seconds(10));
  EXPECT_FALSE(next<api::SetRole>());
}

TEST_F(ControlTest, OnlyWhatWasRefusedWaits) {
  lead("a");
  answer(api::RoleSet{.request = next<api::SetRole>()->request, .code = kDiskFull});
  const std::uint64_t asked = lead("ab", kIncremental, 1);
  std::optional<api::SetRole> a = next<api::SetRole>();
  std::optional<api::SetRole> b = next<api::SetRole>();
  ASSERT_TRUE(a && b);  // told anew is asked at once
  answer(api::RoleSet{.request = b->request});
  answer(api::RoleSet{.request = a->request, .code = kDiskFull});
  EXPECT_TRUE(has_replied(asked));
}

TEST_F(ControlTest, RolesInFlightWhenTheEngineGoesAreSetByTheNextOne) {
  const std::uint64_t asked = lead("ab");
  ASSERT_TRUE(next<api::SetRole>());
  lose_engine();
  attach_engine();
  EXPECT_FALSE(has_replied(asked));
  for (int i = 0; i < 2; ++i) {
    const auto request = next<api::SetRole>();
    ASSERT_TRUE(request);
    answer(api::RoleSet{.request = request->request});
  }
  EXPECT_TRUE(has_replied(asked));
  EXPECT_FALSE(next<api::SetRole>());
}

// A role that the controller does not name any more while it is being set must not be set again by a later session: it
// would make the partition of a deleted topic anew.
TEST_F(ControlTest, ADroppedRoleStaysDropped) {
  lead("ab");
  const auto a = next<api::SetRole>();
  const auto b = next<api::SetRole>();
  ASSERT_TRUE(a && b);
  lead("b");
  answer(api::RoleSet{.request = a->request});
  answer(api::RoleSet{.request = b->request});
  const auto again = next<api::SetRole>();  // b, for the second request
  ASSERT_TRUE(again);
  EXPECT_EQ(again->partition.topic_id, id_of('b'));
  answer(api::RoleSet{.request = again->request});
  lose_engine();
  attach_engine();
  const auto only = next<api::SetRole>();
  ASSERT_TRUE(only);
  EXPECT_EQ(only->partition.topic_id, id_of('b'));
  EXPECT_FALSE(next<api::SetRole>());
}

TEST_F(ControlTest, ADroppedRoleComesBackWhenItIsWantedAgain) {
  lead("a");
  const auto first = next<api::SetRole>();
  ASSERT_TRUE(first);
  lead("");
  const std::uint64_t asked = lead("a", kIncremental, 3);
  lose_engine();
  attach_engine();
  const auto second = next<api::SetRole>();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->leader_epoch, 3);
  answer(api::RoleSet{.request = second->request});
  EXPECT_TRUE(has_replied(asked));
}

TEST_F(ControlTest, ARemovalWaitsForTheRoleInFlightAndThenTheRoleIsGone) {
  for (const bool breaks : {false, true}) {
    SCOPED_TRACE(breaks);
    lead("a");
    const auto role = next<api::SetRole>();
    ASSERT_TRUE(role);
    const std::uint64_t asked = stop('a');
    EXPECT_FALSE(next<api::DeletePartition>());
    if (breaks) {
      lose_engine();
      attach_engine();
    } else {
      answer(api::RoleSet{.request = role->request});
    }
    auto removal = next<api::DeletePartition>();
    ASSERT_TRUE(removal);
    answer(api::Done{.request = removal->request, .code = static_cast<std::uint16_t>(Code::retry)});
    EXPECT_FALSE(has_replied(asked));
    io_.pass(std::chrono::milliseconds(50));
    removal = next<api::DeletePartition>();
    ASSERT_TRUE(removal);
    answer(api::Done{.request = removal->request});
    EXPECT_TRUE(has_replied(asked));
    lose_engine();
    attach_engine();
    EXPECT_FALSE(next<api::SetRole>());
  }
}

// The controller sends what it has in its store, also a topic whose deletion failed, before it asks for that again.
TEST_F(ControlTest, ARemovalThatFailedAndARoleOfTheSamePartitionDoNotWaitForEachOther) {
  for (const bool is_answered : {true, false}) {
    SCOPED_TRACE(is_answered);
    lead("a");
    answer(api::RoleSet{.request = next<api::SetRole>()->request});
    const std::uint64_t failing = stop('a');
    answer(api::Done{.request = next<api::DeletePartition>()->request, .code = kDiskFull});
    EXPECT_TRUE(has_replied(failing));
    lead("a");
    const auto again = next<api::SetRole>();
    ASSERT_TRUE(again);
    if (is_answered) answer(api::RoleSet{.request = again->request, .code = static_cast<std::uint16_t>(Code::retry)});
    const std::uint64_t asked = stop('a');
    if (!is_answered) answer(api::RoleSet{.request = again->request});
    const auto removal = next<api::DeletePartition>();
    ASSERT_TRUE(removal);
    answer(api::Done{.request = removal->request});
    EXPECT_TRUE(has_replied(asked));
    io_.pass(std::chrono::seconds(2));
    EXPECT_FALSE(next<api::SetRole>());
    EXPECT_FALSE(next<api::DeletePartition>());
  }
}

// A removal that the engine has already may come before the partition is made anew.
TEST_F(ControlTest, APartitionMadeAnewWhileItIsRemovedIsRemovedAgain) {
  lead("a");
  answer(api::RoleSet{.request = next<api::SetRole>()->request});
  stop('a');
  answer(api::Done{.request = next<api::DeletePartition>()->request, .code = kDiskFull});
  io_.pass(std::chrono::seconds(2));
  const auto first = next<api::DeletePartition>();
  ASSERT_TRUE(first);
  lead("a");
  const auto role = next<api::SetRole>();
  ASSERT_TRUE(role);
  const std::uint64_t asked = stop('a');
  answer(api::Done{.request = first->request});
  EXPECT_FALSE(has_replied(asked));
  answer(api::RoleSet{.request = role->request});
  const auto second = next<api::DeletePartition>();
  ASSERT_TRUE(second);
  answer(api::Done{.request = second->request});
  EXPECT_TRUE(has_replied(asked));
}

TEST_F(ControlTest, IsReadyOnceEveryRoleHasAnAnswer) {
  kafka::UpdateMetadataRequest update;
  update.type = kFull;
  lead("ab");
  tell(update, kUpdateMetadataVersion);
  answer(api::RoleSet{.request = next<api::SetRole>()->request, .code = kDiskFull});
  EXPECT_FALSE(is_ready_);
  answer(api::RoleSet{.request = next<api::SetRole>()->request});
  EXPECT_TRUE(is_ready_);  // one that failed does not keep the others from being served
}

}  // namespace
}  // namespace tailrace::broker
