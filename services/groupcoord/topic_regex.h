// The topics of regular expressions that members of consumer groups are subscribed by. PURE.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/groupcoord/consumer_member.h"

namespace tailrace::node {
class MetadataImage;
}

namespace tailrace::groupcoord {

// The topics of the image whose whole names match, by regular expression. One that is none matches nothing.
[[nodiscard]] std::map<std::string, TopicNames, std::less<>> match_topics(const std::vector<std::string_view>& regexes,
                                                                          const node::MetadataImage& image);

}  // namespace tailrace::groupcoord
