// Forwarder: requests that another process answers (topic administration: zkbridge; groups, transactions and producer
// ids: groupcoord) go there as received and come back as answers. Without a session a request waits a little for one; a
// request that was on its way when its session broke, or that gets no answer in time, may have been carried out, and is
// answered with an error that makes clients look and retry. What comes after that is dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/io/timers.h"
#include "engine/ipc/message_channel.h"
#include "services/broker/node_state.h"
#include "services/broker/request.h"
#include "services/broker/unavailable.h"

namespace tailrace::broker {

class Forwarder {
 public:
  // `answer` gets the response frame: header and body.
  using Answer = std::function<void(std::expected<Bytes, Unanswered> response)>;

  // As long as Kafka's brokers wait for the controller (BrokerServer, the forwarding channel's retryTimeoutMs): making
  // many topics may take its time.
  static constexpr Duration kAdministrationMax = std::chrono::seconds(60);
  // Coordinators answer soon or say that they cannot; producers ask again after 30 s (request.timeout.ms).
  // Those that join a group wait for its other members instead: as long as these may take.
  static constexpr Duration kCoordinationMax = std::chrono::seconds(25);

  // `answer_max`: an answer that takes longer is not waited for.
  Forwarder(NodeState& node, Duration answer_max);
  ~Forwarder();

  // The session, once it is ready to take requests; null when it broke. The owner keeps it alive meanwhile.
  void use(ipc::MessageChannel* channel);

  // A client's request; answered through it.
  void forward(Request& request);
  // A request of our own: header and body.
  void forward(Bytes frame, Answer answer);
  void on_reply(std::uint64_t number, Bytes response);
  // The same with an error that the other process leaves to us to put into words.
  void on_error(std::uint64_t number, std::int16_t error);

 private:
  struct Waiting {
    std::uint64_t number = 0;
    std::vector<std::byte> prefix;
    std::vector<std::byte> frame;
    Instant until;
  };
  void forward(Bytes frame, std::string_view host, bool is_limited, Answer answer);
  void finish(std::uint64_t number, std::expected<Bytes, Unanswered> response);
  void on_timer();
  void arm_timer();

  NodeState& node_;
  ipc::MessageChannel* channel_ = nullptr;
  std::uint64_t next_number_ = 1;
  Duration answer_max_;
  std::map<std::uint64_t, Answer> in_flight_;             // sent or waiting
  std::deque<std::pair<Instant, std::uint64_t>> limits_;  // until when, in order; also of what has been answered
  std::deque<Waiting> waiting_;                           // for a session
  io::Timer timer_;
};

}  // namespace tailrace::broker
