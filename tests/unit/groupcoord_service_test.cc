// The real service over real sockets and rings, between a zkbridge and a broker made of the same parts. They and the
// service have a loop each, as three processes would; the service's clock is the test's.
#include "services/groupcoord/service.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"
#include "services/kafka/errors.h"
#include "services/kafka/messages/allocate_producer_ids.h"
#include "services/kafka/messages/group_lag.h"
#include "services/kafka/messages/init_producer_id.h"
#include "services/kafka/messages/internal.h"
#include "services/node/control.h"
#include "tests/unit/support/set_clock_io.h"

namespace tailrace::groupcoord {
namespace {

using kafka::ErrorCode;
using node::ControlType;

constexpr std::uint32_t type_of(ControlType type) { return static_cast<std::uint32_t>(type); }

using test::SetClockIo;

// What a zkbridge does for a client that is not a broker.
class FakeBridge {
 public:
  FakeBridge(io::Io& io, const ipc::Bell& bell, const std::string& path) {
    listener_ = std::move(*ipc::Listener::create(
        io, bell, path, {.roles = {ipc::Role::groupcoord}}, [this, &io](std::unique_ptr<ipc::SocketLink> link) {
          EXPECT_EQ(link->peer_role(), ipc::Role::groupcoord);
          ++sessions;
          closed_ = false;
          link->on_closed = [this] { closed_ = true; };
          channel_ = std::make_unique<ipc::MessageChannel>(io, std::move(link));
        }));
  }
  void work() {
    if (channel_ == nullptr) return;
    channel_->poll([this](std::uint32_t type, Bytes message) { on_message(type, message); });
    channel_->publish();
    if (closed_) channel_.reset();
  }
  void send(ControlType type, std::initializer_list<Bytes> parts) { channel_->send(type_of(type), parts); }
  void welcome(std::int16_t error = 0) {
    kafka::Buffer body;
    kafka::encode(
        kafka::NodeRegistrationResponse{
            .error_code = error, .cluster_id = "c", .broker_id = 7, .broker_epoch = broker_epoch},
        0, body);
    send(ControlType::welcome, {body.bytes()});
  }
  void answer(std::uint64_t number, std::int64_t first, std::int32_t size, ErrorCode error = ErrorCode::NONE) {
    kafka::Buffer frame;
    kafka::encode_response_header(0, 1, frame);
    kafka::encode(
        kafka::AllocateProducerIdsResponse{
            .error_code = kafka::wire(error), .producer_id_start = first, .producer_id_len = size},
        0, frame);
    send(ControlType::forward_reply, {node::frame_number(number), frame.bytes()});
  }

  int sessions = 0;
  bool welcomes = true;
  ErrorCode welcome_error = ErrorCode::NONE;
  std::int64_t broker_epoch = 42;
  bool answers = true;                                     // with blocks of `block_size` from `next_block` on
  std::deque<std::function<void(std::uint64_t)>> instead;  // what to do with the next requests instead
  std::int64_t next_block = 0;
  std::int32_t block_size = 1000;
  std::vector<kafka::AllocateProducerIdsRequest> requests;

 private:
  void on_message(std::uint32_t type, Bytes message) {
    if (type == type_of(ControlType::hello)) {
      const auto hello = kafka::decode_exactly<kafka::NodeRegistrationRequest>(message, 0);
      ASSERT_TRUE(hello);
      EXPECT_TRUE(hello->endpoints.empty());
      if (welcomes) welcome(kafka::wire(welcome_error));
      return;
    }
    ASSERT_EQ(type, type_of(ControlType::forward));
    const auto numbered = node::parse_forwarded_frame(message);
    ASSERT_TRUE(numbered);
    kafka::RequestHeader header;
    std::size_t body_at = 0;
    ASSERT_TRUE(kafka::decode_request_header(numbered->frame, header, body_at));
    ASSERT_EQ(header.api_key, kafka::api_key::kAllocateProducerIds);
    ASSERT_EQ(header.api_version, 0);
    const auto request = kafka::decode_exactly<kafka::AllocateProducerIdsRequest>(numbered->frame.subspan(body_at), 0);
    ASSERT_TRUE(request);
    requests.push_back(*request);
    if (!instead.empty()) {
      const auto act = instead.front();
      instead.pop_front();
      return act(numbered->number);
    }
    if (!answers) return;
    answer(numbered->number, next_block, block_size);
    next_block += block_size;
  }

