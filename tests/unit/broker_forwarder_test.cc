// Requests that another process answers: in time, late, or never.
#include "services/broker/forwarder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/broker/connection.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/consumer_group_heartbeat.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_groups.h"
#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/describe_groups.h"
#include "services/kafka/messages/heartbeat.h"
#include "services/kafka/messages/init_producer_id.h"
#include "services/kafka/messages/join_group.h"
#include "services/kafka/messages/leave_group.h"
#include "services/kafka/messages/list_groups.h"
#include "services/kafka/messages/offset_commit.h"
#include "services/kafka/messages/offset_delete.h"
#include "services/kafka/messages/offset_fetch.h"
#include "services/kafka/messages/sync_group.h"
#include "services/node/control.h"
#include "tests/unit/support/plain_link.h"

namespace tailrace::broker {
namespace {

using kafka::ErrorCode;
using node::ControlType;

// Sockets on which nothing ever happens, and a clock that goes on when told.
class QuietIo final : public io::Io {
 public:
  const char* name() const override { return "quiet"; }
  Instant now() const override { return now_; }
  TimestampMs wall_clock_ms() const override { return 0; }
  std::uint64_t random() override { return 4; }
  io::Files& files() override { std::abort(); }
  Result<io::Socket> listen(const io::Address&, int) override { return failure(Code::unsupported); }
  Result<io::Address> local_address(io::Socket) override { return failure(Code::unsupported); }
  Result<io::Address> peer_address(io::Socket) override { return failure(Code::unsupported); }
  void accept(io::Socket, io::Completion&) override {}
  void receive(io::Socket, MutableBytes, std::size_t, io::Completion&) override {}
  void send(io::Socket, Bytes, bool, io::Completion&) override {}
  void send_file(io::Socket, io::File, std::uint64_t, std::uint64_t, io::Completion&) override {}
  void shutdown(io::Socket) override {}
  void close(io::Socket) override {}
  void wait_readable(int, io::Completion&) override {}
  void forget(int) override {}
  std::uint64_t turn(bool) override { return timers_.run(now_); }
  void pass(Duration duration) {
    now_ = now_ + duration;
    turn(true);
  }

 private:
  Instant now_{1'000'000};
};

class NoHost final : public ConnectionHost {
 public:
  explicit NoHost(ipc::Arena& arena) : memory_(arena) {}
  void serve(Request&) override {}
  void on_connection_over(Connection&) override {}
  std::int32_t count_time(Request&) override { return 0; }
  void resume_later(Connection&, Instant) override {}
  FrameMemory& frame_memory() override { return memory_; }
  std::unique_ptr<Request> take_request() override { return std::make_unique<Request>(); }
  void give_back(std::unique_ptr<Request>) override {}

 private:
  FrameMemory memory_;
};

const node::Config& config() {
  static const node::Config made = std::move(*node::make_config({}, {}));
  return made;
}

class ForwarderTest : public testing::Test {
 protected:
  static constexpr Duration kAnswerMax = std::chrono::seconds(60);

  ForwarderTest() { node_.image = node::MetadataImage::empty(); }
  ~ForwarderTest() override { forwarder_.use(nullptr); }

  void connect() {
    auto [near, far] = test::PlainLink::make_pair(1 << 16);
    near_ = std::make_unique<ipc::MessageChannel>(io_, std::move(near));
    far_ = std::make_unique<ipc::MessageChannel>(io_, std::move(far));
    forwarder_.use(near_.get());
  }
  void disconnect() {
    forwarder_.use(nullptr);
    near_.reset();
  }
  // What has come to the other process, by number.
  std::vector<std::uint64_t> arrived() {
    near_->publish();
    std::vector<std::uint64_t> numbers;
    far_->poll([&](std::uint32_t type, Bytes message) {
      EXPECT_EQ(type, static_cast<std::uint32_t>(ControlType::forward));
      numbers.push_back(node::parse_numbered_frame(message)->number);
    });
    return numbers;
  }
  void answer(std::uint64_t number, std::string_view text) { forwarder_.on_reply(number, as_bytes(text)); }

