// What goes into the decisions about groups and what comes out of them: who asks, when, the records of
// __consumer_offsets that a decision consists of, and the answers that may be sent once these are durable. PURE.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/types.h"
#include "services/kafka/buffer.h"
#include "services/kafka/codec.h"

namespace tailrace::groupcoord {

struct Moment {
  Instant now;              // for deadlines
  TimestampMs wall_ms = 0;  // for what is written down
};

// 64 random bits.
using Chance = std::function<std::uint64_t()>;

// A request that is to be answered once, now or later. A value: whoever lets it wait keeps a copy.
struct Call {
  std::uint64_t token = 0;  // the owner's name of it, never used again
  std::int16_t api_key = 0;
  std::int16_t api_version = 0;
};

// Who sent it. Borrowed from the request.
struct Client {
  std::string_view id;    // of the request header
  std::string_view host;  // "/127.0.0.1": Kafka's notation (InetAddress.toString)
};

// A record of __consumer_offsets as it stands in the log: the 2-byte type and the key; the 2-byte version and the
// value.
struct Record {
  std::vector<std::byte> key;
  std::optional<std::vector<std::byte>> value;  // nullopt: a tombstone
};

struct Reply {
  Call call;
  kafka::Buffer body;
};

struct Effects {
  std::vector<Record> records;     // to be appended in this order, all or none
  std::vector<Reply> replies;      // each when all records that its shard gave out so far are durable
  std::vector<std::string> notes;  // for the log

  template <class Message>
  void reply(const Call& call, const Message& message) {
    Reply& made = replies.emplace_back(Reply{call, {}});
    kafka::encode(message, call.api_version, made.body);
  }
};

}  // namespace tailrace::groupcoord
