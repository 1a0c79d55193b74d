// ImageChange: what differs between two images of the cluster as far as groups care. It is made once for all groups of
// a node: images change often, and most changes concern few of them. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::node {
class MetadataImage;
}

namespace tailrace::groupcoord {

struct DeletedTopic {
  std::string name;
  Uuid id;  // zero: not known
};

// Borrows from both images.
struct ImageChange {
  std::vector<std::string_view> topics;  // that came, went or are not quite the same, in order of name
  // None when `now` has no brokers: that is the image of a node that has not heard of any yet.
  std::vector<DeletedTopic> deleted_topics;
  bool has_new_topics = false;
  bool have_racks_changed = false;  // of brokers, which are part of what a topic is to a group

  static ImageChange between(const node::MetadataImage& before, const node::MetadataImage& now);
};

}  // namespace tailrace::groupcoord
