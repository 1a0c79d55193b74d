// What Codec<M> does, by the visitors. Included only by the codec_*.cc, each of which instantiates a group of messages
// with one line per message: `template struct Codec<ProduceRequest>;`.
#pragma once

#include "engine/base/check.h"
#include "services/kafka/codec.h"
#include "services/kafka/decoder.h"
#include "services/kafka/encoder.h"
#include "services/kafka/json.h"
#include "services/kafka/markdown.h"
#include "services/kafka/random.h"

namespace tailrace::kafka {

template <class M>
constexpr bool is_flexible(std::int16_t version) {
  return version >= M::kMessage.flexible_from;
}

template <class M>
Result<M> Codec<M>::decode(Bytes body, std::int16_t version, std::size_t* used) {
  if (!M::kMessage.knows(version)) return failure(Code::unsupported, "reading a message of an unknown version");
  Result<M> message;
  Decoder decoder(body, version, is_flexible<M>(version));
  decoder.read(*message);
  if (decoder.failed()) return std::unexpected(decoder.error());
  if (used != nullptr) *used = decoder.used();
  return message;
}

template <class M>
bool Codec<M>::encode(const M& message, std::int16_t version, Buffer& to, std::vector<Gap>* gaps) {
  CHECK(M::kMessage.knows(version));
  BufferSink sink(to, gaps);
  Writer<BufferSink> writer(sink, version, is_flexible<M>(version));
  writer.write(message);
  return !writer.cut();
}

template <class M>
std::size_t Codec<M>::size(const M& message, std::int16_t version) {
  CHECK(M::kMessage.knows(version));
  SizeSink sink;
  Writer<SizeSink>(sink, version, is_flexible<M>(version)).write(message);
  return sink.size();
}

template <class M>
std::string Codec<M>::json(const M& message, std::int16_t version) {
  std::string out;
  JsonPrinter(out, version).print(message);
  return out;
}

template <class M>
M Codec<M>::random(Random& random, std::int16_t version) {
  M message{};
  RandomFields(random, version, is_flexible<M>(version)).fill(message);
  return message;
}

template <class M>
std::string Codec<M>::markdown() {
  std::string out;
  MarkdownTable(out, M::kMessage).template message<M>();
  return out;
}

}  // namespace tailrace::kafka
