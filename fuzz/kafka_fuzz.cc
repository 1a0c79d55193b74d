// Bytes as a message: the first says which of message_types(), the second its version, the rest is the body. What
// decodes must encode, and what was encoded must decode to the same again; a cut or damaged body must never be read
// beyond its end.
#include <cstddef>
#include <cstdint>

#include "engine/base/check.h"
#include "services/kafka/codec.h"
#include "services/kafka/message_types.h"

namespace {

using namespace tailrace;
using namespace tailrace::kafka;

void fuzz_header(Bytes frame) {
  RequestHeader header;
  std::size_t body_at = 0;
  if (!decode_request_header(frame, header, body_at)) return;
  CHECK(body_at <= frame.size());
  Buffer once;
  encode_request_header(header, once);
  RequestHeader again;
  CHECK(decode_request_header(once.bytes(), again, body_at).has_value());
  CHECK(body_at == once.size());
  CHECK(again.client_id == header.client_id && again.correlation_id == header.correlation_id);
}

void fuzz_body(const MessageType& type, std::int16_t version, Bytes body) {
  std::size_t used = 0;
  Buffer once;
  if (!type.recode(body, version, used, once)) return;
  CHECK(used <= body.size());
  Buffer twice;
  CHECK(type.recode(once.bytes(), version, used, twice).has_value());
  CHECK(used == once.size());
  CHECK(as_text(twice.bytes()) == as_text(once.bytes()));
  CHECK(type.json(once.bytes(), version).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input{reinterpret_cast<const std::byte*>(data), size};
  fuzz_header(input);
  if (size < 2) return 0;
  const MessageType& type = message_types()[data[0] % message_types().size()];
  const int versions = type.info.version_max - type.info.version_min + 1;
  const auto version = static_cast<std::int16_t>(type.info.version_min + data[1] % versions);
  fuzz_body(type, version, input.subspan(2));
  return 0;
}
