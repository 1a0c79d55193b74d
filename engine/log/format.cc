#include "engine/log/format.h"

#include <charconv>

#include <fmt/format.h>

namespace tailrace::log {
namespace {
constexpr std::size_t kDigits = 20;
}

std::string segment_file_name(Offset base_offset, std::string_view suffix) {
  return fmt::format("{:0{}}{}", base_offset, kDigits, suffix);
}

std::optional<Offset> parse_segment_file_name(std::string_view name, std::string_view suffix) {
  if (name.size() != kDigits + suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  Offset base_offset = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + kDigits, base_offset);
  if (error != std::errc() || end != name.data() + kDigits || base_offset < 0) return std::nullopt;
  return base_offset;
}

}  // namespace tailrace::log
