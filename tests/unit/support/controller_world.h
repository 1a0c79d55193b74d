// World: a controller over a tree in memory, with brokers that answer, for tests that tell it what happens and look at
// what it does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"
#include "services/kafka/messages/create_topics.h"
#include "services/kafka/messages/delete_topics.h"
#include "services/kafka/messages/internal.h"
#include "services/kafka/messages/leader_and_isr.h"
#include "services/kafka/messages/stop_replica.h"
#include "services/kafka/messages/update_metadata.h"
#include "services/zkbridge/controller.h"
#include "services/zkbridge/tree.h"

namespace tailrace::zkbridge {

using kafka::ErrorCode;
using node::ControlType;

constexpr ClientId kBroker = 1;
constexpr ClientId kCoordinator = 2;

inline node::Config config_of(std::string_view text) {
  const auto config = node::make_config({}, text);
  EXPECT_TRUE(config.has_value()) << config.error();
  return config ? *config : node::Config{};
}

// A message as it was sent, with its frame in one piece.
struct Sent {
  ClientId client = 0;
  ControlType type = ControlType::welcome;
  std::uint64_t number = 0;
  std::vector<std::byte> bytes;

  template <class M>
  M body_of_request() const {
    kafka::RequestHeader header;
    std::size_t body_at = 0;
    EXPECT_TRUE(kafka::decode_request_header(bytes, header, body_at));
    EXPECT_EQ(header.api_key, M::kMessage.api_key);
    auto message = kafka::decode_exactly<M>(Bytes(bytes).subspan(body_at), header.api_version);
    EXPECT_TRUE(message.has_value());
    return message ? *message : M{};
  }
  template <class M>
  M body_of_response(std::int16_t version) const {
    std::int32_t correlation_id = 0;
    std::size_t body_at = 0;
    EXPECT_TRUE(kafka::decode_response_header(bytes, kafka::response_header_version(M::kMessage.api_key, version),
                                              correlation_id, body_at));
    EXPECT_EQ(correlation_id, 77);
    auto message = kafka::decode_exactly<M>(Bytes(bytes).subspan(body_at), version);
    EXPECT_TRUE(message.has_value());
    return message ? *message : M{};
  }
  std::int16_t key() const {
    kafka::RequestHeader header;
    std::size_t body_at = 0;
    EXPECT_TRUE(kafka::decode_request_header(bytes, header, body_at));
    return header.api_key;
  }
};

template <class M>
std::vector<std::byte> request_frame(const M& message, std::int16_t version) {
  kafka::Buffer to;
  kafka::encode_request_header(
      {.api_key = M::kMessage.api_key, .api_version = version, .correlation_id = 77, .client_id = "t"}, to);
  kafka::encode(message, version, to);
  return {to.bytes().begin(), to.bytes().end()};
}

template <class M>
std::vector<std::byte> response_frame_of(const M& message, std::int16_t version) {
  kafka::Buffer to;
  kafka::encode_response_header(1, kafka::response_header_version(M::kMessage.api_key, version), to);
  kafka::encode(message, version, to);
  return {to.bytes().begin(), to.bytes().end()};
}

// A controller over a tree in memory. The store answers at once unless held; brokers answer what they are told unless
// told not to.
class World {
 public:
  node::Config config = config_of("");
  Tree tree;
  std::int64_t session = 1;
  std::vector<Sent> sent;  // everything, in order
  std::vector<std::string> notes;
  std::string fatal;
  std::string refusal;
  bool store_held = false;
  bool store_full = false;
  std::size_t nodes_max = SIZE_MAX;  // with so many nodes the store is full, too
  bool brokers_answer = true;
  std::int16_t broker_error = 0;  // in the broker's answers, for each partition
  Moment moment{Instant{0}, 1795957069475};
  std::unique_ptr<Controller> controller;
  FoundData found;
  std::string cluster_id;
  std::uint64_t chance = 0;

  void start(BrokerId id = 1) {
    // A new process: a new session, and what the store had not answered is not heard of.
    tree.end_sessions_but(++session);
    held_.clear();
    ControllerOptions options;
    options.node_id = id;
    options.config = &config;
    options.cluster_id = cluster_id;
    options.found = found;
    options.chance = [this] { return chance += 0x9E3779B97F4A7C15u; };
    controller = std::make_unique<Controller>(std::move(options));
    run(controller->start());
  }
  void hello(ClientId client, bool is_broker = true) {
    kafka::NodeRegistrationRequest request;
    if (is_broker) request.endpoints.push_back({.listener = "PLAINTEXT", .host = "localhost", .port = 24012});
    kafka::Buffer to;
    kafka::encode(request, 0, to);
    run(controller->on_hello(client, to.bytes(), moment));
  }
  void start_with_broker() {
    start();
    hello(kBroker);
    sent.clear();
  }
  template <class M>
  void forward(const M& message, std::int16_t version, std::uint64_t number = 5, ClientId client = kBroker) {
    run(controller->on_forward(client, number, request_frame(message, version), moment));
  }
  void pass_time(Duration duration) {
    moment.now = moment.now + duration;
    run(controller->on_time(moment));
  }
  void gone(ClientId client) { run(controller->on_client_gone(client, moment)); }
  void release_store() {
    store_held = false;
    for (auto& request : std::exchange(held_, {})) serve(std::move(request));
  }
  void drop_held() { held_.clear(); }
  void answer(const Sent& control) {
    const std::int16_t key = control.key();
    std::vector<std::byte> frame;
    if (key == kafka::api_key::kLeaderAndIsr) {
      kafka::LeaderAndIsrResponse response;
      const auto request = control.body_of_request<kafka::LeaderAndIsrRequest>();
      for (const auto& topic : request.topic_states) {
        auto& errors = response.topics.emplace_back();
        errors.topic_id = topic.topic_id;
        for (const auto& state : topic.partition_states) {
          errors.partition_errors.push_back({.partition_index = state.partition_index, .error_code = broker_error});
        }
      }
      frame = response_frame_of(response, 7);
    } else if (key == kafka::api_key::kStopReplica) {
      kafka::StopReplicaResponse response;
      const auto request = control.body_of_request<kafka::StopReplicaRequest>();
      for (const auto& topic : request.topic_states) {
        for (const auto& state : topic.partition_states) {
          response.partition_errors.push_back(
              {.topic_name = topic.topic_name, .partition_index = state.partition_index, .error_code = broker_error});
        }
      }
      frame = response_frame_of(response, 4);
    } else {
      frame = response_frame_of(kafka::UpdateMetadataResponse{}, 8);
    }
    run(controller->on_control_reply(control.client, control.number, frame));
  }