  struct Outcome {
    int answers = 0;
    std::string text;
    std::optional<Unanswered> why;
  };
  void ask(Outcome& outcome) {
    forwarder_.forward(as_bytes("frame"), [&outcome](std::expected<Bytes, Unanswered> response) {
      ++outcome.answers;
      if (response)
        outcome.text = as_text(*response);
      else
        outcome.why = response.error();
    });
  }
  // What a client hears of its request when the other process gives this reason.
  template <class Response, class Message>
  std::optional<Response> hears(const Message& message, std::int16_t version, Unanswered why) {
    kafka::Buffer frame;
    std::size_t body_at = 0;
    kafka::encode_request_header(
        {.api_key = Message::kMessage.api_key, .api_version = version, .correlation_id = 7, .client_id = "c"}, frame);
    kafka::encode(message, version, frame);
    Request request;
    request.connection = &connection_;
    request.frame = frame.bytes();
    EXPECT_TRUE(kafka::decode_request_header(request.frame, request.header, body_at));
    request.body = request.frame.subspan(body_at);
    answer_unavailable(request, why);
    EXPECT_TRUE(request.is_done);
    if (request.close_connection) return std::nullopt;
    heard_.assign(as_text(request.response.bytes().subspan(4)));
    std::int32_t correlation_id = 0;
    const std::int16_t header_version = kafka::response_header_version(Message::kMessage.api_key, version);
    EXPECT_TRUE(kafka::decode_response_header(as_bytes(heard_), header_version, correlation_id, body_at));
    EXPECT_EQ(correlation_id, 7);
    return *kafka::decode_exactly<Response>(as_bytes(heard_).subspan(body_at), version);
  }

