#include "services/broker/forwarder.h"

#include <algorithm>
#include <utility>

#include "engine/base/observe.h"
#include "services/broker/connection.h"
#include "services/kafka/message_types.h"
#include "services/node/control.h"

namespace tailrace::broker {
namespace {

// How long a request waits for a process that is being restarted; clients' own time-outs are 30 s and more.
constexpr Duration kPatience = std::chrono::seconds(10);
constexpr std::size_t kSizeBytes = 4;

// An answer of another process knows nothing of quotas: where it begins with the time that its client is throttled, we
// write it there.
void tell_throttle(Request& request) {
  const std::int32_t throttle_ms = request.settle_throttle();
  if (throttle_ms == 0) return;
  const std::int16_t version = request.header.api_version;
  const kafka::MessageType* const type = kafka::find_message_type(request.header.api_key, kafka::MessageKind::response);
  if (type == nullptr || !type->begins_with_throttle_time(version)) return;
  const Bytes frame = request.response.bytes().subspan(kSizeBytes);
  std::int32_t correlation_id = 0;
  std::size_t body_at = 0;
  const std::int16_t header_version = kafka::response_header_version(request.header.api_key, version);
  if (!kafka::decode_response_header(frame, header_version, correlation_id, body_at)) return;
  if (frame.size() < body_at + sizeof throttle_ms) return;
  std::byte* const at = request.response.data() + kSizeBytes + body_at;
  store_big_endian(at, std::max(load_big_endian<std::int32_t>(at), throttle_ms));
}

}  // namespace

Forwarder::Forwarder(NodeState& node, Duration answer_max) : node_(node), answer_max_(answer_max) {
  timer_.bind<&Forwarder::on_timer>(this);
}

Forwarder::~Forwarder() { node_.io.disarm(timer_); }

void Forwarder::use(ipc::MessageChannel* channel) {
  channel_ = channel;
  if (channel_ == nullptr) {
    std::vector<std::uint64_t> lost;
    for (const auto& [number, request] : in_flight_) lost.push_back(number);
    for (const Waiting& each : waiting_) std::erase(lost, each.number);
    for (const std::uint64_t number : lost) finish(number, std::unexpected(Unanswered::unreachable));
    return;
  }
  std::deque<Waiting> waiting;
  waiting.swap(waiting_);
  for (const Waiting& each : waiting) {
    channel_->send(static_cast<std::uint32_t>(node::ControlType::forward), {each.prefix, each.frame});
  }
}

void Forwarder::forward(Request& request) {
  const bool waits_for_others =
      request.header.api_key == kafka::api_key::kJoinGroup || request.header.api_key == kafka::api_key::kSyncGroup;
  if (waits_for_others) request.leave_arena();
  const Result<io::Address> peer = request.connection->peer_address();
  forward(request.frame, peer ? peer->host : "", !waits_for_others, [&request](auto response) {
    if (!response) return answer_unavailable(request, response.error());
    request.response.clear();
    const auto size = static_cast<std::int32_t>(response->size());
    store_big_endian(request.response.extend(sizeof size), size);
    request.response.append(*response);
    tell_throttle(request);
    request.finish();
  });
}

void Forwarder::forward(Bytes frame, Answer answer) { forward(frame, "", true, std::move(answer)); }

void Forwarder::forward(Bytes frame, std::string_view host, bool is_limited, Answer answer) {
  const std::uint64_t number = next_number_++;
  const Instant now = node_.io.now();
  in_flight_[number] = std::move(answer);
  if (is_limited) limits_.emplace_back(now + answer_max_, number);
  std::vector<std::byte> prefix = node::forwarded_prefix(number, host);
  if (channel_ != nullptr) {
    channel_->send(static_cast<std::uint32_t>(node::ControlType::forward), {prefix, frame});
  } else {
    waiting_.push_back({number, std::move(prefix), {frame.begin(), frame.end()}, now + kPatience});
  }
  arm_timer();
}

void Forwarder::on_reply(std::uint64_t number, Bytes response) {
  if (response.empty()) return finish(number, std::unexpected(Unanswered::refused));
  finish(number, response);
}

void Forwarder::on_error(std::uint64_t number, std::int16_t error) {
  finish(number, std::unexpected(Unanswered::with(error)));
}

void Forwarder::finish(std::uint64_t number, std::expected<Bytes, Unanswered> response) {
  const auto found = in_flight_.find(number);
  if (found == in_flight_.end()) return;  // it took too long, and was answered without
  const Answer answer = std::move(found->second);
  in_flight_.erase(found);
  answer(response);
}

void Forwarder::on_timer() {
  const Instant now = node_.io.now();
  while (!waiting_.empty() && waiting_.front().until <= now) {
    const std::uint64_t number = waiting_.front().number;
    waiting_.pop_front();
    finish(number, std::unexpected(Unanswered::unreachable));
  }
  bool is_late = false;
  while (!limits_.empty() && limits_.front().first <= now) {
    const std::uint64_t number = limits_.front().second;
    limits_.pop_front();
    is_late |= in_flight_.contains(number);
    finish(number, std::unexpected(Unanswered::timed_out));
  }
  if (is_late) log_warning("forwarded requests not answered seconds={}", answer_max_ / std::chrono::seconds(1));
  arm_timer();
}

// At the first of all limits of what is in flight.
void Forwarder::arm_timer() {
  while (!limits_.empty() && !in_flight_.contains(limits_.front().second)) limits_.pop_front();
  if (limits_.empty() && waiting_.empty()) return;
  Instant due = limits_.empty() ? waiting_.front().until : limits_.front().first;
  if (!waiting_.empty()) due = std::min(due, waiting_.front().until);
  if (!timer_.armed() || due < timer_.due) node_.io.arm(timer_, due);
}

}  // namespace tailrace::broker
