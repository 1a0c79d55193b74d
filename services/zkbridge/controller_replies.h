// Response frames as they go back to the process that forwarded a request: header and body, without the size. PURE.
#pragma once

#include <cstdint>

#include "services/kafka/buffer.h"
#include "services/kafka/codec.h"

namespace tailrace::zkbridge {

template <class M>
kafka::Buffer response_frame(const M& message, std::int16_t key, std::int16_t version, std::int32_t correlation_id) {
  kafka::Buffer to;
  kafka::encode_response_header(correlation_id, kafka::response_header_version(key, version), to);
  kafka::encode(message, version, to);
  return to;
}

}  // namespace tailrace::zkbridge
