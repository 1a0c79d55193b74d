// How a subscription to the metrics of clients chooses its clients (KIP-714): PARAMETER=PATTERN,... The patterns come
// from clients, and are bounded (regex.h); what refuses a subscription and what applies it read them here. PURE.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "services/node/regex.h"

namespace tailrace::node {

constexpr std::size_t kPatternBytesMax = 1024;

// Of a parameter that is named twice the last pattern counts, as in Kafka.
using ClientMatch = std::map<std::string, Regex, std::less<>>;

// Error: the entry that is none (ClientMetricsConfigs).
std::expected<ClientMatch, std::string> parse_client_match(std::string_view text);

}  // namespace tailrace::node