  std::vector<Sent> of_type(ControlType type) const {
    std::vector<Sent> some;
    for (const Sent& each : sent) {
      if (each.type == type) some.push_back(each);
    }
    return some;
  }
  std::vector<Sent> controls(std::int16_t key) const {
    std::vector<Sent> some;
    for (const Sent& each : of_type(ControlType::control)) {
      if (each.key() == key) some.push_back(each);
    }
    return some;
  }
  // What was sent, as one word each: "config", "leader-and-isr", "metadata", "stop", "reply", "welcome".
  std::string story() const {
    std::string words;
    for (const Sent& each : sent) {
      if (!words.empty()) words += ' ';
      if (each.type == ControlType::welcome) words += "welcome";
      if (each.type == ControlType::config_image) words += "config";
      if (each.type == ControlType::forward_reply) words += "reply";
      if (each.type != ControlType::control) continue;
      const std::int16_t key = each.key();
      words += key == kafka::api_key::kLeaderAndIsr  ? "leader-and-isr"
               : key == kafka::api_key::kStopReplica ? "stop"
                                                     : "metadata";
    }
    return words;
  }
  template <class M>
  M reply(std::int16_t version) const {
    const std::vector<Sent> replies = of_type(ControlType::forward_reply);
    EXPECT_EQ(replies.size(), 1u);
    replies_ = replies;  // what the message's views point into
    return replies.empty() ? M{} : replies_.back().body_of_response<M>(version);
  }
  std::string data(const std::string& path) const {
    const Tree::Node* const node = tree.find(path);
    return node == nullptr ? "<none>" : node->data.value_or("<null>");
  }
  bool has(const std::string& path) const { return tree.find(path) != nullptr; }

  void run(Effects effects) {
    for (std::string& note : effects.notes) notes.push_back(std::move(note));
    if (!effects.refusal.empty()) {
      refusal = effects.refusal;
      return;
    }
    if (!effects.fatal.empty()) {
      fatal = effects.fatal;
      return;
    }
    std::vector<Sent> to_answer;
    for (const Effects::Message& message : effects.messages) {
      sent.push_back({message.client, message.type, message.number.value_or(0), {}});
      sent.back().bytes.assign(message.bytes.bytes().begin(), message.bytes.bytes().end());
      if (message.type == ControlType::control) to_answer.push_back(sent.back());
    }
    for (Effects::StoreRequest& request : effects.store) {
      if (store_held) {
        held_.push_back(std::move(request));
      } else {
        serve(std::move(request));
      }
    }
    if (!brokers_answer) return;
    for (const Sent& control : to_answer) answer(control);
  }

 private:
  void serve(Effects::StoreRequest request) {
    StoreResult result;
    result.id = request.id;
    if (const auto* get = std::get_if<Get>(&request.request)) {
      const Tree::Node* const node = tree.find(get->path);
      if (node == nullptr) result.code = StoreCode::no_node;
      if (node != nullptr) result.node = {get->path, node->data, node->stat};
    } else if (const auto* get_tree = std::get_if<GetTree>(&request.request)) {
      result.tree = tree.below(get_tree->path);
      if (result.tree.empty()) result.code = StoreCode::no_node;
    } else if (const auto* multi = std::get_if<Multi>(&request.request)) {
      const auto made = static_cast<std::size_t>(std::ranges::count_if(
          multi->operations, [](const Operation& each) { return std::holds_alternative<Create>(each); }));
      if (store_full || (made > 0 && tree.size() + made > nodes_max)) {
        result.code = StoreCode::no_space;
      } else {
        const Transaction transaction{zxid_ + 1, moment.wall_ms, session, multi->operations};
        result.code = tree.apply(transaction, result.operations);
        if (result.code == StoreCode::ok) ++zxid_;
      }
    }
    run(controller->on_store_result(std::move(result), moment));
  }

  std::vector<Effects::StoreRequest> held_;
  std::int64_t zxid_ = 0;
  mutable std::vector<Sent> replies_;
};

using CreateTopics = kafka::CreateTopicsRequest;

inline CreateTopics::CreatableTopic wish(std::string_view name, std::int32_t partitions = 1, std::int16_t factor = 1) {
  return {.name = name, .num_partitions = partitions, .replication_factor = factor};
}
inline CreateTopics creating(std::vector<CreateTopics::CreatableTopic> topics) {
  return {.topics = std::move(topics), .timeout_ms = 30000};
}
inline kafka::DeleteTopicsRequest deleting(std::vector<std::string_view> names) {
  return {.topic_names = std::move(names), .timeout_ms = 30000};
}

}  // namespace tailrace::zkbridge
