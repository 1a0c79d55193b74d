#include "cli/times.h"

#include <array>

#include <fmt/format.h>

#include "cli/config_text.h"
#include "cli/text.h"

namespace tailrace::cli {

Outcome<OffsetTime> parse_offset_time(std::string_view text) {
  // By -value - 1.
  static constexpr std::array<std::string_view, 6> kNames = {
      "latest", "earliest", "max-timestamp", "earliest-local", "latest-tiered", "earliest-pending-upload"};
  const auto number = parse_integer(text);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto value = -1 - static_cast<std::int64_t>(i);
    if (text == kNames[i] || number == value) return OffsetTime{.name = std::string(kNames[i]), .value = value};
  }
  const auto time = parse_time(text);
  if (time && *time >= 0) return OffsetTime{.name = std::string(text), .value = *time};
  return std::unexpected(fmt::format("\"{}\" is no time; there are {}, milliseconds since 1970 and ISO 8601", text,
                                     fmt::join(kNames, ", ")));
}

}  // namespace tailrace::cli