  std::unique_ptr<ipc::Listener> listener_;
  std::unique_ptr<ipc::MessageChannel> channel_;
  bool closed_ = false;
};

struct Reply {
  std::vector<std::byte> frame;
  std::int32_t correlation_id = 0;
  kafka::InitProducerIdResponse body;
};

// What a broker does: forwards frames.
class FakeBroker {
 public:
  FakeBroker(io::Io& io, const ipc::Bell& bell, const std::string& path, ipc::Role role = ipc::Role::broker)
      : connector_(io, bell, path, {.role = role}, [this, &io](std::unique_ptr<ipc::SocketLink> link) {
          link->on_closed = [this] { closed = true; };
          channel_ = std::make_unique<ipc::MessageChannel>(io, std::move(link));
        }) {
    connector_.connect();
  }
  void work() {
    if (channel_ == nullptr || closed) return;
    channel_->poll([this](std::uint32_t type, Bytes message) {
      EXPECT_EQ(type, type_of(ControlType::forward_reply));
      const auto numbered = node::parse_numbered_frame(message);
      ASSERT_TRUE(numbered);
      EXPECT_FALSE(replies_.contains(numbered->number)) << "answered twice";
      replies_[numbered->number].assign(numbered->frame.begin(), numbered->frame.end());
      order.push_back(numbered->number);
    });
    channel_->publish();
  }
  [[nodiscard]] bool connected() const { return channel_ != nullptr; }
  void send_raw(std::uint32_t type, Bytes message) { channel_->send(type, {message}); }
  std::uint64_t forward(Bytes frame) {
    const std::uint64_t number = next_number_++;
    channel_->send(type_of(ControlType::forward), {node::forwarded_prefix(number, "127.0.0.1"), frame});
    return number;
  }
  std::uint64_t init(const kafka::InitProducerIdRequest& request, std::int16_t version = 4) {
    kafka::Buffer frame;
    kafka::encode_request_header({.api_key = kafka::api_key::kInitProducerId,
                                  .api_version = version,
                                  .correlation_id = static_cast<std::int32_t>(1000 + next_number_),
                                  .client_id = "client"},
                                 frame);
    kafka::encode(request, version, frame);
    return forward(frame.bytes());
  }
  [[nodiscard]] bool has(std::uint64_t number) const { return replies_.contains(number); }
  [[nodiscard]] const std::vector<std::byte>& frame(std::uint64_t number) const { return replies_.at(number); }
  // The answer, decoded to its last byte.
  [[nodiscard]] Reply reply(std::uint64_t number, std::int16_t version = 4) const {
    Reply reply;
    reply.frame = replies_.at(number);
    std::size_t body_at = 0;
    const auto header_version = kafka::response_header_version(kafka::api_key::kInitProducerId, version);
    EXPECT_TRUE(kafka::decode_response_header(reply.frame, header_version, reply.correlation_id, body_at));
    const auto body =
        kafka::decode_exactly<kafka::InitProducerIdResponse>(Bytes(reply.frame).subspan(body_at), version);
    EXPECT_TRUE(body);
    if (body) reply.body = *body;
    return reply;
  }

  bool closed = false;
  std::vector<std::uint64_t> order;

 private:
  ipc::Connector connector_;
  std::unique_ptr<ipc::MessageChannel> channel_;
  std::map<std::uint64_t, std::vector<std::byte>> replies_;
  std::uint64_t next_number_ = 1;
};

// What `tailrace stat --groups` does, or should not do.
class FakeTool {
 public:
  FakeTool(io::Io& io, const ipc::Bell& bell, const std::string& path)
      : connector_(io, bell, path, {.role = ipc::Role::tool, .ring_bytes = 4096},
                   [this, &io](std::unique_ptr<ipc::SocketLink> link) {
                     link->on_closed = [this] { closed = true; };
                     channel_ = std::make_unique<ipc::MessageChannel>(io, std::move(link));
                   }) {
    connector_.connect();
  }
  void work() {
    if (channel_ == nullptr || closed) return;
    if (!reads) return channel_->publish();
    channel_->poll([this](std::uint32_t type, Bytes message) {
      EXPECT_EQ(type, type_of(ControlType::group_lag_reply));
      const auto page = kafka::decode_exactly<kafka::GroupLagResponse>(message, 0);
      ASSERT_TRUE(page);
      is_loading = page->is_loading;
      EXPECT_FALSE(page->has_more);
      EXPECT_TRUE(page->groups.empty());
      ++pages;
    });
    channel_->publish();
  }
  [[nodiscard]] bool connected() const { return channel_ != nullptr; }
  void send_raw(std::uint32_t type, Bytes message) { channel_->send(type, {message}); }
  void ask(const kafka::GroupLagRequest& request = {}) {
    kafka::Buffer body;
    kafka::encode(request, 0, body);
    send_raw(type_of(ControlType::group_lag), body.bytes());
  }

