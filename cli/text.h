// How the tools write for people and for programs: aligned tables, human units, times, and base64. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/types.h"

namespace tailrace::cli {

// Columns with two spaces between them, numbers (cells of digits) to the right; the first row is the head.
std::string table(const std::vector<std::vector<std::string>>& rows);

// "1.5 MiB"; "12,345".
std::string human_bytes(double bytes);
std::string human_count(std::uint64_t count);
// Milliseconds as "450 ms", "1.5 s", "2 min 3 s", "5 h 10 min" or "3 d 4 h".
std::string human_duration(std::int64_t ms);

// Milliseconds since 1970 as "2026-01-02T03:04:05.678Z", and back from that, from a time without fraction or zone
// (UTC), from a date alone, or from plain milliseconds.
std::string time_text(TimestampMs time);
std::optional<TimestampMs> parse_time(std::string_view text);
// ISO 8601's durations as Java reads them, in milliseconds: P1DT2H3M4.5S, -PT1M, pt-30s. Nothing: it is none, or does
// not fit.
std::optional<std::int64_t> parse_duration(std::string_view text);

// Standard base64 with padding. Decoding: nothing when it is none.
std::string to_base64(Bytes bytes);
std::optional<std::string> from_base64(std::string_view text);

// Whether the bytes are UTF-8 as JSON strings need it.
bool is_utf8(std::string_view text);

}  // namespace tailrace::cli
