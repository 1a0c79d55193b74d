// zkbridge as a process would be: its service over a real journal and real sessions, with a broker and a coordinator
// that connect, ask, die and come back.
#include "services/zkbridge/service.h"

#include <cstdlib>
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>

#include "engine/base/observe.h"
#include "services/kafka/api_table.h"
#include "services/kafka/messages/allocate_producer_ids.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/leader_and_isr.h"
#include "services/kafka/messages/update_metadata.h"
#include "services/zkbridge/local_store.h"

namespace tailrace::zkbridge {
namespace {

using node::ControlType;

[[maybe_unused]] const bool kQuiet = (start_logging("test", LogLevel::error), true);

// Another process's end: says hello, answers control messages, remembers what came.
class Peer {
 public:
  Peer(const std::string& path, ipc::Role role, bool is_broker) : is_broker_(is_broker) {
    connector_ = std::make_unique<ipc::Connector>(
        *io_, *bell_, path, ipc::SessionShape{.role = role, .ring_bytes = 65536},
        [this](std::unique_ptr<ipc::SocketLink> link) { on_session(std::move(link)); });
    connector_->connect();
  }
  void turn() {
    io_->turn(true);
    if (channel_ == nullptr) return;
    channel_->poll([this](std::uint32_t type, Bytes message) { on_message(static_cast<ControlType>(type), message); });
    channel_->publish();
  }
  template <class M>
  void forward(std::uint64_t number, const M& message, std::int16_t version) {
    kafka::Buffer frame;
    kafka::encode_request_header(
        {.api_key = M::kMessage.api_key, .api_version = version, .correlation_id = 9, .client_id = "c"}, frame);
    kafka::encode(message, version, frame);
    channel_->send(static_cast<std::uint32_t>(ControlType::forward),
                   {node::forwarded_prefix(number, "127.0.0.1"), frame.bytes()});
  }
  void send(std::uint32_t type, Bytes bytes) { channel_->send(type, {bytes}); }

  bool is_welcome = false;
  std::int64_t epoch = -1;
  std::string cluster_id;
  std::size_t images = 0, roles = 0, updates = 0;
  std::map<std::uint64_t, std::vector<std::byte>> replies;
  bool is_closed = false;

 private:
  void on_session(std::unique_ptr<ipc::SocketLink> link) {
    link->on_closed = [this] { is_closed = true; };
    channel_ = std::make_unique<ipc::MessageChannel>(*io_, std::move(link));
    kafka::NodeRegistrationRequest hello;
    if (is_broker_) hello.endpoints.push_back({.listener = "PLAINTEXT", .host = "127.0.0.1", .port = 9});
    kafka::Buffer bytes;
    kafka::encode(hello, 0, bytes);
    channel_->send(static_cast<std::uint32_t>(ControlType::hello), {bytes.bytes()});
  }
  void on_message(ControlType type, Bytes message) {
    if (type == ControlType::welcome) {
      const auto welcome = kafka::decode_exactly<kafka::NodeRegistrationResponse>(message, 0);
      ASSERT_TRUE(welcome.has_value());
      is_welcome = true;
      epoch = welcome->broker_epoch;
      cluster_id = welcome->cluster_id;
      return;
    }
    if (type == ControlType::config_image) {
      ++images;
      return;
    }
    const auto numbered = node::parse_numbered_frame(message);
    ASSERT_TRUE(numbered.has_value());
    if (type == ControlType::forward_reply) {
      replies[numbered->number].assign(numbered->frame.begin(), numbered->frame.end());
      return;
    }
    answer(*numbered);
  }
  void answer(const node::NumberedFrame& control) {
    kafka::RequestHeader header;
    std::size_t body_at = 0;
    ASSERT_TRUE(kafka::decode_request_header(control.frame, header, body_at));
    kafka::Buffer frame;
    kafka::encode_response_header(header.correlation_id,
                                  kafka::response_header_version(header.api_key, header.api_version), frame);
    if (header.api_key == kafka::api_key::kLeaderAndIsr) {
      ++roles;
      const auto request =
          kafka::decode_exactly<kafka::LeaderAndIsrRequest>(control.frame.subspan(body_at), header.api_version);
      ASSERT_TRUE(request.has_value());
      kafka::LeaderAndIsrResponse response;
      for (const auto& topic : request->topic_states) {
        auto& errors = response.topics.emplace_back();
        errors.topic_id = topic.topic_id;
        for (const auto& state : topic.partition_states) {
          errors.partition_errors.push_back({.partition_index = state.partition_index});
        }
      }
      kafka::encode(response, header.api_version, frame);
    } else {
      ++updates;
      kafka::encode(kafka::UpdateMetadataResponse{}, header.api_version, frame);
    }
    channel_->send(static_cast<std::uint32_t>(ControlType::control_reply),
                   {node::frame_number(control.number), frame.bytes()});
  }

