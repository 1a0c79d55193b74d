#include "services/groupcoord/image_change.h"

#include <algorithm>

#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {
namespace {

bool is_same_place(const node::BrokerImage& a, const node::BrokerImage& b) { return a.id == b.id && a.rack == b.rack; }

}  // namespace

// Topics that did not change are the same objects in both images.
ImageChange ImageChange::between(const node::MetadataImage& before, const node::MetadataImage& now) {
  ImageChange change;
  auto old = before.topics().begin();
  const auto append_gone_before = [&](const std::string* name) {
    for (; old != before.topics().end() && (name == nullptr || old->first < *name); ++old) {
      change.topics.push_back(old->first);
    }
  };
  for (const auto& [name, topic] : now.topics()) {
    append_gone_before(&name);
    if (old == before.topics().end() || old->first != name) {
      change.topics.push_back(name);
      change.has_new_topics = true;
      continue;
    }
    if (old->second != topic) change.topics.push_back(name);
    ++old;
  }
  append_gone_before(nullptr);
  change.have_racks_changed = !std::ranges::equal(before.brokers(), now.brokers(), is_same_place);
  return change;
}

}  // namespace tailrace::groupcoord
