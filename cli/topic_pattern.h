// Which topics and partitions a command means: names, Java-like regular expressions, and kafka-get-offsets' patterns of
// partitions. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "cli/connection.h"

namespace tailrace::cli {

// A topic's name, or a regular expression that has to match the whole name. It is a pattern when it has a character
// that no name has: `events.v1` is the one topic of this name, `events.*` is a pattern, so a dot in a name never
// means more topics than it says. As in Kafka's tools, `a,b` means `a|b`.
class TopicPattern {
 public:
  // Error: it is empty, or no regular expression.
  static Outcome<TopicPattern> parse(std::string_view text);
  [[nodiscard]] bool matches(std::string_view topic) const;
  [[nodiscard]] bool is_literal() const { return !regex_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::optional<std::regex> regex_;  // none: the text is the name
};

// All patterns of a command line; the first error.
Outcome<std::vector<TopicPattern>> parse_topic_patterns(const std::vector<std::string>& texts);

// "TOPIC:PARTITIONS", of which either may be left out: 3, 0-3 (without 3), 5-, -3.
class PartitionPattern {
 public:
  static Outcome<PartitionPattern> parse(std::string_view text);
  [[nodiscard]] bool matches(std::string_view topic, std::int32_t partition) const;

 private:
  std::optional<TopicPattern> topic_;  // none: any
  std::int64_t begin_ = 0;
  std::int64_t end_ = std::int64_t{1} << 32;  // exclusive
};

}  // namespace tailrace::cli
