// Request: one request of a client from its last received byte to its last sent one. Pooled; the connection owns it
// while it is in flight. Whoever serves it fills `response` (and, for a fetch, gaps and files) and calls finish() once.
// What its quotas say is told in the response, and the connection is mute for so long afterwards (KIP-219).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/api/file_cache.h"
#include "engine/base/bytes.h"
#include "engine/base/types.h"
#include "engine/ipc/arena.h"
#include "services/broker/quotas.h"
#include "services/kafka/api_table.h"
#include "services/kafka/codec.h"

namespace tailrace::broker {

class Connection;

// Whom everybody is taken for as long as nobody has to say who they are (KafkaPrincipal.ANONYMOUS).
constexpr std::string_view kAnonymous = "ANONYMOUS";

// Bytes of a segment file that belong into a gap of the response.
struct FilePart {
  api::FileCache::Entry* file = nullptr;
  std::uint64_t position = 0;
  std::uint32_t length = 0;
};

struct Request {
  Connection* connection = nullptr;
  ipc::Arena::Chunk chunk;
  Bytes frame;  // header and body, in the arena or, after leave_arena(), in kept_frame
  std::vector<std::byte> kept_frame;
  kafka::RequestHeader header;
  const kafka::Api* api = nullptr;
  Bytes body;
  Instant received_at;

  kafka::Buffer response;        // the whole frame with its size, without what comes from files
  std::vector<kafka::Gap> gaps;  // where files[i] goes
  std::vector<FilePart> files;
  bool is_dispatched = false;
  bool is_done = false;
  bool is_silent = false;         // produced with acks=0: nothing is sent
  bool close_connection = false;  // instead of an answer
  bool is_throttle_settled = false;
  std::int32_t throttle_ms = 0;  // until now; settle_throttle() has the last word
  std::int64_t busy_ns = 0;      // that this thread has worked for it, where quotas ask

  [[nodiscard]] Quotas::Client client() const { return {kAnonymous, header.client_id.value_or("")}; }

  template <class Message>
  void respond(Message&& message) {
    const std::int32_t throttled_ms = settle_throttle();
    if constexpr (requires { message.throttle_time_ms; }) message.throttle_time_ms = throttled_ms;
    response.clear();
    const std::size_t start =
        kafka::begin_response(header.correlation_id, header.api_key, header.api_version, response);
    kafka::encode(message, header.api_version, response, &gaps);
    kafka::end_frame(start, response, gaps);
    finish();
  }
  // Counts the time that it took (request_percentage), once. Returns for how many ms the client is throttled.
  std::int32_t settle_throttle();
  // The frame moves out of the arena, which is for what is soon over.
  void leave_arena();
  // For so long at least. Also after settle_throttle().
  void throttle(std::int32_t ms);
  // The answer is in `response` (or there is none). The connection sends it when it is its turn.
  void finish();
  // The request cannot be answered by its protocol: Kafka closes the connection.
  void refuse() {
    close_connection = true;
    finish();
  }
};

}  // namespace tailrace::broker
