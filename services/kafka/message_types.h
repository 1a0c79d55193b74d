// All messages as values, for code that loops over them: tests, fuzzing, the docs, and tools that print frames.
#pragma once

#include <span>
#include <string>

#include "services/kafka/codec.h"
#include "services/kafka/describe.h"
#include "services/kafka/random.h"

namespace tailrace::kafka {

struct MessageType {
  MessageInfo info;
  // Decodes a body and prints it.
  Result<std::string> (*json)(Bytes body, std::int16_t version);
  // Decodes a body, of which `used` bytes are the message, and appends it encoded again to `to`.
  Result<void> (*recode)(Bytes body, std::int16_t version, std::size_t& used, Buffer& to);
  // Appends a random message.
  void (*encode_random)(Random& random, std::int16_t version, Buffer& to);
  // The first four bytes of its body are its throttle_time_ms.
  bool (*begins_with_throttle_time)(std::int16_t version);
  // The section about it in docs/messages.md.
  std::string (*markdown)();
};

[[nodiscard]] std::span<const MessageType> message_types();
// Null: not known.
[[nodiscard]] const MessageType* find_message_type(std::int16_t api_key, MessageKind kind);

// The text of docs/messages.md.
[[nodiscard]] std::string messages_markdown();

}  // namespace tailrace::kafka
