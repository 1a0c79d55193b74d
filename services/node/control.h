// What goes over the sessions between tailrace-zkbridge, tailrace-groupcoord and the broker (ipc::MessageChannel):
// Kafka's own frames, each behind an 8-byte number that pairs a request with its answer, and messages of our own
// (kafka/messages/internal.h).
//
// To zkbridge, a client first sends `hello`; a broker names its endpoints in it. The bridge answers with `welcome`, and
// to a broker it sends the whole state from then on: `config_image`, then LeaderAndIsr and UpdateMetadata as `control`,
// and what changes. To groupcoord the broker sends `forward` only.
#pragma once

#include <array>
#include <cstdint>

#include "engine/base/bytes.h"
#include "engine/base/result.h"

namespace tailrace::node {

enum class ControlType : std::uint32_t {
  hello = 1,          // client -> zkbridge: kafka::NodeRegistrationRequest version 0; no endpoints: not a broker
  welcome = 2,        // zkbridge -> client: kafka::NodeRegistrationResponse version 0
  forward = 3,        // number, then a client's request frame as received: header and body, without the size
  forward_reply = 4,  // number, then the response frame: header and body, without the size; none: not to be answered
  control = 5,        // zkbridge -> broker: number, then LeaderAndIsr, StopReplica or UpdateMetadata as a request frame
  control_reply = 6,  // number, then the response frame
  config_image = 7,   // zkbridge -> broker: kafka::ConfigImage version 0
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

}  // namespace tailrace::node