  bool closed = false;
  bool reads = true;
  bool is_loading = false;
  int pages = 0;

 private:
  ipc::Connector connector_;
  std::unique_ptr<ipc::MessageChannel> channel_;
};

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tailrace-gc-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    counters_ = std::move(*Counters::create(directory_ + "/groupcoord.counters"));
    service_ = std::make_unique<Service>(
        service_io_, *service_bell_, *counters_, config_,
        Service::Paths{.bridge = directory_ + "/zkbridge.sock", .engine = directory_ + "/engine.sock"},
        std::move(*ipc::SharedMemory::create("groups", 1 << 20)));
    EXPECT_TRUE(service_->start(directory_ + "/groupcoord.sock"));
  }
  ~ServiceTest() override {
    broker_.reset();
    bridge_.reset();
    service_.reset();
    std::filesystem::remove_all(directory_);
  }

  void turn() {
    service_->work();
    service_->prepare_to_sleep();
    service_io_.turn(true);
    service_->wake();
    if (bridge_) bridge_->work();
    if (broker_) broker_->work();
    for (FakeTool* const each : tools_) each->work();
    world_io_->turn(true);
  }
  // Turns until it is so. What never becomes so ends the test, after far more turns than anything takes.
  template <class Condition>
  void until(Condition&& condition) {
    for (int turns = 0; turns < 200'000; ++turns) {
      if (condition()) return;
      turn();
    }
    FAIL() << "it does not happen";
  }
  void settle() {
    for (int i = 0; i < 50; ++i) turn();
  }
  void start_bridge() {
    bridge_ = std::make_unique<FakeBridge>(*world_io_, *world_bell_, directory_ + "/zkbridge.sock");
  }
  void start_broker() {
    broker_ = std::make_unique<FakeBroker>(*world_io_, *world_bell_, directory_ + "/groupcoord.sock");
    until([&] { return broker_->connected(); });
  }
  // Is not to be driven any more when it goes.
  struct Dismiss {
    ServiceTest* test;
    void operator()(FakeTool* tool) const {
      std::erase(test->tools_, tool);
      delete tool;
    }
  };
  using Tool = std::unique_ptr<FakeTool, Dismiss>;
  Tool start_tool() {
    Tool tool(new FakeTool(*world_io_, *world_bell_, directory_ + "/groupcoord.sock"), Dismiss{this});
    tools_.push_back(tool.get());
    until([&] { return tool->connected(); });
    return tool;
  }
  void start_both() {
    start_bridge();
    start_broker();
    until_blocks(1);
  }
  void until_blocks(std::uint64_t count) {
    until([&] {
      service_io_.pass(Duration{100});  // the connector's pauses
      return counter("producer_id_blocks") >= count;
    });
  }
  [[nodiscard]] std::uint64_t counter(const std::string& name) const {
    const auto readings = *Counters::read(directory_ + "/groupcoord.counters");
    for (const auto& reading : readings) {
      if (reading.name == name) return reading.value;
    }
    ADD_FAILURE() << name;
    return 0;
  }
  Reply ask(const kafka::InitProducerIdRequest& request, std::int16_t version = 4) {
    const std::uint64_t number = broker_->init(request, version);
    until([&] { return broker_->has(number); });
    return broker_->reply(number, version);
  }
  ErrorCode error_of(const kafka::InitProducerIdRequest& request, std::int16_t version = 4) {
    const Reply reply = ask(request, version);
    EXPECT_EQ(reply.body.producer_id, -1);
    EXPECT_EQ(reply.body.producer_epoch, -1);
    return static_cast<ErrorCode>(reply.body.error_code);
  }

