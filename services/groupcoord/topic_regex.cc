#include "services/groupcoord/topic_regex.h"

#include "services/node/metadata_image.h"
#include "services/node/regex.h"

namespace tailrace::groupcoord {

std::map<std::string, TopicNames, std::less<>> match_topics(const std::vector<std::string_view>& regexes,
                                                            const node::MetadataImage& image) {
  std::map<std::string, TopicNames, std::less<>> matched;
  for (const std::string_view regex : regexes) {
    TopicNames& topics = matched[std::string(regex)];
    const auto compiled = node::Regex::compile(regex, node::kTopicRegexBytesMax);
    if (!compiled) continue;
    for (const auto& [name, topic] : image.topics()) {
      if (compiled->matches(name)) topics.insert(topics.end(), name);
    }
  }
  return matched;
}

}  // namespace tailrace::groupcoord
