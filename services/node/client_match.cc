#include "services/node/client_match.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "services/node/settings.h"

namespace tailrace::node {
namespace {

constexpr std::int64_t kPatternMemoryBytes = 64 << 10;
constexpr std::string_view kClientParameters[] = {"client_id",
                                                  "client_instance_id",
                                                  "client_software_name",
                                                  "client_software_version",
                                                  "client_source_address",
                                                  "client_source_port"};

}  // namespace

std::expected<ClientMatch, std::string> parse_client_match(std::string_view text) {
  ClientMatch match;
  for (const std::string_view entry : split_list(text)) {
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = trim(entry.substr(0, equals));
    const std::string_view pattern = entry.substr(std::min(equals + 1, entry.size()));
    const bool is_known = std::ranges::find(kClientParameters, name) != std::end(kClientParameters);
    const bool is_sound = is_known && !pattern.empty() && pattern.find('=') == std::string_view::npos &&
                          trim(pattern).size() <= kPatternBytesMax;
    if (!is_sound) return std::unexpected(std::string(entry));
    auto compiled = Regex::compile(trim(pattern), kPatternMemoryBytes);
    if (!compiled) return std::unexpected(std::string(entry));
    match.insert_or_assign(std::string(name), *std::move(compiled));
  }
  return match;
}

}  // namespace tailrace::node
