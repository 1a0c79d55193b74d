// One TCP connection to a broker, for tools: whole frames out and in, with a time limit on each wait. It knows which
// versions the broker serves. Not for the broker's own use: it blocks. Single-threaded.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/bytes.h"
#include "services/kafka/buffer.h"

namespace tailrace::cli {

// What the tools tell people: the error is a sentence without a full stop.
template <class T>
using Outcome = std::expected<T, std::string>;

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  [[nodiscard]] std::string text() const;  // [::1]:9092 for IPv6
  friend auto operator<=>(const HostPort&, const HostPort&) = default;
};

// "HOST", "HOST:PORT" or "[::1]:PORT"; the port is 9092 when it is left out.
Outcome<HostPort> parse_host_port(std::string_view text);

// "NAME: what it means", for a Kafka error code.
std::string describe_error(std::int16_t code);
// The same with what the broker added, if it added something.
std::string describe_error(std::int16_t code, std::string_view message);

class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  // Connects and asks for the versions, within `limit`.
  static Outcome<Connection> open(const HostPort& address, std::chrono::milliseconds limit);

  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  // The highest version of `key` that is in `own_min`..`own_max` and that the broker serves; -1 for none.
  [[nodiscard]] std::int16_t version_for(std::int16_t key, std::int16_t own_min, std::int16_t own_max) const;
  // All that the broker serves: key, lowest and highest version.
  using Versions = std::map<std::int16_t, std::pair<std::int16_t, std::int16_t>>;
  [[nodiscard]] const Versions& versions() const { return versions_; }

  // Begins a frame at the end of the output: size, header. The caller appends the body to the buffer and calls
  // end_frame. Nothing is sent before flush or send_some.
  kafka::Buffer& begin_frame(std::int16_t key, std::int16_t version);
  void end_frame();

  // Sends all of the output.
  Outcome<void> flush(Clock::time_point give_up);
  // Sends what the socket takes now. True when all is sent.
  Outcome<bool> send_some();

  // The next response to the requests in their order: its body's place in the frame. Waits until `give_up`.
  struct Response {
    kafka::Buffer frame;
    std::size_t body_at = 0;
    [[nodiscard]] Bytes body() const { return frame.bytes_from(body_at); }
  };
  Outcome<Response> receive(Clock::time_point give_up);
  // The same when it has arrived already, else an empty frame.
  Outcome<Response> receive_some();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] bool has_output() const { return sent_ < output_.size(); }
  [[nodiscard]] std::size_t unanswered() const { return expected_.size(); }
  [[nodiscard]] const HostPort& address() const { return address_; }
  // The request that was begun last gets no response (acks=0).
  void expect_no_response() { expected_.pop_back(); }

 private:
  struct Expected {
    std::int32_t correlation_id = 0;
    std::int16_t key = 0;
    std::int16_t version = 0;
  };

  Connection(HostPort address, int descriptor) : address_(std::move(address)), descriptor_(descriptor) {}
  Outcome<void> ask_versions(Clock::time_point give_up);
  Outcome<void> wait(short events, Clock::time_point give_up) const;
  // Reads towards the current frame; true when it is whole.
  Outcome<bool> read_some();
  Outcome<Response> finish_frame();
  [[nodiscard]] std::string broken(std::string_view what, int system_error) const;

  HostPort address_;
  int descriptor_ = -1;
  Versions versions_;
  kafka::Buffer output_;
  std::size_t sent_ = 0;
  std::size_t frame_start_ = 0;
  std::int32_t next_correlation_id_ = 0;
  std::deque<Expected> expected_;
  std::byte size_bytes_[4] = {};
  std::size_t size_read_ = 0;
  kafka::Buffer input_;
  std::size_t input_read_ = 0;
};

}  // namespace tailrace::cli
