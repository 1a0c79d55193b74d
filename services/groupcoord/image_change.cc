#include "services/groupcoord/image_change.h"

#include <algorithm>

#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {
namespace {

// Older controllers do not say ids.
bool is_same_topic(const node::TopicImage& a, const node::TopicImage& b) {
  return a.id == b.id || a.id.is_zero() || b.id.is_zero();
}

bool is_same_place(const node::BrokerImage& a, const node::BrokerImage& b) { return a.id == b.id && a.rack == b.rack; }

}  // namespace

// Topics that did not change are the same objects in both images.
ImageChange ImageChange::between(const node::MetadataImage& before, const node::MetadataImage& now) {
  ImageChange change;
  auto old = before.topics().begin();
  const auto append_deleted = [&] {
    if (!now.brokers().empty()) change.deleted_topics.push_back({old->first, old->second->id});
  };
  const auto append_gone_before = [&](const std::string* name) {
    for (; old != before.topics().end() && (name == nullptr || old->first < *name); ++old) {
      change.topics.push_back(old->first);
      append_deleted();
    }
  };
  for (const auto& [name, topic] : now.topics()) {
    append_gone_before(&name);
    if (old == before.topics().end() || old->first != name) {
      change.topics.push_back(name);
      change.has_new_topics = true;
      continue;
    }
    if (old->second != topic) {
      change.topics.push_back(name);
      if (!is_same_topic(*old->second, *topic)) append_deleted();
    }
    ++old;
  }
  append_gone_before(nullptr);
  change.have_racks_changed = !std::ranges::equal(before.brokers(), now.brokers(), is_same_place);
  return change;
}

}  // namespace tailrace::groupcoord
