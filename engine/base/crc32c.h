// CRC-32C (Castagnoli), the checksum of Kafka's record batches and snapshots.
#pragma once

#include <cstdint>

#include "engine/base/bytes.h"

namespace tailrace {

std::uint32_t crc32c(Bytes bytes);
// The checksum of what `previous` covers followed by `bytes`.
std::uint32_t crc32c(Bytes bytes, std::uint32_t previous);

}  // namespace tailrace
