// Requests of any kind to the real broker, over simulated connections, with the real engine behind it: whatever comes,
// the broker lives, answers what can be answered with a sound response of the version asked for, in order, and ends
// the connection otherwise.
//
// The input is a sequence of requests: api key, version, two bytes of length (little-endian), body. The topics are
// topic0 to topic2, their ids are 16 times the bytes 1, 2, 3. A node serves some thousand inputs, one connection each.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/check.h"
#include "fuzz/history.h"
#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"
#include "services/kafka/message_types.h"
#include "tests/sim/broker_process.h"
#include "tests/sim/controller.h"
#include "tests/sim/engine_process.h"

namespace {

using namespace tailrace;
using namespace tailrace::sim;

constexpr int kInputsPerNode = 2000;
constexpr std::size_t kRequestsMax = 16;
constexpr std::size_t kTopics = 3;
constexpr std::uint64_t kEventsMax = 200'000;  // of one input: far more than any needs
constexpr std::size_t kFrameMax = 100 << 20;
// A request that asks for a long wait is left alone then.
constexpr Duration kPatience{2'000'000};

struct Asked {
  std::int16_t key = 0;
  std::int16_t version = 0;
  std::int32_t correlation_id = 0;
};

void check_answer(const Asked& asked, Bytes frame) {
  // A version that ApiVersions has not is answered in version 0.
  const kafka::Api* const versions = kafka::find_api(kafka::api_key::kApiVersions);
  const bool is_known = asked.version >= versions->advertised_min && asked.version <= versions->advertised_max;
  const std::int16_t version = asked.key == kafka::api_key::kApiVersions && !is_known ? std::int16_t{0} : asked.version;
  std::int32_t correlation_id = 0;
  std::size_t body_at = 0;
  CHECK(
      kafka::decode_response_header(frame, kafka::response_header_version(asked.key, version), correlation_id, body_at)
          .has_value());
  CHECK(correlation_id == asked.correlation_id);
  const kafka::MessageType* const type = kafka::find_message_type(asked.key, kafka::MessageKind::response);
  CHECK(type != nullptr);
  const Bytes body = frame.subspan(body_at);
  kafka::Buffer again;
  std::size_t used = 0;
  CHECK(type->recode(body, version, used, again).has_value());
  CHECK(used == body.size());
}

// A client that sends what it is given, and reads.
class Requester final : public Process {
 public:
  explicit Requester(Surroundings& around) : Process(around, "requester"), size_(4) {
    sent_.bind<&Requester::on_sent>(this);
    received_size_.bind<&Requester::on_size>(this);
    received_frame_.bind<&Requester::on_frame>(this);
  }
  void start(std::vector<std::byte> bytes, std::deque<Asked> asked) {
    bytes_ = std::move(bytes);
    asked_ = std::move(asked);
    socket_ = io().connect(BrokerProcess::kPort);
    CHECK(socket_);
    is_over_ = false;
    io().send(socket_, bytes_, false, sent_);
    io().receive(socket_, size_, received_size_);
    wake();
  }
  [[nodiscard]] bool is_over() const { return is_over_ && !sent_.pending; }
  [[nodiscard]] bool is_idle() const { return !sent_.pending && !received_size_.pending && !received_frame_.pending; }
  void end() {
    if (socket_) io().shutdown(socket_);
    wake();
  }
  void forget() {
    io().close(socket_);
    socket_ = {};
  }

 private:
  bool step() override { return false; }
  void on_sent(std::int64_t) {}
  void on_size(std::int64_t result) {
    if (result != 4) {
      is_over_ = true;
      return;
    }
    const auto size = load_big_endian<std::uint32_t>(size_.data());
    CHECK(size >= 4 && size <= kFrameMax);
    frame_.resize(size);
    io().receive(socket_, frame_, received_frame_);
  }
  void on_frame(std::int64_t result) {
    if (result != static_cast<std::int64_t>(frame_.size())) {
      is_over_ = true;
      return;
    }
    // Produce with acks=0 has no answer: the one that came is of a later request.
    const auto correlation_id = load_big_endian<std::int32_t>(frame_.data());
    while (!asked_.empty() && asked_.front().correlation_id != correlation_id) {
      CHECK(asked_.front().key == kafka::api_key::kProduce);
      asked_.pop_front();
    }
    CHECK(!asked_.empty());
    check_answer(asked_.front(), frame_);
    asked_.pop_front();
    if (asked_.empty()) {
      is_over_ = true;
      return;
    }
    io().receive(socket_, size_, received_size_);
  }

