// Byte arithmetic: big-endian integers and Kafka's varints. The only place that shifts bytes.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tailrace {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes as_bytes(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }
inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The caller guarantees sizeof(T) readable bytes at `from`.
template <std::integral T>
T load_big_endian(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (sizeof(T) > 1 && std::endian::native == std::endian::little) value = std::byteswap(value);
  return value;
}

// The caller guarantees sizeof(T) writable bytes at `to`.
template <std::integral T>
void store_big_endian(std::byte* to, T value) {
  if constexpr (sizeof(T) > 1 && std::endian::native == std::endian::little) value = std::byteswap(value);
  std::memcpy(to, &value, sizeof value);
}

// Unsigned LEB128, as in Kafka's compact lengths. Returns the number of bytes read, 0 when `from` ends too early or
// the number does not fit (`bytes_max`: 5 for 32 bits, 10 for 64).
inline std::size_t read_unsigned_varint(Bytes from, std::uint64_t& value, std::size_t bytes_max = 10) {
  std::uint64_t result = 0;
  const std::size_t end = from.size() < bytes_max ? from.size() : bytes_max;
  for (std::size_t i = 0; i < end; ++i) {
    const auto byte = static_cast<std::uint64_t>(from[i]);
    const unsigned shift = static_cast<unsigned>(7 * i);
    if (shift == 63 && byte > 1) return 0;
    if (bytes_max == 5 && i == 4 && byte > 0x0F) return 0;
    result |= (byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) {
      value = result;
      return i + 1;
    }
  }
  return 0;
}

inline std::int64_t zigzag_decode(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}
inline std::uint64_t zigzag_encode(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}

// Zigzag varint, as in records: 32-bit fields never take more than 5 bytes, 64-bit ones 10. Returns bytes read or 0.
inline std::size_t read_varint(Bytes from, std::int32_t& value) {
  std::uint64_t raw = 0;
  const std::size_t size = read_unsigned_varint(from, raw, 5);
  if (size != 0) value = static_cast<std::int32_t>(zigzag_decode(raw));
  return size;
}
inline std::size_t read_varlong(Bytes from, std::int64_t& value) {
  std::uint64_t raw = 0;
  const std::size_t size = read_unsigned_varint(from, raw, 10);
  if (size != 0) value = zigzag_decode(raw);
  return size;
}

inline std::size_t unsigned_varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

// Writes at most 10 bytes at `to`; returns how many.
inline std::size_t write_unsigned_varint(std::byte* to, std::uint64_t value) {
  std::size_t size = 0;
  while (value >= 0x80) {
    to[size++] = static_cast<std::byte>(value | 0x80);
    value >>= 7;
  }
  to[size++] = static_cast<std::byte>(value);
  return size;
}

}  // namespace tailrace
