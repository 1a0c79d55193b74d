#include "services/broker/forwarder.h"

#include <utility>

#include "services/broker/unavailable.h"
#include "services/node/control.h"

namespace tailrace::broker {
namespace {

// How long a request waits for a process that is being restarted; clients' own time-outs are 30 s and more.
constexpr Duration kPatience = std::chrono::seconds(10);

}  // namespace

Forwarder::Forwarder(NodeState& node) : node_(node) { timer_.bind<&Forwarder::on_timer>(this); }

Forwarder::~Forwarder() { node_.io.disarm(timer_); }

void Forwarder::use(ipc::MessageChannel* channel) {
  channel_ = channel;
  if (channel_ == nullptr) {
    std::vector<std::uint64_t> lost;
    for (const auto& [number, answer] : in_flight_) lost.push_back(number);
    for (const Waiting& each : waiting_) std::erase(lost, each.number);
    for (const std::uint64_t number : lost) fail(number);
    return;
  }
  std::deque<Waiting> waiting;
  waiting.swap(waiting_);
  for (const Waiting& each : waiting) {
    channel_->send(static_cast<std::uint32_t>(node::ControlType::forward),
                   {node::frame_number(each.number), each.frame});
  }
}

void Forwarder::forward(Request& request) {
  forward(request.frame, [&request](Bytes response) {
    if (response.empty()) return answer_unavailable(request);
    request.response.clear();
    const auto size = static_cast<std::int32_t>(response.size());
    store_big_endian(request.response.extend(sizeof size), size);
    request.response.append(response);
    request.finish();
  });
}

void Forwarder::forward(Bytes frame, Answer answer) {
  const std::uint64_t number = next_number_++;
  in_flight_[number] = std::move(answer);
  if (channel_ != nullptr) {
    channel_->send(static_cast<std::uint32_t>(node::ControlType::forward), {node::frame_number(number), frame});
    return;
  }
  waiting_.push_back({number, {frame.begin(), frame.end()}, node_.io.now() + kPatience});
  if (!timer_.armed()) node_.io.arm(timer_, waiting_.front().until);
}

void Forwarder::on_reply(std::uint64_t number, Bytes response) {
  const auto found = in_flight_.find(number);
  if (found == in_flight_.end()) return;
  const Answer answer = std::move(found->second);
  in_flight_.erase(found);
  answer(response);
}

void Forwarder::fail(std::uint64_t number) { on_reply(number, {}); }

void Forwarder::on_timer() {
  while (!waiting_.empty() && waiting_.front().until <= node_.io.now()) {
    const std::uint64_t number = waiting_.front().number;
    waiting_.pop_front();
    fail(number);
  }
  if (!waiting_.empty()) node_.io.arm(timer_, waiting_.front().until);
}

}  // namespace tailrace::broker