  io::Socket socket_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> size_;
  std::vector<std::byte> frame_;
  std::deque<Asked> asked_;
  bool is_over_ = false;
  io::Completion sent_;
  io::Completion received_size_;
  io::Completion received_frame_;
};

Plan calm_plan(Random& random) {
  Plan plan(random);
  plan.durable = true;
  plan.raises_epochs = plan.deletes_topics = false;
  plan.segment_bytes = 1 << 20;
  plan.index_interval_bytes = 4096;
  plan.segment_ms = 1'000'000;
  plan.ring_bytes = 1 << 18;
  return plan;
}

server::Settings settings() {
  server::Settings settings;
  settings.data_directory = "/data";
  return settings;
}

class Node {
 public:
  Node()
      : schedule_(1, false),
        plan_(calm_plan(schedule_.random)),
        disk_(schedule_.random),
        network_(schedule_),
        around_{schedule_, disk_, network_},
        history_(schedule_, true, true),
        stage_{plan_, history_, slots_} {
    std::string name;
    const std::shared_ptr<Inode> root = disk_.parent_of("/data", name);
    disk_.change_names(*root, {{{name, std::make_shared<Inode>(disk_, true)}}});
    for (std::size_t i = 0; i < kTopics; ++i) {
      Slot slot;
      slot.topic = "topic" + std::to_string(i);
      slot.topic_id.bytes.fill(static_cast<std::uint8_t>(i + 1));
      slots_.push_back(slot);
    }
    engine_ = std::make_unique<EngineProcess>(around_, settings());
    CHECK(engine_->load().has_value());
    run_until([this] { return !engine_->is_loading(); });
    control_ = std::make_unique<ClientProcess>(around_, stage_, "control", 4);
    control_->actors().push_back(std::make_unique<Controller>(*control_));
    broker_ = std::make_unique<BrokerProcess>(around_, stage_);
    connect(*control_);
    connect(*broker_);
    run_until([this] { return std::ranges::all_of(slots_, [](const Slot& slot) { return slot.has_role; }); });
    stage_.healed = true;
    requester_ = std::make_unique<Requester>(around_);
  }
  ~Node() {
    requester_->io().abandon();
    broker_->io().abandon();
    control_->io().abandon();
    engine_->io().abandon();
  }

  void serve(std::vector<std::byte> bytes, std::deque<Asked> asked) {
    requester_->start(std::move(bytes), std::move(asked));
    const Instant patience = schedule_.now() + kPatience;
    run_until([&] { return requester_->is_over() || schedule_.now() >= patience; });
    requester_->end();
    run_until([&] { return requester_->is_idle(); });
    requester_->forget();
    CHECK(!schedule_.violation().has_value());
  }

 private:
  template <class Client>
  void connect(Client& client) {
    SimLink::Pair pair =
        SimLink::make(schedule_, client.side(), engine_->side(), plan_.ring_bytes, client.arena_memory());
    engine_->add_session(std::move(pair.server));
    client.use_link(std::move(pair.client));
  }
  template <class Condition>
  void run_until(Condition holds) {
    const std::uint64_t last = schedule_.events_run() + kEventsMax;
    while (!holds()) {
      CHECK(schedule_.run_next());
      CHECK(schedule_.events_run() < last);
    }
  }

  Schedule schedule_;
  Plan plan_;
  Disk disk_;
  Network network_;
  Surroundings around_;
  History history_;
  std::vector<Slot> slots_;
  Stage stage_;
  std::unique_ptr<EngineProcess> engine_;
  std::unique_ptr<ClientProcess> control_;
  std::unique_ptr<BrokerProcess> broker_;
  std::unique_ptr<Requester> requester_;
};

void append_request(const Asked& asked, Bytes body, std::vector<std::byte>& to) {
  kafka::Buffer frame;
  const std::size_t start = kafka::begin_request(
      {.api_key = asked.key, .api_version = asked.version, .correlation_id = asked.correlation_id, .client_id = "fuzz"},
      frame);
  kafka::end_frame(start, frame);
  const Bytes head = frame.bytes();
  to.insert(to.end(), head.begin(), head.end());
  to.insert(to.end(), body.begin(), body.end());
  const std::size_t at = to.size() - head.size() - body.size();
  store_big_endian(to.data() + at, static_cast<std::uint32_t>(head.size() + body.size() - 4));
}

void run(fuzz::History& history, const std::uint8_t* data, std::size_t size) {
  static std::unique_ptr<Node> node;
  static int served = 0;
  Bytes left{reinterpret_cast<const std::byte*>(data), size};
  std::vector<std::byte> bytes;
  std::deque<Asked> asked;
  while (left.size() >= 4 && asked.size() < kRequestsMax) {
    const Asked one{.key = static_cast<std::int16_t>(static_cast<std::int8_t>(left[0])),
                    .version = static_cast<std::int16_t>(static_cast<std::int8_t>(left[1])),
                    .correlation_id = static_cast<std::int32_t>(asked.size() + 1)};
    const std::size_t length = std::min<std::size_t>(
        static_cast<std::size_t>(left[2]) | static_cast<std::size_t>(left[3]) << 8, left.size() - 4);
    append_request(one, left.subspan(4, length), bytes);
    asked.push_back(one);
    left = left.subspan(4 + length);
  }
  if (asked.empty()) return;
  if (node == nullptr || ++served == kInputsPerNode) {
    served = 0;
    history.clear();
    node = std::make_unique<Node>();
  }
  history.add(data, size);
  node->serve(std::move(bytes), std::move(asked));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::History history;
  history.replay([](const std::uint8_t* before, std::size_t before_size) { run(history, before, before_size); });
  run(history, data, size);
  return 0;
}
