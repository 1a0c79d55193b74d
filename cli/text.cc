#include "cli/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdio>

#include <fmt/format.h>

namespace tailrace::cli {
namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// "-" stands for a number that is not there.
bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789,.-") == std::string_view::npos;
}
bool has_digit(std::string_view text) { return text.find_first_of("0123456789") != std::string_view::npos; }

// Characters on the screen; wide ones count as one, which is right for what topics are named.
std::size_t screen_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool parse_digits(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && text.front() != '-';
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  std::vector<bool> numeric;
  std::vector<bool> has_digits;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      if (widths.size() <= c) {
        widths.push_back(0);
        numeric.push_back(true);
        has_digits.push_back(false);
      }
      widths[c] = std::max(widths[c], screen_width(rows[r][c]));
      if (r > 0 && !is_number(rows[r][c])) numeric[c] = false;
      if (r > 0 && has_digit(rows[r][c])) has_digits[c] = true;
    }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string blank(widths[c] - screen_width(row[c]), ' ');
      if (c > 0) line += "  ";
      line += numeric[c] && has_digits[c] ? blank + row[c] : row[c] + blank;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string human_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes)
                   : fmt::format("{:.{}f} {}", bytes, bytes < 10 ? 2 : 1, kUnits[unit]);
}

std::string human_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string human_duration(std::int64_t ms) {
  static constexpr std::int64_t kSecond = 1000;
  static constexpr std::int64_t kMinute = 60 * kSecond;
  static constexpr std::int64_t kHour = 60 * kMinute;
  static constexpr std::int64_t kDay = 24 * kHour;
  if (ms < kSecond) return fmt::format("{} ms", ms);
  if (ms < 10 * kSecond) return fmt::format("{}.{} s", ms / kSecond, ms % kSecond / 100);
  if (ms < kMinute) return fmt::format("{} s", ms / kSecond);
  if (ms < kHour) return fmt::format("{} min {} s", ms / kMinute, ms % kMinute / kSecond);
  if (ms < kDay) return fmt::format("{} h {} min", ms / kHour, ms % kHour / kMinute);
  return fmt::format("{} d {} h", ms / kDay, ms % kDay / kHour);
}

