// How a subscription to the metrics of clients chooses its clients (KIP-714): PARAMETER=PATTERN,... The patterns come
// from clients, so they are RE2's, which costs no more than their text, in memory and time, whatever they are; what
// refuses a subscription and what applies it read them here. PURE.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace tailrace::node {

constexpr std::size_t kPatternBytesMax = 1024;

// Of a parameter that is named twice the last pattern counts, as in Kafka.
using ClientMatch = std::map<std::string, std::shared_ptr<const re2::RE2>, std::less<>>;

// Error: the entry that is none (ClientMetricsConfigs).
std::expected<ClientMatch, std::string> parse_client_match(std::string_view text);
bool matches(const re2::RE2& pattern, std::string_view text);  // as a whole

}  // namespace tailrace::node
