#include "services/broker/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/base/check.h"

namespace tailrace::broker {
namespace {

constexpr std::size_t kSizeBytes = 4;

bool is_produce(const Request& request) { return request.header.api_key == kafka::api_key::kProduce; }

}  // namespace

std::int32_t Request::settle_throttle() {
  if (is_throttle_settled) return throttle_ms;
  is_throttle_settled = true;
  throttle_ms = std::max(throttle_ms, connection->count_time(*this));
  if (throttle_ms > 0) connection->mute(throttle_ms);
  return throttle_ms;
}

void Request::throttle(std::int32_t ms) {
  if (ms <= throttle_ms) return;
  throttle_ms = ms;
  if (is_throttle_settled) connection->mute(ms);
}

void Request::leave_arena() {
  kept_frame.assign(frame.begin(), frame.end());
  frame = kept_frame;
  std::size_t body_at = 0;
  CHECK(kafka::decode_request_header(frame, header, body_at).has_value());  // as before
  body = frame.subspan(body_at);
  connection->free_chunk(*this);
}

void Request::finish() {
  CHECK(!is_done);
  settle_throttle();
  is_done = true;
  connection->on_request_done();
}

Connection::Connection(NodeState& node, ConnectionHost& host, io::Socket socket, std::size_t listener,
                       std::int64_t frame_bytes_max)
    : node_(node), host_(host), socket_(socket), listener_(listener), frame_bytes_max_(frame_bytes_max) {
  received_beginning_.bind<&Connection::on_beginning>(this);
  received_frame_.bind<&Connection::on_step>(this);
  sent_.bind<&Connection::on_sent>(this);
}

void Connection::start() {
  last_active_ = node_.io.now();
  receive_next();
}

const io::Address& Connection::local_address() {
  if (local_address_ == nullptr) {
    Result<io::Address> address = node_.io.local_address(socket_);
    local_address_ = std::make_unique<const io::Address>(address ? std::move(*address) : io::Address{});
  }
  return *local_address_;
}

// One request is read ahead at most, and only behind requests that may be in flight together.
bool Connection::may_receive() const {
  if (closing_ || finishing_ || incoming_ != nullptr || receiving_frame_ || received_beginning_.pending) return false;
  if (is_muted()) return false;
  if (in_flight_.empty()) return true;
  return in_flight_.size() < kInFlightMax && in_flight_.back()->is_dispatched && is_produce(*in_flight_.back());
}

void Connection::receive_next() {
  if (!may_receive()) return;
  if (read_ahead_bytes_ >= kSizeBytes) return begin_frame();
  node_.io.receive(socket_, std::span(read_ahead_).subspan(read_ahead_bytes_), kSizeBytes - read_ahead_bytes_,
                   received_beginning_);
}

void Connection::on_beginning(std::int64_t result) {
  if (closing_ || result <= 0) return close();
  read_ahead_bytes_ += static_cast<std::size_t>(result);
  if (read_ahead_bytes_ < kSizeBytes) return close();
  begin_frame();
}

void Connection::begin_frame() {
  const auto size = load_big_endian<std::int32_t>(read_ahead_.data());
  // "GET " and a TLS hello are such sizes, too.
  if (size < 8 || size > frame_bytes_max_) return close();
  frame_size_ = static_cast<std::uint32_t>(size);
  receiving_frame_ = true;
  const std::optional<ipc::Arena::Chunk> chunk = host_.frame_memory().allocate(frame_size_, *this);
  waits_for_room_ = !chunk;
  if (chunk) receive_frame(*chunk);
}

void Connection::receive_frame(const ipc::Arena::Chunk& chunk) {
  last_active_ = node_.io.now();
  incoming_ = host_.take_request();
  incoming_->connection = this;
  incoming_->chunk = chunk;
  const MutableBytes into = node_.arena.bytes(chunk).first(frame_size_);
  incoming_->frame = into;
  const std::size_t have = std::min<std::size_t>(read_ahead_bytes_ - kSizeBytes, frame_size_);
  std::memcpy(into.data(), read_ahead_.data() + kSizeBytes, have);
  read_ahead_bytes_ -= kSizeBytes + have;
  std::memmove(read_ahead_.data(), read_ahead_.data() + kSizeBytes + have, read_ahead_bytes_);
  received_bytes_ = have;
  receive_step();
}

// In steps, so that a frame that comes slowly but comes is told from one that does not come.
void Connection::receive_step() {
  if (received_bytes_ == frame_size_) return on_frame();
  const MutableBytes into = node_.arena.bytes(incoming_->chunk).first(frame_size_).subspan(received_bytes_);
  node_.io.receive(socket_, into, std::min(into.size(), kFrameStepBytes), received_frame_);
}

void Connection::on_step(std::int64_t result) {
  const std::size_t expected = std::min<std::size_t>(frame_size_ - received_bytes_, kFrameStepBytes);
  if (closing_ || result < static_cast<std::int64_t>(expected)) {
    receiving_frame_ = false;
    release(std::move(incoming_));
    return close();
  }
  received_bytes_ += static_cast<std::size_t>(result);
  last_active_ = node_.io.now();
  receive_step();
}

void Connection::on_room(const ipc::Arena::Chunk& chunk) {
  waits_for_room_ = false;
  receive_frame(chunk);
}

void Connection::on_frame() {
  receiving_frame_ = false;
  last_active_ = node_.io.now();
  Request& request = *incoming_;
  request.received_at = node_.io.now();
  std::size_t body_at = 0;
  if (!kafka::decode_request_header(request.frame, request.header, body_at)) {
    release(std::move(incoming_));
    return close();
  }
  request.body = request.frame.subspan(body_at);
  request.api = kafka::find_api(request.header.api_key);
  in_flight_.push_back(std::move(incoming_));
  dispatch_due();
  receive_next();
}

void Connection::dispatch_due() {
  if (is_muted()) return;
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    Request& request = *in_flight_[i];
    if (request.is_dispatched) {
      if (!is_produce(request)) return;  // alone until it is answered
      continue;
    }
    if (i != 0 && !is_produce(request)) return;
    request.is_dispatched = true;
    host_.serve(request);
    // Serving may have ended this connection or muted it, and the list may have changed.
    if (closing_ || is_muted()) return;
  }
}