std::string time_text(TimestampMs time) {
  const std::chrono::sys_time<std::chrono::milliseconds> at{std::chrono::milliseconds(time)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int(date.year()), unsigned(date.month()),
                     unsigned(date.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::optional<TimestampMs> parse_time(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;

  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int milliseconds = 0;
  int offset_minutes = 0;
  if (text.size() < 10 || text[4] != '-' || text[7] != '-' || !parse_digits(text.substr(0, 4), year) ||
      !parse_digits(text.substr(5, 2), month) || !parse_digits(text.substr(8, 2), day)) {
    return std::nullopt;
  }
  std::string_view rest = text.substr(10);
  if (!rest.empty()) {
    if ((rest[0] != 'T' && rest[0] != ' ') || rest.size() < 6 || rest[3] != ':' ||
        !parse_digits(rest.substr(1, 2), hour) || !parse_digits(rest.substr(4, 2), minute)) {
      return std::nullopt;
    }
    rest = rest.substr(6);
    if (rest.size() >= 3 && rest[0] == ':') {
      if (!parse_digits(rest.substr(1, 2), second)) return std::nullopt;
      rest = rest.substr(3);
    }
    if (rest.size() >= 2 && rest[0] == '.') {
      const std::size_t digits = std::min(rest.find_first_not_of("0123456789", 1), rest.size()) - 1;
      std::string fraction(rest.substr(1, std::min<std::size_t>(digits, 3)));
      fraction.resize(3, '0');
      if (digits == 0 || !parse_digits(fraction, milliseconds)) return std::nullopt;
      rest = rest.substr(1 + digits);
    }
    if (rest == "Z") {
      rest = "";
    } else if (rest.size() == 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':') {
      int hours = 0;
      int minutes = 0;
      if (!parse_digits(rest.substr(1, 2), hours) || !parse_digits(rest.substr(4, 2), minutes)) return std::nullopt;
      offset_minutes = (rest[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
      rest = "";
    }
    if (!rest.empty()) return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((std::int64_t{days} * 24 + hour) * 60 + minute - offset_minutes) * 60'000 + second * 1000 + milliseconds;
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
  struct Unit {
    char letter;
    bool is_time;  // stands after the T
    std::int64_t ms;
  };
  static constexpr std::array<Unit, 4> kUnits = {Unit{'D', false, 86'400'000}, Unit{'H', true, 3'600'000},
                                                 Unit{'M', true, 60'000}, Unit{'S', true, 1000}};
  const auto sign = [&] {
    if (text.empty() || (text[0] != '-' && text[0] != '+')) return 1;
    const bool is_minus = text[0] == '-';
    text.remove_prefix(1);
    return is_minus ? -1 : 1;
  };
  const auto eat = [&](char letter) {
    const bool is_it = !text.empty() && std::toupper(static_cast<unsigned char>(text[0])) == letter;
    if (is_it) text.remove_prefix(1);
    return is_it;
  };
  const int whole_sign = sign();
  if (!eat('P')) return std::nullopt;
  bool in_time = false;
  bool has_part = false;
  std::int64_t total = 0;
  std::size_t next_unit = 0;  // they come in this order, each at most once
  while (!text.empty()) {
    if (!in_time && eat('T')) {
      in_time = true;
      has_part = false;  // something has to follow
      continue;
    }
    const int part_sign = sign();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    std::int64_t fraction_ms = 0;
    const bool has_fraction = !text.empty() && text[0] == '.';
    if (has_fraction) {
      text.remove_prefix(1);
      std::size_t digits = 0;
      for (std::int64_t scale = 100; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
        fraction_ms += (text[digits] - '0') * scale;
        scale /= 10;
      }
      text.remove_prefix(digits);
    }
    const Unit* unit = nullptr;
    while (next_unit < kUnits.size() && unit == nullptr) {
      const Unit& one = kUnits[next_unit++];
      if (one.is_time == in_time && eat(one.letter)) unit = &one;
    }
    if (unit == nullptr || (has_fraction && unit->letter != 'S')) return std::nullopt;
    std::int64_t part = 0;
    if (__builtin_mul_overflow(number, unit->ms, &part) || __builtin_add_overflow(part, fraction_ms, &part) ||
        __builtin_add_overflow(total, whole_sign * part_sign * part, &total)) {
      return std::nullopt;
    }
    has_part = true;
  }
  if (!has_part) return std::nullopt;
  return total;
}

std::string to_base64(Bytes bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (k < left ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) out += k <= left ? kBase64[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  while (!text.empty()) {
    std::uint32_t word = 0;
    std::size_t padding = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      if (text[k] == '=' && text.size() == 4 && k >= 2) {
        ++padding;
        word <<= 6;
        continue;
      }
      const std::size_t value = kBase64.find(text[k]);
      if (value == std::string_view::npos || padding > 0) return std::nullopt;
      word = word << 6 | static_cast<std::uint32_t>(value);
    }
    for (std::size_t k = 0; k < 3 - padding; ++k) out += static_cast<char>(word >> (16 - 8 * k) & 0xFF);
    text.remove_prefix(4);
  }
  return out;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    std::size_t size = 0;
    std::uint32_t point = 0;
    if (lead < 0x80) {
      size = 1, point = lead;
    } else if (lead >= 0xC2 && lead < 0xE0) {
      size = 2, point = lead & 0x1Fu;
    } else if (lead >= 0xE0 && lead < 0xF0) {
      size = 3, point = lead & 0x0Fu;
    } else if (lead >= 0xF0 && lead < 0xF5) {
      size = 4, point = lead & 0x07u;
    } else {
      return false;
    }
    if (text.size() - i < size) return false;
    for (std::size_t k = 1; k < size; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if ((byte & 0xC0) != 0x80) return false;
      point = point << 6 | (byte & 0x3Fu);
    }
    const bool overlong = (size == 3 && point < 0x800) || (size == 4 && (point < 0x10000 || point > 0x10FFFF));
    if (overlong || (point >= 0xD800 && point < 0xE000)) return false;
    i += size;
  }
  return true;
}

}  // namespace tailrace::cli
