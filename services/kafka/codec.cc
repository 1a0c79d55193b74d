// Headers and frames; the messages themselves are in codec_*.cc.
#include "services/kafka/codec.h"

#include "engine/base/check.h"
#include "services/kafka/api_table.h"
#include "services/kafka/decoder.h"
#include "services/kafka/encoder.h"

namespace tailrace::kafka {
namespace {

constexpr std::size_t kFrameSizeBytes = 4;

// The client id is never compact, whatever the version of the header; so only what follows it is described.
struct HeaderTail {
  UnknownTaggedFields unknown_tagged_fields{};

  template <class M, class V>
  static void describe(M&, V&) {}
};

struct RequestHeaderFields {
  UnknownTaggedFields unknown_tagged_fields{};
  RequestHeader header{};

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("request_api_key", m.header.api_key);
    v("request_api_version", m.header.api_version);
    v("correlation_id", m.header.correlation_id);
    v("client_id", m.header.client_id, since(1));
  }
};

struct ResponseHeaderFields {
  UnknownTaggedFields unknown_tagged_fields{};
  std::int32_t correlation_id = 0;

  template <class M, class V>
  static void describe(M& m, V& v) {
    v("correlation_id", m.correlation_id);
  }
};

}  // namespace

std::int16_t request_header_version(std::int16_t api_key, std::int16_t api_version) {
  if (api_key == api_key::kControlledShutdown && api_version == 0) return 0;
  return api_version >= api_flexible_from(api_key) ? 2 : 1;
}

std::int16_t response_header_version(std::int16_t api_key, std::int16_t api_version) {
  if (api_key == api_key::kApiVersions) return 0;
  return api_version >= api_flexible_from(api_key) ? 1 : 0;
}

Result<void> decode_request_header(Bytes frame, RequestHeader& header, std::size_t& body_at) {
  constexpr std::size_t kKeyAndVersionBytes = 4;
  if (frame.size() < kKeyAndVersionBytes) return failure(Code::corrupt, "reading a request header that ends too early");
  const auto key = load_big_endian<std::int16_t>(frame.data());
  const auto version = load_big_endian<std::int16_t>(frame.data() + 2);
  const std::int16_t header_version = request_header_version(key, version);

  Decoder decoder(frame, header_version, false);
  RequestHeaderFields fields;
  decoder.read(fields);
  if (decoder.failed()) return std::unexpected(decoder.error().at("reading a request header"));
  header = fields.header;
  body_at = decoder.used();
  if (header_version < 2) return {};

  Decoder tail_decoder(frame.subspan(body_at), header_version, true);
  HeaderTail tail;
  tail_decoder.read(tail);
  if (tail_decoder.failed()) return std::unexpected(tail_decoder.error().at("reading a request header"));
  header.unknown_tagged_fields = tail.unknown_tagged_fields;
  body_at += tail_decoder.used();
  return {};
}

void encode_request_header(const RequestHeader& header, Buffer& to) {
  const std::int16_t header_version = request_header_version(header.api_key, header.api_version);
  BufferSink sink(to, nullptr);
  RequestHeaderFields fields;
  fields.header = header;
  Writer<BufferSink>(sink, header_version, false).write(fields);
  if (header_version < 2) return;
  Writer<BufferSink>(sink, header_version, true)
      .write(HeaderTail{.unknown_tagged_fields = header.unknown_tagged_fields});
}

Result<void> decode_response_header(Bytes frame, std::int16_t header_version, std::int32_t& correlation_id,
                                    std::size_t& body_at) {
  Decoder decoder(frame, header_version, header_version >= 1);
  ResponseHeaderFields fields;
  decoder.read(fields);
  if (decoder.failed()) return std::unexpected(decoder.error().at("reading a response header"));
  correlation_id = fields.correlation_id;
  body_at = decoder.used();
  return {};
}

void encode_response_header(std::int32_t correlation_id, std::int16_t header_version, Buffer& to) {
  BufferSink sink(to, nullptr);
  ResponseHeaderFields fields;
  fields.correlation_id = correlation_id;
  Writer<BufferSink>(sink, header_version, header_version >= 1).write(fields);
}

std::size_t begin_request(const RequestHeader& header, Buffer& to) {
  const std::size_t start = to.size();
  to.extend(kFrameSizeBytes);
  encode_request_header(header, to);
  return start;
}

std::size_t begin_response(std::int32_t correlation_id, std::int16_t api_key, std::int16_t api_version, Buffer& to) {
  const std::size_t start = to.size();
  to.extend(kFrameSizeBytes);
  encode_response_header(correlation_id, response_header_version(api_key, api_version), to);
  return start;
}

void end_frame(std::size_t start, Buffer& to, const std::vector<Gap>& gaps, std::size_t first_gap) {
  CHECK(to.size() >= start + kFrameSizeBytes);
  std::size_t size = to.size() - start - kFrameSizeBytes;
  for (std::size_t i = first_gap; i < gaps.size(); ++i) size += gaps[i].length;
  CHECK(size <= static_cast<std::size_t>(kInt32Max));
  store_big_endian(to.data() + start, static_cast<std::int32_t>(size));
}

}  // namespace tailrace::kafka
