#include "services/node/client_match.h"

#include <algorithm>
#include <iterator>

#include <re2/re2.h>

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

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

// Null: not a pattern, or one that is too large.
std::shared_ptr<const re2::RE2> compile(std::string_view pattern) {
  if (pattern.size() > kPatternBytesMax) return nullptr;
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemoryBytes);
  auto compiled = std::make_shared<const re2::RE2>(piece(pattern), options);
  return compiled->ok() ? std::move(compiled) : nullptr;
}

}  // namespace

std::expected<ClientMatch, std::string> parse_client_match(std::string_view text) {
  ClientMatch match;
  for (const std::string_view entry : split_list(text)) {
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = trim(entry.substr(0, equals));
    const std::string_view pattern = entry.substr(std::min(equals + 1, entry.size()));
    const bool is_known = std::ranges::find(kClientParameters, name) != std::end(kClientParameters);
    if (!is_known || pattern.empty() || pattern.find('=') != std::string_view::npos) {
      return std::unexpected(std::string(entry));
    }
    auto compiled = compile(trim(pattern));
    if (compiled == nullptr) return std::unexpected(std::string(entry));
    match[std::string(name)] = std::move(compiled);
  }
  return match;
}

bool matches(const re2::RE2& pattern, std::string_view text) { return re2::RE2::FullMatch(piece(text), pattern); }

}  // namespace tailrace::node
