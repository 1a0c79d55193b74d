#include "engine/base/crc32c.h"

#include <isa-l/crc.h>

namespace tailrace {

std::uint32_t crc32c(Bytes bytes) { return crc32c(bytes, 0); }

std::uint32_t crc32c(Bytes bytes, std::uint32_t previous) {
  // ISA-L takes a mutable pointer and an int length, changes nothing, and leaves both inversions to the caller.
  std::uint32_t state = ~previous;
  constexpr std::size_t kPieceMax = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const std::size_t piece = bytes.size() < kPieceMax ? bytes.size() : kPieceMax;
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(piece), state);
    bytes = bytes.subspan(piece);
  }
  return ~state;
}

}  // namespace tailrace
