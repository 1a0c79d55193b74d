// What goes over the sessions between tailrace-zkbridge, tailrace-groupcoord and the broker (ipc::MessageChannel): Kafka's own frames,
// each behind an 8-byte number that pairs a request with its answer, and a few messages of our own.
//
// To zkbridge, a client first sends `hello`; a broker names its endpoints in it. The bridge answers with `welcome`, and to a broker it
// sends the whole state from then on: `config_image`, then LeaderAndIsr and UpdateMetadata as `control`, and what changes.
// To groupcoord the broker sends `forward` only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/base/types.h"

namespace tailrace::node {

enum class ControlType : std::uint32_t {
  hello = 1,          // client -> zkbridge: Hello
  welcome = 2,        // zkbridge -> client: Welcome
  forward = 3,        // a client's request frame as received: header and body, without the size
  forward_reply = 4,  // the response frame: header and body, without the size
  control = 5,        // zkbridge -> broker: LeaderAndIsr, StopReplica or UpdateMetadata as a request frame
  control_reply = 6,  // the response frame
  config_image = 7,   // zkbridge -> broker: kafka::ConfigImage version 0; replaces what was known
};

struct Endpoint {
  std::string listener;  // "PLAINTEXT"
  std::string security_protocol;
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct Hello {
  bool is_broker = false;
  std::vector<Endpoint> endpoints;
  std::string rack;
};

struct Welcome {
  std::string cluster_id;
  BrokerId node_id = 0;
  std::int64_t broker_epoch = -1;
};

std::string encode(const Hello& hello);  // JSON
std::string encode(const Welcome& welcome);
// Error: corrupt.
Result<Hello> parse_hello(Bytes message);
Result<Welcome> parse_welcome(Bytes message);

// The number before a frame, big-endian.
constexpr std::size_t kFrameNumberSize = 8;
struct NumberedFrame {
  std::uint64_t number = 0;
  Bytes frame;
};
// Error: corrupt when there are fewer than 8 bytes.
Result<NumberedFrame> parse_numbered_frame(Bytes message);

}  // namespace tailrace::node