  std::string directory_;
  SetClockIo service_io_;
  std::unique_ptr<ipc::Bell> service_bell_ = std::move(*ipc::Bell::create(service_io_));
  std::unique_ptr<io::Io> world_io_ = std::move(*io::make_io());
  std::unique_ptr<ipc::Bell> world_bell_ = std::move(*ipc::Bell::create(*world_io_));
  std::unique_ptr<Counters> counters_;
  node::Config config_ = *node::make_config({}, "");
  std::unique_ptr<Service> service_;
  std::unique_ptr<FakeBridge> bridge_;
  std::unique_ptr<FakeBroker> broker_;
  std::vector<FakeTool*> tools_;  // that the world drives; borrowed from the stories
};

TEST_F(ServiceTest, EveryVersionGetsANewIdWithEpochZero) {
  start_both();
  for (std::int16_t version = 0; version <= 5; ++version) {
    const Reply reply = ask({.transaction_timeout_ms = 60000}, version);
    EXPECT_EQ(reply.correlation_id, 1000 + version + 1);
    EXPECT_EQ(reply.body.error_code, 0);
    EXPECT_EQ(reply.body.producer_id, version);
    EXPECT_EQ(reply.body.producer_epoch, 0);
    EXPECT_EQ(reply.body.throttle_time_ms, 0);
  }
  ASSERT_EQ(bridge_->requests.size(), 1u);
  EXPECT_EQ(bridge_->requests[0].broker_id, 7);
  EXPECT_EQ(bridge_->requests[0].broker_epoch, 42);
  EXPECT_EQ(counter("producer_ids"), 6u);
}

// What real clients sent to real brokers, and what those answered: byte for byte the same, but for the id.
TEST_F(ServiceTest, AnswersTheRequestsOfRealClientsAsKafkaDid) {
  ASSERT_EQ(std::system(("tar --zstd -xf '" TAILRACE_GOLDEN "/frames/frames.tar.zst' -C '" + directory_ + "'").c_str()),
            0);
  start_both();
  const auto read = [](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  int idempotent = 0;
  int transactional = 0;
  std::map<int, int> versions;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/frames")) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("022-InitProducerId-") || !name.ends_with(".req")) continue;
    SCOPED_TRACE(name);
    const std::string frame = read(entry.path());
    kafka::RequestHeader header;
    std::size_t body_at = 0;
    ASSERT_TRUE(kafka::decode_request_header(as_bytes(frame), header, body_at));
    const std::int16_t version = header.api_version;
    const auto request = kafka::decode<kafka::InitProducerIdRequest>(as_bytes(frame).subspan(body_at), version);
    ASSERT_TRUE(request);
    const std::uint64_t number = broker_->forward(as_bytes(frame));
    until([&] { return broker_->has(number); });
    Reply reply = broker_->reply(number, version);
    EXPECT_EQ(reply.correlation_id, header.correlation_id);
    ++versions[version];
    if (request->transactional_id) {
      ++transactional;
      EXPECT_EQ(reply.body.error_code, kafka::wire(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED));
      continue;
    }
    ++idempotent;
    EXPECT_EQ(reply.body.error_code, 0);
    const std::string kafkas = read(entry.path().parent_path() / (name.substr(0, name.size() - 4) + ".res"));
    std::int32_t correlation_id = 0;
    const auto header_version = kafka::response_header_version(header.api_key, version);
    ASSERT_TRUE(kafka::decode_response_header(as_bytes(kafkas), header_version, correlation_id, body_at));
    auto expected = kafka::decode<kafka::InitProducerIdResponse>(as_bytes(kafkas).subspan(body_at), version);
    ASSERT_TRUE(expected);
    if (expected->error_code != 0) continue;  // a broker that had just started
    expected->producer_id = reply.body.producer_id;
    kafka::Buffer same;
    kafka::encode_response_header(correlation_id, header_version, same);
    kafka::encode(*expected, version, same);
    EXPECT_EQ(as_text(reply.frame), as_text(same.bytes()));
  }
  EXPECT_EQ(versions.size(), 6u);
  EXPECT_GE(idempotent, 20);
  EXPECT_GE(transactional, 30);
}

