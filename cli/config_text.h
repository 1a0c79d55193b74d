// How settings are written on a command line and in files: KEY=VALUE, lists of them, .properties files, and sizes with
// units. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/connection.h"

namespace tailrace::cli {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

// "KEY=VALUE"; the value may be empty and hold more '='.
Outcome<std::pair<std::string, std::string>> parse_key_value(std::string_view text);
// kafka-configs' "k1=v1,k2=[v1,v2],k3=v3": square brackets hold values with commas. A key that stands twice is refused.
Outcome<KeyValues> parse_key_values(std::string_view text);
// A .properties file: "key=value", "key: value" or "key value" a line, comments with # and !, a backslash at the end of
// a line goes on in the next one. The last of equal keys counts, as in Java.
Outcome<KeyValues> parse_properties(std::string_view text);

// "a,b, c" without blanks; empty parts are left out.
std::vector<std::string> split_list(std::string_view text);

// A whole text as a number. Nothing: it is none, or does not fit.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(std::string_view text);
// The same with a unit: 10MiB, 1.5kB, 2G (1024 each for KiB and K, 1000 for kB).
std::optional<double> parse_size(std::string_view text);

// A file's text; "-" is standard input. Error: it cannot be read, or is larger than 64 MiB.
Outcome<std::string> read_text_file(const std::string& path);

}  // namespace tailrace::cli