  bool is_broker_;
  std::unique_ptr<io::Io> io_ = std::move(*io::make_io());
  std::unique_ptr<ipc::Bell> bell_ = std::move(*ipc::Bell::create(*io_));
  std::unique_ptr<ipc::MessageChannel> channel_;
  std::unique_ptr<ipc::Connector> connector_;
};

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    char pattern[] = "/tmp/tailrace-zkbridge-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    config_ = *node::make_config({}, "");
    start();
  }
  ~ServiceTest() override {
    peers_.clear();
    end();
    std::filesystem::remove_all(directory_);
  }
  void start() {
    io_ = std::move(*io::make_io());
    bell_ = std::move(*ipc::Bell::create(*io_));
    auto store = LocalStore::open(io_->files(), {directory_, 4096, [this] { return io_->wall_clock_ms(); }});
    ASSERT_TRUE(store.has_value()) << store.error();
    store_ = std::move(*store);
    ControllerOptions options;
    options.config = &config_;
    options.chance = [this] { return io_->random(); };
    controller_ = std::make_unique<Controller>(std::move(options));
    service_ = std::make_unique<Service>(*io_, *store_, *controller_, [this] { ++active_; });
    ASSERT_TRUE(service_->start(*bell_, directory_ + "/s.sock"));
  }
  void end() {
    while (!store_->idle()) {  // a write in flight has its buffers here
      io_->turn(true);
      store_->turn();
    }
    service_.reset();
    controller_.reset();
    store_.reset();
    bell_.reset();
    io_.reset();
  }
  Peer& connect(ipc::Role role) {
    peers_.push_back(std::make_unique<Peer>(directory_ + "/s.sock", role, role == ipc::Role::broker));
    return *peers_.back();
  }
  template <class Condition>
  void until(const Condition& condition) {
    for (int i = 0; i < 1'000'000 && !condition() && service_->failure().empty(); ++i) {
      service_->work();
      if (service_->prepare_to_sleep()) service_->wake();
      io_->turn(true);
      for (const auto& peer : peers_) peer->turn();
    }
    EXPECT_TRUE(condition()) << service_->failure();
  }
  std::int16_t created(const Peer& peer, std::uint64_t number) {
    std::int32_t correlation_id = 0;
    std::size_t body_at = 0;
    EXPECT_TRUE(kafka::decode_response_header(peer.replies.at(number), kafka::response_header_version(19, 7),
                                              correlation_id, body_at));
    const auto response =
        kafka::decode_exactly<kafka::CreateTopicsResponse>(Bytes(peer.replies.at(number)).subspan(body_at), 7);
    EXPECT_TRUE(response.has_value());
    return response->topics.at(0).error_code;
  }

  std::string directory_;
  node::Config config_;
  std::unique_ptr<io::Io> io_;
  std::unique_ptr<ipc::Bell> bell_;
  std::unique_ptr<LocalStore> store_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<Service> service_;
  std::vector<std::unique_ptr<Peer>> peers_;
  int active_ = 0;
};

