// The times that offsets are asked for, in kafka-get-offsets' words. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/connection.h"

namespace tailrace::cli {

struct OffsetTime {
  std::string name;
  std::int64_t value = 0;  // as in ListOffsets: milliseconds since 1970, or -1 to -6
  // Whether the answer names a record, and so its time.
  [[nodiscard]] bool says_timestamp() const { return value >= 0 || value == -3; }
};

// "latest", "-1", ..., milliseconds, or ISO 8601.
Outcome<OffsetTime> parse_offset_time(std::string_view text);

}  // namespace tailrace::cli