  QuietIo io_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(1 << 20);
  ipc::Arena arena_{memory_};
  NoHost host_{arena_};
  std::unique_ptr<io::Io> real_io_ = std::move(*io::make_io());
  api::Client engine_{*real_io_, 1};
  NodeState node_{io_, config(), engine_, arena_};
  Connection connection_{node_, host_, io::Socket{}, 0, 1 << 20};
  std::unique_ptr<ipc::MessageChannel> near_;
  std::unique_ptr<ipc::MessageChannel> far_;
  Forwarder forwarder_{node_, kAnswerMax};
  std::string heard_;
};

TEST_F(ForwarderTest, AnswersFindTheirRequests) {
  connect();
  Outcome first;
  Outcome second;
  ask(first);
  ask(second);
  EXPECT_EQ(arrived(), (std::vector<std::uint64_t>{1, 2}));
  answer(2, "two");
  answer(1, "one");
  EXPECT_EQ(first.text, "one");
  EXPECT_EQ(second.text, "two");
  answer(1, "again");
  answer(9, "of nobody");
  EXPECT_EQ(first.answers, 1);
  EXPECT_EQ(first.text, "one");
}

// Another process knows nothing of quotas; where there is no such field the client is muted all the same.
TEST_F(ForwarderTest, TheTimeThatAClientIsThrottledIsWrittenIntoTheAnswer) {
  connect();
  std::uint64_t number = 0;
  for (const std::int16_t version : {std::int16_t{1}, std::int16_t{2}, std::int16_t{7}}) {
    kafka::Buffer frame;
    std::size_t body_at = 0;
    kafka::encode_request_header({.api_key = kafka::api_key::kCreateTopics, .api_version = version, .client_id = "c"},
                                 frame);
    kafka::encode(kafka::CreateTopicsRequest{}, version, frame);
    Request request;
    request.connection = &connection_;
    request.frame = frame.bytes();
    ASSERT_TRUE(kafka::decode_request_header(request.frame, request.header, body_at));
    request.throttle(1234);
    forwarder_.forward(request);
    kafka::Buffer response;
    const std::int16_t header_version = kafka::response_header_version(kafka::api_key::kCreateTopics, version);
    kafka::encode_response_header(0, header_version, response);
    kafka::encode(kafka::CreateTopicsResponse{}, version, response);
    forwarder_.on_reply(++number, response.bytes());
    ASSERT_TRUE(request.is_done);
    std::int32_t correlation_id = 0;
    const Bytes answer = request.response.bytes().subspan(4);
    ASSERT_TRUE(kafka::decode_response_header(answer, header_version, correlation_id, body_at));
    const auto told = kafka::decode_exactly<kafka::CreateTopicsResponse>(answer.subspan(body_at), version);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->throttle_time_ms, version >= 2 ? 1234 : 0);
    EXPECT_EQ(connection_.muted_until(), io_.now() + std::chrono::milliseconds(1234));
  }
}

// A process that is there and says nothing (stopped, or caught in a loop).
TEST_F(ForwarderTest, ASilentProcessIsNotWaitedForForEver) {
  connect();
  Outcome first;
  Outcome second;
  ask(first);
  io_.pass(kAnswerMax / 2);
  ask(second);
  io_.pass(kAnswerMax / 2 - Duration{1});
  EXPECT_EQ(first.answers, 0);
  io_.pass(Duration{1});
  EXPECT_EQ(first.why, Unanswered::timed_out);
  EXPECT_EQ(second.answers, 0);
  io_.pass(kAnswerMax / 2);
  EXPECT_EQ(second.why, Unanswered::timed_out);
  // It wakes up, does all that it finds, and answers.
  EXPECT_EQ(arrived().size(), 2u);
  Outcome third;
  ask(third);
  answer(1, "late");
  answer(2, "late");
  answer(3, "in time");
  EXPECT_EQ(first.answers, 1);
  EXPECT_EQ(second.answers, 1);
  EXPECT_EQ(third.text, "in time");
  io_.pass(2 * kAnswerMax);
  EXPECT_EQ(third.answers, 1);
}

TEST_F(ForwarderTest, WithoutASessionARequestWaitsALittle) {
  connect();
  Outcome long_lived;
  ask(long_lived);  // its limit is far; the next one's is near
  Outcome lost;
  ask(lost);
  answer(1, "x");
  disconnect();
  EXPECT_EQ(lost.why, Unanswered::unreachable);
  Outcome waits;
  Outcome gives_up;
  ask(gives_up);
  io_.pass(std::chrono::seconds(10));
  EXPECT_EQ(gives_up.why, Unanswered::unreachable);
  ask(waits);
  io_.pass(std::chrono::seconds(9));
  connect();
  EXPECT_EQ(arrived(), (std::vector<std::uint64_t>{4}));
  answer(4, "y");
  EXPECT_EQ(waits.text, "y");
}

TEST_F(ForwarderTest, NoAnswerAtAllIsARefusal) {
  connect();
  Outcome outcome;
  ask(outcome);
  answer(1, "");
  EXPECT_EQ(outcome.why, Unanswered::refused);
}

TEST_F(ForwarderTest, ClientsHearAnErrorThatTheyRetry) {
  const auto named = [](Unanswered why) {
    return kafka::wire(why == Unanswered::timed_out ? ErrorCode::REQUEST_TIMED_OUT : ErrorCode::NOT_CONTROLLER);
  };
  for (const Unanswered why : {Unanswered::unreachable, Unanswered::timed_out}) {
    for (std::int16_t version = 2; version <= 7; ++version) {
      const auto created =
          hears<kafka::CreateTopicsResponse>(kafka::CreateTopicsRequest{.topics = {{.name = "t"}}}, version, why);
      ASSERT_TRUE(created);
      ASSERT_EQ(created->topics.size(), 1u);
      EXPECT_EQ(created->topics[0].name, "t");
      EXPECT_EQ(created->topics[0].error_code, named(why));
    }
    const auto deleted =
        hears<kafka::DeleteTopicsResponse>(kafka::DeleteTopicsRequest{.topics = {{.name = "t"}}}, 6, why);
    ASSERT_TRUE(deleted);
    EXPECT_EQ(deleted->responses.at(0).error_code, named(why));
    const auto grown =
        hears<kafka::CreatePartitionsResponse>(kafka::CreatePartitionsRequest{.topics = {{.name = "t"}}}, 3, why);
    ASSERT_TRUE(grown);
    EXPECT_EQ(grown->results.at(0).error_code, named(why));
    for (std::int16_t version = 0; version <= 4; ++version) {
      const auto given = hears<kafka::InitProducerIdResponse>(kafka::InitProducerIdRequest{}, version, why);
      ASSERT_TRUE(given);
      EXPECT_EQ(given->error_code, kafka::wire(ErrorCode::COORDINATOR_NOT_AVAILABLE));
      EXPECT_EQ(given->producer_id, -1);
      EXPECT_EQ(given->producer_epoch, -1);
    }
  }
  EXPECT_FALSE(hears<kafka::InitProducerIdResponse>(kafka::InitProducerIdRequest{}, 4, Unanswered::refused));
  EXPECT_FALSE(hears<kafka::CreateTopicsResponse>(kafka::CreateTopicsRequest{}, 7, Unanswered::refused));
}

// Other members of the group take as long as they take, and there are many that wait: not in the arena.
TEST_F(ForwarderTest, WhoJoinsAGroupWaitsWithoutALimitAndWithoutAChunk) {
  connect();
  kafka::Buffer frame;
  kafka::encode_request_header({.api_key = kafka::api_key::kJoinGroup, .api_version = 9, .client_id = "me"}, frame);
  kafka::encode(kafka::JoinGroupRequest{.group_id = "g", .member_id = "m"}, 9, frame);
  Request request;
  request.connection = &connection_;
  request.chunk = *arena_.allocate(frame.size());
  std::memcpy(arena_.bytes(request.chunk).data(), frame.data(), frame.size());
  request.frame = arena_.bytes(request.chunk).first(frame.size());
  std::size_t body_at = 0;
  ASSERT_TRUE(kafka::decode_request_header(request.frame, request.header, body_at));
  forwarder_.forward(request);
  EXPECT_EQ(arena_.used_bytes(), 0u);
  std::memset(memory_.data(), 0xFF, memory_.size());  // it is somebody else's now
  Outcome limited;
  ask(limited);
  io_.pass(3 * kAnswerMax);
  EXPECT_EQ(limited.why, Unanswered::timed_out);
  ASSERT_FALSE(request.is_done);
  EXPECT_EQ(request.header.client_id, "me");
  forwarder_.on_error(1, kafka::wire(ErrorCode::NOT_COORDINATOR));
  ASSERT_TRUE(request.is_done);
  std::int32_t correlation_id = 0;
  const Bytes answer = request.response.bytes().subspan(4);
  ASSERT_TRUE(kafka::decode_response_header(answer, 1, correlation_id, body_at));
  const auto joined = kafka::decode_exactly<kafka::JoinGroupResponse>(answer.subspan(body_at), 9);
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->error_code, kafka::wire(ErrorCode::NOT_COORDINATOR));
  EXPECT_EQ(joined->member_id, "m");
  EXPECT_EQ(joined->generation_id, -1);
}

