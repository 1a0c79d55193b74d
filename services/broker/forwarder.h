// Forwarder: requests that another process answers (topic administration: zkbridge; groups, transactions and producer
// ids: groupcoord) go there as received and come back as answers. Without a session a request waits a little for one; a
// request that was on its way when its session broke may have been carried out, and is answered with an error that
// makes clients look and retry.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/io/timers.h"
#include "engine/ipc/message_channel.h"
#include "services/broker/node_state.h"
#include "services/broker/request.h"

namespace tailrace::broker {

class Forwarder {
 public:
  // `answer` gets the response frame (header and body), or nothing when the other process is not to be reached.
  using Answer = std::function<void(Bytes response)>;

  explicit Forwarder(NodeState& node);
  ~Forwarder();

  // The session, once it is ready to take requests; null when it broke. The owner keeps it alive meanwhile.
  void use(ipc::MessageChannel* channel);

  // A client's request; answered through it.
  void forward(Request& request);
  // A request of our own: header and body.
  void forward(Bytes frame, Answer answer);
  void on_reply(std::uint64_t number, Bytes response);

 private:
  struct Waiting {
    std::uint64_t number = 0;
    std::vector<std::byte> frame;
    Instant until;
  };
  void fail(std::uint64_t number);
  void on_timer();

  NodeState& node_;
  ipc::MessageChannel* channel_ = nullptr;
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, Answer> in_flight_;  // sent or waiting
  std::deque<Waiting> waiting_;                // for a session
  io::Timer timer_;
};

}  // namespace tailrace::broker