TEST_F(ServiceTest, RefusesAsKafkaDoes) {
  start_both();
  EXPECT_EQ(error_of({.transactional_id = ""}), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error_of({.transactional_id = ""}, 0), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error_of({.producer_id = 5}), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error_of({.producer_epoch = 5}), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error_of({.transactional_id = "t", .producer_id = 5}), ErrorCode::INVALID_REQUEST);
  EXPECT_EQ(error_of({.transactional_id = "t"}), ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  EXPECT_EQ(ask({.producer_id = 5, .producer_epoch = 5}).body.producer_id, 0);  // a new one, not the next epoch
}

TEST_F(ServiceTest, WhatCannotBeAnsweredIsAnsweredWithNothing) {
  start_both();
  for (const auto& [key, version] : std::vector<std::pair<int, int>>{
           {22, 6}, {22, 7}, {22, -1}, {10, 4}, {0, 9}, {67, 0}, {-1, 0}, {32767, 0}, {1001, 0}}) {
    SCOPED_TRACE(std::to_string(key) + " " + std::to_string(version));
    kafka::Buffer frame;
    kafka::encode_request_header(
        {.api_key = static_cast<std::int16_t>(key), .api_version = static_cast<std::int16_t>(version)}, frame);
    const std::uint64_t number = broker_->forward(frame.bytes());
    until([&] { return broker_->has(number) || broker_->closed; });
    ASSERT_FALSE(broker_->closed);
    EXPECT_TRUE(broker_->frame(number).empty());
  }
  EXPECT_EQ(ask({}).body.producer_id, 0);
}

TEST_F(ServiceTest, ABodyThatIsNoneIsAnsweredWithNothing) {
  start_both();
  for (std::int16_t version = 0; version <= 5; ++version) {
    kafka::Buffer frame;
    kafka::encode_request_header({.api_key = 22, .api_version = version, .correlation_id = 3}, frame);
    frame.append(as_bytes("\x7F"));
    const std::uint64_t number = broker_->forward(frame.bytes());
    until([&] { return broker_->has(number); });
    EXPECT_TRUE(broker_->frame(number).empty());
  }
}

TEST_F(ServiceTest, GarbageEndsTheSessionOnly) {
  start_both();
  const auto expect_end = [&](std::uint32_t type, Bytes message) {
    broker_->send_raw(type, message);
    until([&] { return broker_->closed; });
    start_broker();
  };
  const std::string number(8, '\0');
  expect_end(type_of(ControlType::forward), {});
  expect_end(type_of(ControlType::forward), as_bytes("1234567"));
  expect_end(type_of(ControlType::forward), as_bytes(number));
  expect_end(type_of(ControlType::forward), as_bytes(number + "abc"));
  expect_end(type_of(ControlType::forward), as_bytes(number + std::string(8, '\xFF')));
  expect_end(type_of(ControlType::forward_reply), as_bytes(number));
  expect_end(type_of(ControlType::hello), {});
  expect_end(77, as_bytes(number));
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string message(random() % 60, '\0');
    for (char& each : message) each = static_cast<char>(random());
    if (message.size() > 11 && random() % 2 == 0) {
      message[8] = 0, message[9] = 22, message[10] = 0;
      message[11] = static_cast<char>(random() % 7);
    }
    broker_->send_raw(type_of(ControlType::forward), as_bytes(message));
    turn();
    if (broker_->closed) start_broker();
  }
  start_broker();
  EXPECT_EQ(ask({}).body.error_code, 0);
}

TEST_F(ServiceTest, OnlyBrokersAndToolsAreServedAndNotTooMany) {
  start_bridge();
  FakeBroker stranger(*world_io_, *world_bell_, directory_ + "/groupcoord.sock", ipc::Role::zkbridge);
  settle();
  EXPECT_FALSE(stranger.connected());
  std::vector<std::unique_ptr<FakeBroker>> brokers;
  for (std::size_t i = 0; i < Service::kSessionsMax; ++i) {
    start_broker();
    brokers.push_back(std::move(broker_));
  }
  until([&] { return counter("sessions") == Service::kSessionsMax; });
  FakeBroker one_more(*world_io_, *world_bell_, directory_ + "/groupcoord.sock");
  until([&] { return one_more.closed; });
  // Tools have room of their own.
  std::vector<Tool> tools;
  for (std::size_t i = 0; i < Service::kToolSessionsMax; ++i) tools.push_back(start_tool());
  until([&] { return counter("sessions") == Service::kSessionsMax + Service::kToolSessionsMax; });
  const auto one_tool_more = start_tool();
  until([&] { return one_tool_more->closed; });
  tools.clear();
  brokers.clear();
  until([&] { return counter("sessions") == 0; });
  start_broker();
  until_blocks(1);
  EXPECT_EQ(ask({}).body.producer_id, 0);
}

