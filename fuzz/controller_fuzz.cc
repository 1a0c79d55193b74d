// Requests of any kind to the controller over a store in memory, with a broker that does what it is told: each is
// answered once, with a sound response of the version asked for, or cut off; and a controller that starts on what is
// then in the store takes it, and has the same cluster. Requests that would make more than a hundred partitions are
// left out: they bring no other paths, and the thousands of nodes that are prepared before the store refuses them take
// longer than a thousand other inputs.
//
// The input is that of broker_fuzz.cc: api key, version, two bytes of length (little-endian), body. The topics are
// topic0 to topic2, as long as nobody deletes them. A world serves many inputs; every few of them, and with the last
// one, another controller takes over. The store is small: most of an input's time would go into its thousandth node.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "fuzz/history.h"
#include "services/kafka/codec.h"
#include "services/kafka/message_types.h"
#include "services/kafka/messages/create_partitions.h"
#include "services/kafka/messages/create_topics.h"
#include "services/zkbridge/topic_plans.h"
#include "tests/unit/support/controller_world.h"

namespace {

using namespace tailrace;
using namespace tailrace::zkbridge;

constexpr std::size_t kRequestsMax = 16;
constexpr int kInputsPerWorld = 1000;  // one after the other; what one leaves the next one finds
constexpr int kInputsPerController = 64;
constexpr std::size_t kNodesMax = 500;          // of the store: then it is full
constexpr std::size_t kNodesPerWorldMax = 250;  // with more a new world begins
constexpr std::int64_t kPauseMs = 300'000;      // between two inputs
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

// More than the controller takes is refused at once.
bool makes_many_partitions(const Asked& asked, Bytes body) {
  const auto is_many = [](std::int64_t count) { return count > 100 && count <= 2 * kNewPartitionsMax; };
  if (asked.key == kafka::CreateTopicsRequest::kMessage.api_key) {
    const auto request = kafka::decode<kafka::CreateTopicsRequest>(body, asked.version);
    return request &&
           std::ranges::any_of(request->topics, [&](const auto& topic) { return is_many(topic.num_partitions); });
  }
  if (asked.key == kafka::CreatePartitionsRequest::kMessage.api_key) {
    const auto request = kafka::decode<kafka::CreatePartitionsRequest>(body, asked.version);
    return request && std::ranges::any_of(request->topics, [&](const auto& topic) { return is_many(topic.count); });
  }
  return false;
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
  CHECK(before.group_configs == after.group_configs);
  CHECK(before.client_configs == after.client_configs);
  CHECK(before.next_producer_id == after.next_producer_id);
}

// The cluster is then what the controller before knew.
void replace_controller(World& world) {
  const Cluster before = world.controller->cluster();
  world.nodes_max = SIZE_MAX;  // a controller that cannot even register its broker ends
  world.start_with_broker();
  CHECK(world.fatal.empty() && world.refusal.empty());
  check_same(before, world.controller->cluster());
}

void serve(World& world, Bytes left) {
  world.sent.clear();
  world.notes.clear();
  world.nodes_max = kNodesMax;
  std::vector<Asked> asked;
  while (left.size() >= 4 && asked.size() < kRequestsMax) {
    const Asked one{.key = static_cast<std::int16_t>(static_cast<std::int8_t>(left[0])),
                    .version = static_cast<std::int16_t>(static_cast<std::int8_t>(left[1]))};
    const std::size_t length = std::min<std::size_t>(
        static_cast<std::size_t>(left[2]) | static_cast<std::size_t>(left[3]) << 8, left.size() - 4);
    const Bytes body = left.subspan(4, length);
    left = left.subspan(4 + length);
    if (makes_many_partitions(one, body)) continue;
    asked.push_back(one);
    world.run(world.controller->on_forward(kBroker, asked.size(), request_of(one, body), world.moment));
  }
  // Whatever waits, waits no longer, and notices of changed settings grow old.
  world.moment.wall_ms += kPauseMs;
  world.pass_time(std::chrono::hours(1000));
  CHECK(world.fatal.empty() && world.refusal.empty());

  std::map<std::uint64_t, int> answers;
  for (const Sent& each : world.sent) {
    if (each.type != ControlType::forward_reply) continue;
    CHECK(each.number >= 1 && each.number <= asked.size());
    CHECK(++answers[each.number] == 1);
    check_answer(asked[each.number - 1], each.bytes);
  }
  CHECK(answers.size() == asked.size());
}

void run(fuzz::History& history, const std::uint8_t* data, std::size_t size) {
  static std::unique_ptr<World> world;
  static int served = 0;
  if (world == nullptr) {
    served = 0;
    history.clear();
    world = std::make_unique<World>();
    world->start_with_broker();
    world->forward(creating({wish("topic0"), wish("topic1", 3), wish("topic2")}), 7);
  }
  history.add(data, size);
  serve(*world, {reinterpret_cast<const std::byte*>(data), size});
  const bool is_last = ++served == kInputsPerWorld || world->tree.size() > kNodesPerWorldMax;
  if (is_last || served % kInputsPerController == 0) replace_controller(*world);
  if (is_last) world.reset();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::History history;
  static const bool is_set_up = [] {
    GTEST_FLAG_SET(break_on_failure, true);  // the world checks by its words
    return true;
  }();
  CHECK(is_set_up);
  history.replay([](const std::uint8_t* before, std::size_t before_size) { run(history, before, before_size); });
  run(history, data, size);
  return 0;
}