void Connection::on_request_done() { send_next(); }

void Connection::mute(std::int32_t ms) {
  const Instant until = node_.io.now() + std::chrono::milliseconds(ms);
  if (until <= muted_until_) return;
  host_.resume_later(*this, until);
  muted_until_ = until;
}

void Connection::resume() {
  if (closing_ || is_muted()) return;
  dispatch_due();
  receive_next();
}

// Sends the first answer if it is ready. Runs until an answer must wait, for its turn or for the socket.
void Connection::send_next() {
  if (sending_) return;
  while (!in_flight_.empty() && in_flight_.front()->is_done) {
    Request& request = *in_flight_.front();
    if (request.close_connection) closing_ = true;
    if (!closing_ && !request.is_silent) {
      sending_ = true;
      part_ = 0;
      return send_part();
    }
    release(std::move(in_flight_.front()));
    in_flight_.erase(in_flight_.begin());
  }
  if (closing_) return close();
  dispatch_due();
  receive_next();
  end_if_over();
}

std::int64_t Connection::now_if_counted() const {
  return node_.quotas.has(QuotaType::request) ? node_.io.steady_ns() : 0;
}

// The client is throttled for it with its next request.
void Connection::count_sending(const Request& request, std::int64_t since_ns) {
  if (since_ns == 0) return;
  node_.quotas.record(QuotaType::request, request.client(),
                      static_cast<double>(node_.io.steady_ns() - since_ns) / kNanosecondsPerPercent,
                      node_.quota_time());
}

void Connection::send_part() {
  Request& request = *in_flight_.front();
  const std::size_t last = 2 * request.files.size();
  while (part_ <= last) {
    const std::size_t i = part_ / 2;
    if (part_ % 2 == 1) {
      const FilePart& file = request.files[i];
      const std::int64_t since_ns = now_if_counted();
      node_.io.send_file(socket_, file.file->file, file.position, file.length, sent_);
      return count_sending(request, since_ns);
    }
    const std::size_t begin = i == 0 ? 0 : request.gaps[i - 1].position;
    const std::size_t end = part_ == last ? request.response.size() : request.gaps[i].position;
    if (end != begin) {
      const std::int64_t since_ns = now_if_counted();
      node_.io.send(socket_, request.response.bytes().subspan(begin, end - begin), part_ != last, sent_);
      return count_sending(request, since_ns);
    }
    ++part_;
  }
  sending_ = false;
  release(std::move(in_flight_.front()));
  in_flight_.erase(in_flight_.begin());
  last_active_ = node_.io.now();
  send_next();
}

void Connection::on_sent(std::int64_t result) {
  Request& request = *in_flight_.front();
  std::int64_t expected = 0;
  if (part_ % 2 == 1) {
    expected = request.files[part_ / 2].length;
  } else {
    const std::size_t i = part_ / 2;
    const std::size_t begin = i == 0 ? 0 : request.gaps[i - 1].position;
    const std::size_t end = i == request.files.size() ? request.response.size() : request.gaps[i].position;
    expected = static_cast<std::int64_t>(end - begin);
  }
  if (closing_ || result != expected) {
    sending_ = false;
    release(std::move(in_flight_.front()));
    in_flight_.erase(in_flight_.begin());
    return close();
  }
  ++part_;
  send_part();
}

void Connection::release(std::unique_ptr<Request> request) {
  for (const FilePart& part : request->files) node_.engine.release_file(part.file);
  free_chunk(*request);
  host_.give_back(std::move(request));
}

void Connection::free_chunk(Request& request) {
  if (request.chunk.size != 0) host_.frame_memory().free(request.chunk);
  request.chunk = {};
}

void Connection::close() {
  closing_ = true;
  if (waits_for_room_) {
    waits_for_room_ = receiving_frame_ = false;
    host_.frame_memory().forget(*this);
  }
  if (!shut_) {
    shut_ = true;
    node_.io.shutdown(socket_);
  }
  // Answers that are ready have no receiver; those still being made keep the connection until they are done.
  while (!sending_ && !in_flight_.empty() && in_flight_.front()->is_done) {
    release(std::move(in_flight_.front()));
    in_flight_.erase(in_flight_.begin());
  }
  std::erase_if(in_flight_, [this](std::unique_ptr<Request>& request) {
    if (request->is_dispatched) return false;
    release(std::move(request));
    return true;
  });
  end_if_over();
}

void Connection::finish() {
  finishing_ = true;
  if (is_idle()) return close();
  dispatch_due();  // what waited because the client was throttled
}

void Connection::end_if_over() {
  if (finishing_ && !closing_ && is_idle()) return close();
  if (!closing_ || over_ || !in_flight_.empty()) return;
  if (received_beginning_.pending || received_frame_.pending || sent_.pending) return;
  over_ = true;
  node_.io.close(socket_);
  host_.on_connection_over(*this);
}

}  // namespace tailrace::broker
