// Requests of any kind to the controller over a store in memory, with a broker that does what it is told: each is
// answered once, with a sound response of the version asked for, or cut off; and a controller that starts on what is
// then in the store takes it, and has the same cluster.
//
// The input is that of broker_fuzz.cc: api key, version, two bytes of length (little-endian), body. The topics are
// topic0 to topic2, as long as nobody deletes them. A world serves some inputs, each with a controller of its own.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "services/kafka/message_types.h"
#include "tests/unit/support/controller_world.h"

namespace {

using namespace tailrace;
using namespace tailrace::zkbridge;

constexpr std::size_t kRequestsMax = 16;
constexpr int kInputsPerWorld = 16;  // one after the other; what one leaves the next one finds
constexpr std::int32_t kCorrelationId = 77;

struct Asked {
  std::int16_t key = 0;
  std::int16_t version = 0;
};

void check_answer(const Asked& asked, Bytes frame) {
  if (frame.empty()) return;  // the client is cut off
  std::int32_t correlation_id = 0;
  std::size_t body_at = 0;
  const std::int16_t header_version = kafka::response_header_version(asked.key, asked.version);
  CHECK(kafka::decode_response_header(frame, header_version, correlation_id, body_at).has_value());
  CHECK(correlation_id == kCorrelationId);
  const kafka::MessageType* const type = kafka::find_message_type(asked.key, kafka::MessageKind::response);
  CHECK(type != nullptr);
  kafka::Buffer again;
  std::size_t used = 0;
  CHECK(type->recode(frame.subspan(body_at), asked.version, used, again).has_value());
  CHECK(used == frame.size() - body_at);
}

std::vector<std::byte> request_of(const Asked& asked, Bytes body) {
  kafka::Buffer to;
  kafka::encode_request_header(
      {.api_key = asked.key, .api_version = asked.version, .correlation_id = kCorrelationId, .client_id = "fuzz"}, to);
  to.append(body);
  return {to.bytes().begin(), to.bytes().end()};
}

bool is_same(const Topic& a, const Topic& b) {
  return a.id == b.id && a.configs == b.configs && a.version == b.version &&
         std::ranges::equal(a.partitions, b.partitions, [](const PartitionState& x, const PartitionState& y) {
           return x.replicas == y.replicas && x.isr == y.isr && x.leader == y.leader &&
                  x.leader_epoch == y.leader_epoch && x.version == y.version;
         });
}

void check_same(const Cluster& before, const Cluster& after) {
  CHECK(before.id == after.id);
  CHECK(std::ranges::equal(before.topics, after.topics, [](const auto& a, const auto& b) {
    return a.first == b.first && is_same(a.second, b.second);
  }));
  CHECK(before.topic_names == after.topic_names);
  CHECK(before.broker_configs == after.broker_configs);
  CHECK(before.client_metrics == after.client_metrics);
  CHECK(before.client_configs == after.client_configs);
  CHECK(before.next_producer_id == after.next_producer_id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  GTEST_FLAG_SET(break_on_failure, true);  // the world checks by its words
  static std::unique_ptr<World> kept;
  static int served = 0;
  if (kept == nullptr || ++served == kInputsPerWorld) {
    served = 0;
    kept = std::make_unique<World>();
    kept->start_with_broker();
    kept->forward(creating({wish("topic0"), wish("topic1", 3), wish("topic2")}), 7);
  }
  World& world = *kept;
  world.sent.clear();

  Bytes left{reinterpret_cast<const std::byte*>(data), size};
  std::vector<Asked> asked;
  while (left.size() >= 4 && asked.size() < kRequestsMax) {
    const Asked one{.key = static_cast<std::int16_t>(static_cast<std::int8_t>(left[0])),
                    .version = static_cast<std::int16_t>(static_cast<std::int8_t>(left[1]))};
    const std::size_t length = std::min<std::size_t>(
        static_cast<std::size_t>(left[2]) | static_cast<std::size_t>(left[3]) << 8, left.size() - 4);
    asked.push_back(one);
    world.run(
        world.controller->on_forward(kBroker, asked.size(), request_of(one, left.subspan(4, length)), world.moment));
    left = left.subspan(4 + length);
  }
  // Whatever waits, waits no longer.
  world.pass_time(std::chrono::hours(1000));
  CHECK(world.fatal.empty() && world.refusal.empty());

  std::map<std::uint64_t, int> answers;
  for (const Sent& each : world.of_type(ControlType::forward_reply)) {
    CHECK(each.number >= 1 && each.number <= asked.size());
    CHECK(++answers[each.number] == 1);
    check_answer(asked[each.number - 1], each.bytes);
  }
  CHECK(answers.size() == asked.size());

  const Cluster before = world.controller->cluster();
  world.start_with_broker();
  CHECK(world.fatal.empty() && world.refusal.empty());
  check_same(before, world.controller->cluster());
  return 0;
}