// -- Tools ---------------------------------------------------------------------------------------------------------

TEST_F(ServiceTest, AToolIsToldThatGroupsAreStillRead) {
  const Tool tool = start_tool();
  for (int i = 1; i <= 3; ++i) {
    tool->ask();
    until([&] { return tool->pages == i; });
    EXPECT_TRUE(tool->is_loading);  // nobody has told what topics there are
  }
  EXPECT_EQ(counter("lag_pages"), 3u);
}

TEST_F(ServiceTest, AToolThatBreaksTheRulesIsShownOut) {
  start_both();
  const Tool witness = start_tool();
  const auto expect_end = [&](std::uint32_t type, Bytes message) {
    const Tool tool = start_tool();
    tool->send_raw(type, message);
    until([&] { return tool->closed; });
    EXPECT_EQ(tool->pages, 0);
  };
  const auto encoded = [](const kafka::GroupLagRequest& request) {
    kafka::Buffer body;
    kafka::encode(request, 0, body);
    return std::string(as_text(body.bytes()));
  };
  const std::uint32_t lag = type_of(ControlType::group_lag);
  const std::string sound = encoded({.after_group = "g", .after_topic = "t", .after_partition = 3});
  for (std::size_t size = 0; size < sound.size(); ++size) expect_end(lag, as_bytes(sound.substr(0, size)));
  expect_end(lag, as_bytes(sound + "x"));
  for (const std::int32_t rows : {0, -1, INT32_MIN, kafka::kGroupLagRowsMax + 1, INT32_MAX}) {
    expect_end(lag, as_bytes(encoded({.rows_max = rows})));
  }
  expect_end(lag, as_bytes(encoded({.after_topic = "t"})));
  // What belongs to others.
  for (const std::uint32_t type : {0u, 1u, type_of(ControlType::forward), type_of(ControlType::group_lag_reply), 77u}) {
    expect_end(type, as_bytes(sound));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string message(random() % 40, '\0');
    for (char& each : message) each = static_cast<char>(random());
    const Tool tool = start_tool();
    tool->send_raw(lag, as_bytes(message));
    until([&] { return tool->closed || tool->pages == 1; });
  }
  // And no one else has noticed.
  EXPECT_FALSE(witness->closed);
  EXPECT_FALSE(broker_->closed);
  EXPECT_EQ(ask({}).body.error_code, 0);
}

TEST_F(ServiceTest, AToolThatBreaksTheRulesWaitsForNoAnswerTwice) {
  const Tool tool = start_tool();
  tool->send_raw(type_of(ControlType::group_lag), {});
  tool->ask();
  until([&] { return tool->closed; });
  EXPECT_EQ(tool->pages, 0);
}

TEST_F(ServiceTest, AToolThatDoesNotReadIsShownOutBeforeAnswersPileUp) {
  const Tool tool = start_tool();
  tool->reads = false;
  std::uint64_t answers = 0;
  while (!tool->closed) {
    ASSERT_LT(answers, 4096 / 16 + 2) << "more than its ring takes";
    tool->ask();
    until([&] { return tool->closed || counter("lag_pages") > answers; });
    answers = counter("lag_pages");
  }
  EXPECT_GT(answers, 1u);
}

TEST_F(ServiceTest, ABrokerAsksForNoLag) {
  start_both();
  kafka::Buffer body;
  kafka::encode(kafka::GroupLagRequest{}, 0, body);
  broker_->send_raw(type_of(ControlType::group_lag), body.bytes());
  until([&] { return broker_->closed; });
}

TEST_F(ServiceTest, RequestsWaitForZkbridgeInTheirOrder) {
  start_broker();
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 20; ++i) numbers.push_back(broker_->init({}));
  settle();
  EXPECT_TRUE(broker_->order.empty());
  service_io_.pass(std::chrono::seconds(9));
  start_bridge();
  until([&] { return broker_->order.size() == numbers.size(); });
  EXPECT_EQ(broker_->order, numbers);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(broker_->reply(numbers[static_cast<std::size_t>(i)]).body.producer_id, i);
}

