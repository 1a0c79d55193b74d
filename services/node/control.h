// What goes over the sessions between tailrace-zkbridge, tailrace-groupcoord and the broker (ipc::MessageChannel):
// Kafka's own frames, each behind an 8-byte number that pairs a request with its answer, and messages of our own
// (kafka/messages/internal.h and group_lag.h).
//
// To zkbridge, a client first sends `hello`; a broker names its endpoints in it. The bridge answers with `welcome` and
// sends the whole state from then on: `config_image`, then UpdateMetadata as `control` (to a broker LeaderAndIsr before
// it), and what changes. To groupcoord the broker sends `forward` only, and a tool `group_lag` only, one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/result.h"

namespace tailrace::node {

enum class ControlType : std::uint32_t {
  hello = 1,          // client -> zkbridge: kafka::NodeRegistrationRequest version 0; no endpoints: not a broker
  welcome = 2,        // zkbridge -> client: kafka::NodeRegistrationResponse version 0
  forward = 3,        // ForwardedFrame: a client's request as received
  forward_reply = 4,  // number, then the response frame: header and body, without the size; none: not to be answered
  control = 5,        // zkbridge -> client: number, then LeaderAndIsr, StopReplica or UpdateMetadata as a request frame
  control_reply = 6,  // number, then the response frame
  config_image = 7,   // zkbridge -> client: kafka::ConfigImage version 0
  forward_error =
      8,          // number, then an error (2 bytes): the broker answers with it, in the form that the API has for it
  group_lag = 9,  // tool -> groupcoord: kafka::GroupLagRequest version 0
  group_lag_reply = 10,  // groupcoord -> tool: kafka::GroupLagResponse version 0
};

constexpr std::size_t kFrameNumberSize = 8;
struct NumberedFrame {
  std::uint64_t number = 0;
  Bytes frame;
};

// The number as it stands before a frame, big-endian.
inline std::array<std::byte, kFrameNumberSize> frame_number(std::uint64_t number) {
  std::array<std::byte, kFrameNumberSize> bytes;
  store_big_endian(bytes.data(), number);
  return bytes;
}
// Error: corrupt when there are fewer than 8 bytes.
inline Result<NumberedFrame> parse_numbered_frame(Bytes message) {
  if (message.size() < kFrameNumberSize) return failure(Code::corrupt, "reading a numbered frame");
  return NumberedFrame{load_big_endian<std::uint64_t>(message.data()), message.subspan(kFrameNumberSize)};
}

// A request frame, header and body without the size, behind its number and who sent it.
struct ForwardedFrame {
  std::uint64_t number = 0;
  std::string_view host;  // of the client, "127.0.0.1"; empty: the broker asks on its own behalf
  Bytes frame;
};
constexpr std::size_t kForwardedHostMax = 255;

// What stands before the request frame.
inline std::vector<std::byte> forwarded_prefix(std::uint64_t number, std::string_view host) {
  host = host.substr(0, kForwardedHostMax);
  std::vector<std::byte> bytes(kFrameNumberSize + 1 + host.size());
  store_big_endian(bytes.data(), number);
  bytes[kFrameNumberSize] = static_cast<std::byte>(host.size());
  std::memcpy(bytes.data() + kFrameNumberSize + 1, host.data(), host.size());
  return bytes;
}
// Error: corrupt when it is cut short.
inline Result<ForwardedFrame> parse_forwarded_frame(Bytes message) {
  const Result<NumberedFrame> numbered = parse_numbered_frame(message);
  if (!numbered) return std::unexpected(numbered.error());
  const Bytes rest = numbered->frame;
  const std::size_t host_size = rest.empty() ? 0 : std::to_integer<std::size_t>(rest[0]);
  if (rest.size() < 1 + host_size) return failure(Code::corrupt, "reading a forwarded frame");
  return ForwardedFrame{
      numbered->number, {reinterpret_cast<const char*>(rest.data()) + 1, host_size}, rest.subspan(1 + host_size)};
}

}  // namespace tailrace::node
