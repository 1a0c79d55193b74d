// Encoding and decoding of Kafka messages and of the headers before them. Pure functions over bytes; any thread.
//
// A decoded message borrows its strings and records from the frame: keep the frame as long as the message. The
// templates here are declared only: they are instantiated once per message in codec_*.cc (visitors.h has their
// definitions), so that this header is cheap to include.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "services/kafka/buffer.h"
#include "services/kafka/describe.h"

namespace tailrace::kafka {

class Random;

// What one decoded message may take of memory beside the frame, in bytes. A hostile frame of 100 MiB may announce
// arrays of 3-byte elements that are 25 times as large in memory; the largest honest message we know, UpdateMetadata
// for 200,000 partitions, takes about 60 MB.
constexpr std::size_t kDecodedBytesMax = std::size_t{256} << 20;

// The longest string that the protocol can carry, in bytes. A compact length could say more, but Kafka refuses it.
constexpr std::size_t kStringBytesMax = 0x7FFF;

// A place in an encoded message where bytes from elsewhere belong (RecordsField::external_length).
struct Gap {
  std::size_t position = 0;  // in the buffer, from its beginning; the bytes go before the byte at this position
  std::uint32_t length = 0;  // in bytes
};

template <class M>
struct Codec {
  // `used`, when given, receives the number of bytes read. Errors: corrupt (the bytes do not follow the schema, or are
  // too few), too_large (kDecodedBytesMax), unsupported (the codec does not know the version).
  static Result<M> decode(Bytes body, std::int16_t version, std::size_t* used);
  static bool encode(const M& message, std::int16_t version, Buffer& to, std::vector<Gap>* gaps);
  static std::size_t size(const M& message, std::int16_t version);
  static std::string json(const M& message, std::int16_t version);
  static M random(Random& random, std::int16_t version);
  static std::string markdown();
};

// Decodes a body. Bytes behind the message are ignored, as Kafka does (some clients send them).
template <class M>
[[nodiscard]] Result<M> decode(Bytes body, std::int16_t version) {
  return Codec<M>::decode(body, version, nullptr);
}

// The same, where bytes behind the message are corrupt.
template <class M>
[[nodiscard]] Result<M> decode_exactly(Bytes body, std::int16_t version) {
  std::size_t used = 0;
  Result<M> message = Codec<M>::decode(body, version, &used);
  if (message && used != body.size()) return failure(Code::corrupt, "reading a message: bytes are left over");
  return message;
}

// Appends a body to `to`. Fields that the version does not have are left out. `version` must be one that the message
// knows. False when a string was longer than kStringBytesMax: it was cut there, and the bytes are still a sound
// message. `gaps` must be given when the message has external records; they are appended in order of position.
template <class M>
bool encode(const M& message, std::int16_t version, Buffer& to, std::vector<Gap>* gaps = nullptr) {
  return Codec<M>::encode(message, version, to, gaps);
}

// The bytes that encode() appends, external records not counted.
template <class M>
[[nodiscard]] std::size_t encoded_size(const M& message, std::int16_t version) {
  return Codec<M>::size(message, version);
}

// Compact JSON with Kafka's field names, for logs; records appear as their size only, secret fields as "***".
template <class M>
[[nodiscard]] std::string to_json(const M& message, std::int16_t version) {
  return Codec<M>::json(message, version);
}

// -- Headers -------------------------------------------------------------------------------------------------------

// Before the body of each request. client_id borrows from the frame.
struct RequestHeader {
  std::int16_t api_key = 0;
  std::int16_t api_version = 0;
  std::int32_t correlation_id = 0;
  std::optional<std::string_view> client_id{};
  UnknownTaggedFields unknown_tagged_fields{};
};

// 0: no client id (ControlledShutdown 0 alone), 1: with client id, 2: with tagged fields too. Any version of any key
// that Kafka has; for a key that Kafka does not have, 1.
[[nodiscard]] std::int16_t request_header_version(std::int16_t api_key, std::int16_t api_version);
// 0: the correlation id, 1: with tagged fields too. An ApiVersions response is always 0 (KIP-511).
[[nodiscard]] std::int16_t response_header_version(std::int16_t api_key, std::int16_t api_version);

// Reads the header of a frame (the frame without its 4-byte size); the body begins at `body_at`. corrupt when it is not
// one. Keys and versions are not judged here.
[[nodiscard]] Result<void> decode_request_header(Bytes frame, RequestHeader& header, std::size_t& body_at);
void encode_request_header(const RequestHeader& header, Buffer& to);

[[nodiscard]] Result<void> decode_response_header(Bytes frame, std::int16_t header_version,
                                                  std::int32_t& correlation_id, std::size_t& body_at);
void encode_response_header(std::int32_t correlation_id, std::int16_t header_version, Buffer& to);

// -- Frames --------------------------------------------------------------------------------------------------------

// A frame is its size in 4 bytes, a header and a body. begin_* leaves room for the size and writes the header; append
// the body with encode(); end_frame fills in the size, the gaps from `first_gap` on counted in.
//
//   const std::size_t start = begin_response(correlation_id, key, version, out);
//   encode(response, version, out, &gaps);
//   end_frame(start, out, gaps);
std::size_t begin_request(const RequestHeader& header, Buffer& to);
std::size_t begin_response(std::int32_t correlation_id, std::int16_t api_key, std::int16_t api_version, Buffer& to);
void end_frame(std::size_t start, Buffer& to, const std::vector<Gap>& gaps = {}, std::size_t first_gap = 0);

}  // namespace tailrace::kafka
