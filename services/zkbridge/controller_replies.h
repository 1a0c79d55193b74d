// What clients are answered where no Kafka has words for it, and response frames as they go back to the process that
// forwarded a request: header and body, without the size. PURE.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/kafka/buffer.h"
#include "services/kafka/codec.h"

namespace tailrace::zkbridge {

// What one request may speak of, so that nobody brings the controller down: each item takes some hundred bytes here.
// One that names more is cut off.
constexpr std::size_t kItemsMax = 100'000;

constexpr const char* kDiskFull = "The metadata could not be written: the disk is full.";
constexpr const char* kNotActive = "The controller of this node is not ready.";

template <class M>
kafka::Buffer response_frame(const M& message, std::int16_t key, std::int16_t version, std::int32_t correlation_id) {
  kafka::Buffer to;
  kafka::encode_response_header(correlation_id, kafka::response_header_version(key, version), to);
  kafka::encode(message, version, to);
  return to;
}

}  // namespace tailrace::zkbridge