kafka::CreateTopicsRequest creating(std::string_view name, std::int32_t partitions) {
  return {.topics = {{.name = name, .num_partitions = partitions, .replication_factor = 1}}, .timeout_ms = 30000};
}

TEST_F(ServiceTest, ATopicIsMadeAndIsThereAfterEachProcessWasStartedAgain) {
  Peer& broker = connect(ipc::Role::broker);
  Peer& coordinator = connect(ipc::Role::groupcoord);
  until([&] { return broker.updates == 1 && coordinator.is_welcome; });
  EXPECT_EQ(active_, 1);
  EXPECT_EQ(broker.images, 1u);
  broker.forward(1, creating("a", 3), 7);
  until([&] { return broker.replies.contains(1); });
  EXPECT_EQ(created(broker, 1), 0);
  EXPECT_EQ(broker.roles, 2u);
  EXPECT_EQ(coordinator.roles, 0u);
  const std::string cluster_id = broker.cluster_id;

  peers_.clear();
  end();
  start();
  Peer& again = connect(ipc::Role::broker);
  until([&] { return again.updates == 1; });
  EXPECT_EQ(again.cluster_id, cluster_id);
  EXPECT_GT(again.epoch, 0);
  again.forward(1, creating("a", 3), 7);
  until([&] { return again.replies.contains(1); });
  EXPECT_EQ(created(again, 1), 36);
  EXPECT_EQ(controller_->cluster().topics.at("a").partitions.size(), 3u);
}

TEST_F(ServiceTest, ABrokerThatDiesIsTakenOffTheTree) {
  const Peer& broker = connect(ipc::Role::broker);
  until([&] { return broker.updates == 1; });
  EXPECT_NE(store_->tree().find("/brokers/ids/0"), nullptr);
  peers_.clear();
  until([&] { return store_->tree().find("/brokers/ids/0") == nullptr; });
  EXPECT_TRUE(controller_->cluster().brokers.empty());
}

TEST_F(ServiceTest, MessagesLargerThanARingGoBothWays) {
  Peer& broker = connect(ipc::Role::broker);
  until([&] { return broker.updates == 1; });
  kafka::CreateTopicsRequest many{.topics = {}, .timeout_ms = 30000, .validate_only = true};
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("topic-" + std::string(200, 'x') + std::to_string(i));
  for (const std::string& name : names)
    many.topics.push_back({.name = name, .num_partitions = 1, .replication_factor = 1});
  broker.forward(7, many, 7);
  until([&] { return broker.replies.contains(7); });
  EXPECT_GT(broker.replies.at(7).size(), 1'000'000u);  // 1000 times all settings
}

TEST_F(ServiceTest, AClientThatBreaksTheProtocolLosesItsSessionAndNobodyElseDoes) {
  Peer& broker = connect(ipc::Role::broker);
  Peer& odd = connect(ipc::Role::groupcoord);
  until([&] { return broker.updates == 1 && odd.is_welcome; });
  odd.send(static_cast<std::uint32_t>(ControlType::welcome), as_bytes("x"));
  until([&] { return odd.is_closed; });
  broker.forward(1, kafka::AllocateProducerIdsRequest{.broker_id = 0, .broker_epoch = broker.epoch}, 0);
  until([&] { return broker.replies.contains(1); });
  EXPECT_FALSE(broker.is_closed);
}

TEST_F(ServiceTest, StopsWhenTheStoreHasAnsweredEverything) {
  const Peer& broker = connect(ipc::Role::broker);
  until([&] { return broker.updates == 1; });
  EXPECT_FALSE(service_->stopped());
  service_->stop();
  until([&] { return service_->stopped(); });
  EXPECT_TRUE(service_->failure().empty());
}

}  // namespace
}  // namespace tailrace::zkbridge
