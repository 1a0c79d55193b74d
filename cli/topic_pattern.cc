#include "cli/topic_pattern.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/config_text.h"

namespace tailrace::cli {
namespace {

bool stands_in_names(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

// A bound of a range: nothing when it is left out.
Outcome<std::optional<std::int64_t>> parse_bound(std::string_view text, std::string_view whole) {
  if (text.empty()) return std::nullopt;
  const auto number = parse_integer(text);
  if (!number || *number < 0) return std::unexpected(fmt::format("\"{}\" names no partitions", whole));
  return number;
}

}  // namespace

Outcome<TopicPattern> TopicPattern::parse(std::string_view text) {
  TopicPattern pattern;
  pattern.text_ = text;
  if (text.empty()) return std::unexpected(std::string("a topic's name is empty"));
  if (std::all_of(text.begin(), text.end(), stands_in_names)) return pattern;
  std::string expression(text);
  std::replace(expression.begin(), expression.end(), ',', '|');
  try {  // the library says it by exceptions only
    pattern.regex_.emplace(expression, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error&) {
    return std::unexpected(fmt::format("\"{}\" is neither a topic's name nor a regular expression", text));
  }
  return pattern;
}

bool TopicPattern::matches(std::string_view topic) const {
  if (!regex_) return topic == text_;
  try {
    return std::regex_match(topic.begin(), topic.end(), *regex_);
  } catch (const std::regex_error&) {  // too complex for this name
    return false;
  }
}

Outcome<std::vector<TopicPattern>> parse_topic_patterns(const std::vector<std::string>& texts) {
  std::vector<TopicPattern> all;
  for (const std::string& text : texts) {
    auto pattern = TopicPattern::parse(text);
    if (!pattern) return std::unexpected(pattern.error());
    all.push_back(std::move(*pattern));
  }
  return all;
}

Outcome<PartitionPattern> PartitionPattern::parse(std::string_view text) {
  PartitionPattern pattern;
  const std::size_t colon = text.find(':');
  if (const std::string_view topic = text.substr(0, colon); !topic.empty()) {
    auto parsed = TopicPattern::parse(topic);
    if (!parsed) return std::unexpected(parsed.error());
    pattern.topic_ = std::move(*parsed);
  }
  if (colon == std::string_view::npos) return pattern;
  const std::string_view range = text.substr(colon + 1);
  const std::size_t dash = range.find('-');
  auto begin = parse_bound(range.substr(0, dash), text);
  if (!begin) return std::unexpected(begin.error());
  if (*begin) pattern.begin_ = **begin;
  if (dash == std::string_view::npos) {
    if (*begin) pattern.end_ = **begin + 1;
    return pattern;
  }
  auto end = parse_bound(range.substr(dash + 1), text);
  if (!end) return std::unexpected(end.error());
  if (*end) pattern.end_ = **end;
  if (pattern.end_ <= pattern.begin_) return std::unexpected(fmt::format("\"{}\" names no partitions", text));
  return pattern;
}

bool PartitionPattern::matches(std::string_view topic, std::int32_t partition) const {
  return partition >= begin_ && partition < end_ && (!topic_ || topic_->matches(topic));
}

}  // namespace tailrace::cli
