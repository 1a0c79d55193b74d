#include "services/groupcoord/topic_regex.h"

#include <memory>

#include <re2/re2.h>

#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {
namespace {

// For one, while topics are looked up. A pattern that needs more is none.
constexpr std::int64_t kMemoryBytesMax = 1 << 20;

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

std::unique_ptr<const re2::RE2> compile(std::string_view regex) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMemoryBytesMax);
  return std::make_unique<const re2::RE2>(piece(regex), options);
}

}  // namespace

std::optional<std::string> what_is_wrong_with(std::string_view regex) {
  const auto compiled = compile(regex);
  if (compiled->ok()) return std::nullopt;
  return compiled->error();
}

std::map<std::string, TopicNames, std::less<>> match_topics(const std::vector<std::string_view>& regexes,
                                                            const node::MetadataImage& image) {
  std::map<std::string, TopicNames, std::less<>> matched;
  for (const std::string_view regex : regexes) {
    TopicNames& topics = matched[std::string(regex)];
    const auto compiled = compile(regex);
    if (!compiled->ok()) continue;
    for (const auto& [name, topic] : image.topics()) {
      if (re2::RE2::FullMatch(piece(name), *compiled)) topics.insert(topics.end(), name);
    }
  }
  return matched;
}

}  // namespace tailrace::groupcoord