// Each group, partition and member that was asked about hears the error, in every version that is served.
TEST_F(ForwarderTest, AnErrorAboutGroupsHasTheFormOfItsApi) {
  const Unanswered why = Unanswered::with(kafka::wire(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
  const std::int16_t error = kafka::wire(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
  for (std::int16_t version = 2; version <= 10; ++version) {
    kafka::OffsetCommitRequest request{.group_id = "g"};
    request.topics = {{.name = "t", .partitions = {{.partition_index = 3}, {.partition_index = 4}}}};
    const auto answer = hears<kafka::OffsetCommitResponse>(request, version, why);
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->topics.at(0).partitions.size(), 2u);
    EXPECT_EQ(answer->topics[0].partitions[1].partition_index, 4);
    EXPECT_EQ(answer->topics[0].partitions[1].error_code, error);
  }
  for (std::int16_t version = 1; version <= 10; ++version) {
    SCOPED_TRACE(version);
    kafka::OffsetFetchRequest request{.group_id = "g"};
    request.topics = {{.name = "t", .partition_indexes = {7}}};
    if (version >= 8) request.groups = {{.group_id = "g"}, {.group_id = "h"}};
    const auto answer = hears<kafka::OffsetFetchResponse>(request, version, why);
    ASSERT_TRUE(answer);
    if (version == 1) {
      ASSERT_EQ(answer->topics.at(0).partitions.size(), 1u);
      EXPECT_EQ(answer->topics[0].partitions[0].error_code, error);
      EXPECT_EQ(answer->topics[0].partitions[0].committed_offset, -1);
    } else if (version < 8) {
      EXPECT_EQ(answer->error_code, error);
      EXPECT_TRUE(answer->topics.empty());
    } else {
      ASSERT_EQ(answer->groups.size(), 2u);
      EXPECT_EQ(answer->groups[1].group_id, "h");
      EXPECT_EQ(answer->groups[1].error_code, error);
    }
  }
  const auto described =
      hears<kafka::DescribeGroupsResponse>(kafka::DescribeGroupsRequest{.groups = {"a", "b"}}, 6, why);
  ASSERT_TRUE(described);
  EXPECT_EQ(described->groups.at(1).group_id, "b");
  EXPECT_EQ(described->groups.at(1).error_code, error);
  const auto deleted = hears<kafka::DeleteGroupsResponse>(kafka::DeleteGroupsRequest{.groups_names = {"a"}}, 2, why);
  ASSERT_TRUE(deleted);
  EXPECT_EQ(deleted->results.at(0).error_code, error);
  EXPECT_EQ(hears<kafka::HeartbeatResponse>(kafka::HeartbeatRequest{}, 4, why)->error_code, error);
  EXPECT_EQ(hears<kafka::SyncGroupResponse>(kafka::SyncGroupRequest{}, 5, why)->error_code, error);
  EXPECT_EQ(hears<kafka::LeaveGroupResponse>(kafka::LeaveGroupRequest{}, 5, why)->error_code, error);
  EXPECT_EQ(hears<kafka::ListGroupsResponse>(kafka::ListGroupsRequest{}, 5, why)->error_code, error);
  EXPECT_EQ(hears<kafka::OffsetDeleteResponse>(kafka::OffsetDeleteRequest{}, 0, why)->error_code, error);
  EXPECT_EQ(hears<kafka::ConsumerGroupHeartbeatResponse>(kafka::ConsumerGroupHeartbeatRequest{}, 1, why)->error_code,
            error);
}

}  // namespace
}  // namespace tailrace::broker