TEST_F(ServiceTest, AndNotForEver) {
  start_broker();
  const std::uint64_t number = broker_->init({}, 5);
  settle();
  service_io_.pass(ProducerIds::kPatience - Duration{1});
  settle();
  EXPECT_FALSE(broker_->has(number));
  service_io_.pass(Duration{1});
  until([&] { return broker_->has(number); });
  const Reply reply = broker_->reply(number, 5);
  EXPECT_EQ(reply.body.error_code, kafka::wire(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
  EXPECT_TRUE(kafka::error_retriable(reply.body.error_code));
  EXPECT_EQ(reply.body.producer_id, -1);
}

TEST_F(ServiceTest, ZkbridgeDiesWithARequestInItsHands) {
  start_bridge();
  bridge_->answers = false;
  start_broker();
  until([&] {
    service_io_.pass(Duration{100});
    return bridge_->requests.size() == 1;
  });
  const std::uint64_t number = broker_->init({});
  settle();
  bridge_.reset();
  settle();
  EXPECT_FALSE(broker_->has(number));
  start_bridge();
  bridge_->next_block = 1000;  // the block that nobody heard of is gone
  until([&] {
    service_io_.pass(Duration{1000});
    return broker_->has(number);
  });
  EXPECT_EQ(broker_->reply(number).body.producer_id, 1000);
}

TEST_F(ServiceTest, IdsOfABlockGoOnWhileZkbridgeIsAway) {
  start_both();
  EXPECT_EQ(ask({}).body.producer_id, 0);
  bridge_.reset();
  settle();
  for (int i = 1; i < 1000; ++i) ASSERT_EQ(ask({}).body.producer_id, i);
  const std::uint64_t number = broker_->init({});
  settle();
  EXPECT_FALSE(broker_->has(number));
  start_bridge();
  bridge_->next_block = 3000;
  until([&] {
    service_io_.pass(Duration{1000});
    return broker_->has(number);
  });
  EXPECT_EQ(broker_->reply(number).body.producer_id, 3000);
}

TEST_F(ServiceTest, ManyRequestsOverManyBlocks) {
  start_bridge();
  bridge_->block_size = 7;
  start_broker();
  until_blocks(1);
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 2000; ++i) numbers.push_back(broker_->init({}));
  until([&] { return broker_->order.size() == numbers.size(); });
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(broker_->reply(numbers[static_cast<std::size_t>(i)]).body.producer_id, i);
}

TEST_F(ServiceTest, ABrokerThatDiesIsNotMissed) {
  start_bridge();
  bridge_->answers = false;
  start_broker();
  for (int i = 0; i < 3; ++i) broker_->init({});
  settle();
  broker_.reset();
  until([&] { return counter("sessions") == 0; });
  start_broker();
  const std::uint64_t number = broker_->init({});
  settle();
  bridge_.reset();
  settle();
  start_bridge();
  until([&] {
    service_io_.pass(Duration{1000});
    return broker_->has(number);
  });
  EXPECT_EQ(broker_->order.size(), 1u);
  EXPECT_EQ(broker_->reply(number).body.producer_id, 3);  // the dead one's three are skipped
}

TEST_F(ServiceTest, ARefusedBlockIsAskedForAgain) {
  start_bridge();
  bridge_->instead = {
      [&](std::uint64_t number) { bridge_->answer(number, 0, 0, ErrorCode::NOT_CONTROLLER); },
      [&](std::uint64_t number) { bridge_->answer(number, -1, 1000); },
      [&](std::uint64_t number) { bridge_->answer(number, 0, -1); },
      [&](std::uint64_t number) { bridge_->send(ControlType::forward_reply, {node::frame_number(number)}); },
      [&](std::uint64_t number) { bridge_->answer(number + 1000, 99'000, 1000); },  // of another request: not ours
  };
  start_broker();
  const std::uint64_t number = broker_->init({});
  until([&] {
    service_io_.pass(Duration{10'000});
    return broker_->has(number);
  });
  EXPECT_EQ(bridge_->sessions, 1);
  EXPECT_EQ(bridge_->requests.size(), 5u);  // the last one is waited for longer than the client does
  EXPECT_EQ(broker_->reply(number).body.error_code, kafka::wire(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
  service_io_.pass(ProducerIds::kBlockPatience);
  EXPECT_EQ(ask({}).body.producer_id, 0);
}

TEST_F(ServiceTest, ALateAnswerIsNotUsed) {
  start_bridge();
  std::uint64_t late = 0;
  bridge_->instead = {[&](std::uint64_t number) { late = number; }};
  start_broker();
  until([&] {
    service_io_.pass(Duration{100});
    return late != 0;
  });
  service_io_.pass(ProducerIds::kBlockPatience);
  bridge_->next_block = 1000;
  until_blocks(1);
  bridge_->answer(late, 0, 1000);
  EXPECT_EQ(ask({}).body.producer_id, 1000);
}

TEST_F(ServiceTest, AStaleEpochIsLearnedAnew) {
  start_bridge();
  bridge_->instead = {[&](std::uint64_t number) {
    bridge_->broker_epoch = 43;
    bridge_->answer(number, 0, 0, ErrorCode::STALE_BROKER_EPOCH);
  }};
  start_broker();
  const std::uint64_t number = broker_->init({});
  until([&] {
    service_io_.pass(Duration{10'000});
    return broker_->has(number);
  });
  EXPECT_EQ(bridge_->sessions, 2);
  EXPECT_EQ(bridge_->requests.back().broker_epoch, 43);
  EXPECT_EQ(broker_->reply(number).body.producer_id, 0);
}

TEST_F(ServiceTest, AZkbridgeThatRefusesIsAskedAgain) {
  start_bridge();
  bridge_->welcome_error = ErrorCode::BROKER_ID_NOT_REGISTERED;
  until([&] {
    service_io_.pass(Duration{10'000});
    return bridge_->sessions == 3;
  });
  EXPECT_TRUE(bridge_->requests.empty());
  bridge_->welcome_error = ErrorCode::NONE;
  start_broker();
  const std::uint64_t number = broker_->init({});
  until([&] {
    service_io_.pass(Duration{10'000});
    return broker_->has(number);
  });
  EXPECT_EQ(broker_->reply(number).body.producer_id, 0);
}

TEST_F(ServiceTest, AZkbridgeThatBreaksTheProtocolIsLeft) {
  start_bridge();
  start_broker();
  int sessions = 0;
  const std::vector<std::pair<ControlType, std::string>> bad = {{ControlType::hello, ""},
                                                                {ControlType::welcome, "x"},
                                                                {ControlType::forward_reply, "short"},
                                                                {ControlType::control, std::string(20, 'c')},
                                                                {static_cast<ControlType>(99), ""}};
  for (const auto& [type, message] : bad) {
    until([&] {
      service_io_.pass(Duration{10'000});
      return bridge_->sessions == sessions + 1;
    });
    settle();
    bridge_->send(type, {as_bytes(message)});
    sessions = bridge_->sessions;
  }
  until([&] {
    service_io_.pass(Duration{10'000});
    return bridge_->sessions == sessions + 1;
  });
  bridge_->send(ControlType::config_image, {as_bytes("whatever")});  // lawful, and of no interest
  EXPECT_EQ(ask({}).body.error_code, 0);
  EXPECT_EQ(bridge_->sessions, sessions + 1);
}

TEST_F(ServiceTest, AnAnswerThatIsNoneEndsTheSession) {
  start_bridge();
  bridge_->instead = {[&](std::uint64_t number) {
    bridge_->send(ControlType::forward_reply, {node::frame_number(number), as_bytes("garbage")});
  }};
  start_broker();
  const std::uint64_t number = broker_->init({});
  until([&] {
    service_io_.pass(Duration{10'000});
    return broker_->has(number);
  });
  EXPECT_EQ(bridge_->sessions, 2);
  EXPECT_EQ(broker_->reply(number).body.producer_id, 0);
}

TEST_F(ServiceTest, ARegistrationThatTakesLongIsWaitedFor) {
  start_bridge();
  bridge_->welcomes = false;
  start_broker();
  const std::uint64_t number = broker_->init({});
  until([&] {
    service_io_.pass(Duration{100});
    return bridge_->sessions == 1;
  });
  settle();
  EXPECT_TRUE(bridge_->requests.empty());
  bridge_->welcome();
  until([&] { return broker_->has(number); });
  EXPECT_EQ(broker_->reply(number).body.producer_id, 0);
}

TEST_F(ServiceTest, StopsWhenTold) {
  EXPECT_FALSE(service_->stopped());
  service_->stop();
  EXPECT_TRUE(service_->stopped());
}

}  // namespace
}  // namespace tailrace::groupcoord
