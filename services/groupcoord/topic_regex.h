// Regular expressions that members of consumer groups are subscribed by. They come from clients, so they are RE2's, as
// in Kafka: matching costs no more than the topic's name times the pattern, whatever the pattern is. A topic matches
// when its whole name does. PURE.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/groupcoord/consumer_member.h"

namespace tailrace::node {
class MetadataImage;
}

namespace tailrace::groupcoord {

// What is wrong with it; nullopt: nothing.
[[nodiscard]] std::optional<std::string> what_is_wrong_with(std::string_view regex);

// The topics of the image that match, by regular expression. One that is none matches nothing.
[[nodiscard]] std::map<std::string, TopicNames, std::less<>> match_topics(const std::vector<std::string_view>& regexes,
                                                                          const node::MetadataImage& image);

}  // namespace tailrace::groupcoord
