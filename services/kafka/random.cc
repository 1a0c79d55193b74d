#include "services/kafka/random.h"

#include <array>

#include "engine/base/bytes.h"

namespace tailrace::kafka {

// SplitMix64.
std::uint64_t Random::next() {
  std::uint64_t x = state_ += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

std::uint64_t Random::number() {
  constexpr std::array<std::uint64_t, 8> kEdges = {0,      1,           ~std::uint64_t{0}, 0x7F,
                                                   0x7FFF, 0x7FFF'FFFF, 0x8000'0000,       0x7FFF'FFFF'FFFF'FFFF};
  return one_in(2) ? kEdges[below(kEdges.size())] : next();
}

std::string_view Random::text() {
  constexpr std::array<std::string_view, 8> kPieces = {"a", "Z", "9", ".", "-", "\"", "\n", "\xC3\xA9"};
  std::string text;
  const std::size_t pieces = one_in(8) ? 0 : one_in(16) ? 130 + below(200) : 1 + below(12);
  for (std::size_t i = 0; i < pieces; ++i) text += kPieces[below(kPieces.size())];
  return keep(std::move(text));
}

Bytes Random::bytes() {
  std::string bytes(one_in(8) ? 0 : one_in(8) ? below(20'000) : below(100), '\0');
  for (char& byte : bytes) byte = static_cast<char>(next());
  return as_bytes(keep(std::move(bytes)));
}

UnknownTaggedFields Random::unknown_tagged_fields() {
  std::string fields;
  std::byte varint[10];
  const auto put = [&](std::uint64_t value) { fields.append(as_text({varint, write_unsigned_varint(varint, value)})); };
  const std::size_t count = one_in(16) ? 200 : 1 + below(3);
  std::uint64_t tag = 1000;
  for (std::size_t i = 0; i < count; ++i) {
    tag += 1 + below(100);
    const std::string_view value = text();
    put(tag);
    put(value.size());
    fields += value;
  }
  const Bytes kept = as_bytes(keep(std::move(fields)));
  return {.data = kept.data(),
          .size_bytes = static_cast<std::uint32_t>(kept.size()),
          .count = static_cast<std::uint32_t>(count)};
}

}  // namespace tailrace::kafka
