// Regular expressions that come from clients. They are RE2's, as in Kafka (RE2/J): matching costs no more than the text
// times the pattern, whatever the pattern is, and the memory of both is bounded. PURE.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace re2 {
class RE2;
}

namespace tailrace::node {

// Of one that members of a group are subscribed by, while topics are looked up.
constexpr std::int64_t kTopicRegexBytesMax = 1 << 20;

class Regex {
 public:
  // Error: what is wrong with it, in RE2's words; also that it needs more than `memory_bytes_max`.
  static std::expected<Regex, std::string> compile(std::string_view pattern, std::int64_t memory_bytes_max);

  [[nodiscard]] bool matches(std::string_view text) const;  // as a whole

 private:
  explicit Regex(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const re2::RE2> compiled_;  // it cannot be copied
};

}  // namespace tailrace::node
