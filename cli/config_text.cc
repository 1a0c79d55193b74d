#include "cli/config_text.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace tailrace::cli {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{64} << 20;
constexpr std::string_view kBlanks = " \t\r\f";

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Java's escapes that occur in such files: a backslash and one character.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 'f' ? '\f' : c;
  }
  return out;
}

bool continues(std::string_view line) {
  const std::size_t last = line.find_last_not_of('\\');
  const std::size_t backslashes = last == std::string_view::npos ? line.size() : line.size() - last - 1;
  return backslashes % 2 == 1;
}

// The end of a key: the first '=', ':' or blank that no backslash stands before.
std::size_t key_end(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '=' || line[i] == ':' || kBlanks.find(line[i]) != std::string_view::npos) {
      return i;
    }
  }
  return line.size();
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Outcome<std::pair<std::string, std::string>> parse_key_value(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view key = trim(text.substr(0, equals));
  if (equals == std::string_view::npos || key.empty()) {
    return std::unexpected(fmt::format("\"{}\" is not KEY=VALUE", text));
  }
  return std::pair(std::string(key), std::string(trim(text.substr(equals + 1))));
}

Outcome<KeyValues> parse_key_values(std::string_view text) {
  KeyValues all;
  std::string_view left = text;
  while (!trim(left).empty()) {
    std::size_t end = 0;  // of this pair
    int depth = 0;
    for (; end < left.size() && (depth > 0 || left[end] != ','); ++end) {
      if (left[end] == '[') ++depth;
      if (left[end] == ']' && depth > 0) --depth;
    }
    if (depth > 0) return std::unexpected(fmt::format("a square bracket is not closed in \"{}\"", text));
    auto pair = parse_key_value(left.substr(0, end));
    if (!pair) return std::unexpected(pair.error());
    std::string& value = pair->second;
    if (value.size() >= 2 && value.front() == '[' && value.back() == ']') value = value.substr(1, value.size() - 2);
    for (const auto& [key, other] : all) {
      if (key == pair->first) return std::unexpected(fmt::format("{} stands twice", key));
    }
    all.push_back(std::move(*pair));
    left = end < left.size() ? left.substr(end + 1) : std::string_view();
  }
  if (all.empty()) return std::unexpected(std::string("no KEY=VALUE is given"));
  return all;
}

Outcome<KeyValues> parse_properties(std::string_view text) {
  KeyValues all;
  std::size_t number = 0;
  while (!text.empty()) {
    std::string line;
    std::size_t first = 0;
    for (bool more = true; more && !text.empty();) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view part = trim(text.substr(0, end));
      text = end < text.size() ? text.substr(end + 1) : std::string_view();
      if (++number; first == 0) first = number;
      const bool is_comment = line.empty() && !part.empty() && (part[0] == '#' || part[0] == '!');
      more = !is_comment && continues(part);
      if (more) part.remove_suffix(1);
      if (!is_comment) line += part;
    }
    if (line.empty()) continue;
    const std::string_view whole = line;
    const std::size_t end = key_end(whole);
    std::string_view value = trim(whole.substr(end));
    if (!value.empty() && (value[0] == '=' || value[0] == ':')) value = trim(value.substr(1));
    std::string key = unescape(whole.substr(0, end));
    if (key.empty()) return std::unexpected(fmt::format("line {} has no key: \"{}\"", first, line));
    std::erase_if(all, [&](const auto& pair) { return pair.first == key; });
    all.emplace_back(std::move(key), unescape(value));
  }
  return all;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (const std::string_view one = trim(text.substr(0, comma)); !one.empty()) all.emplace_back(one);
    text = comma < text.size() ? text.substr(comma + 1) : std::string_view();
  }
  return all;
}

std::optional<std::int64_t> parse_integer(std::string_view text) { return parse_number<std::int64_t>(text); }

std::optional<double> parse_real(std::string_view text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<double> parse_size(std::string_view text) {
  struct Unit {
    std::string_view name;
    double factor;
  };
  constexpr double kKibi = 1024;
  static constexpr Unit kUnits[] = {
      {"KiB", kKibi}, {"MiB", kKibi * kKibi}, {"GiB", kKibi * kKibi * kKibi}, {"kB", 1e3},  {"MB", 1e6}, {"GB", 1e9},
      {"K", kKibi},   {"M", kKibi * kKibi},   {"G", kKibi * kKibi * kKibi},   {"k", kKibi}, {"B", 1}};
  double factor = 1;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    text = trim(text.substr(0, text.size() - unit.name.size()));
    factor = unit.factor;
    break;
  }
  const auto number = parse_real(text);
  if (!number || !std::isfinite(*number * factor)) return std::nullopt;
  return *number * factor;
}

Outcome<std::string> read_text_file(const std::string& path) {
  const auto close = [](std::FILE* file) {
    if (file != stdin) std::fclose(file);
  };
  const std::unique_ptr<std::FILE, decltype(close)> file(path == "-" ? stdin : std::fopen(path.c_str(), "re"), close);
  if (!file) return std::unexpected(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::string text;
  char piece[64 << 10];
  while (const std::size_t count = std::fread(piece, 1, sizeof piece, file.get())) {
    text.append(piece, count);
    if (text.size() > kFileBytesMax) return std::unexpected(fmt::format("{} is larger than 64 MiB", path));
  }
  if (std::ferror(file.get()) != 0)
    return std::unexpected(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return text;
}

}  // namespace tailrace::cli
