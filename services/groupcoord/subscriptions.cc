#include "services/groupcoord/subscriptions.h"

#include <algorithm>
#include <utility>

#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {

void Subscriptions::add(const ConsumerMember& member) {
  for (const std::string& topic : member.topics) count_topic(topic, &Count::by_name);
  if (!member.regex.empty()) ++regexes_[member.regex];
}

void Subscriptions::remove(const ConsumerMember& member) {
  for (const std::string& topic : member.topics) uncount_topic(topic, &Count::by_name);
  const auto found = regexes_.find(member.regex);
  if (found != regexes_.end() && --found->second == 0) regexes_.erase(found);
}

void Subscriptions::set_resolved(std::string_view regex, ResolvedRegex resolved) {
  drop_resolved(regex);
  for (const std::string& topic : resolved.topics) count_topic(topic, &Count::by_regex);
  resolved_.insert_or_assign(std::string(regex), std::move(resolved));
}

void Subscriptions::drop_resolved(std::string_view regex) {
  const auto found = resolved_.find(regex);
  if (found == resolved_.end()) return;
  for (const std::string& topic : found->second.topics) uncount_topic(topic, &Count::by_regex);
  resolved_.erase(found);
}

std::size_t Subscriptions::subscribers(std::string_view regex) const {
  const auto found = regexes_.find(regex);
  return found == regexes_.end() ? 0 : found->second;
}

const ResolvedRegex* Subscriptions::find_resolved(std::string_view regex) const {
  const auto found = resolved_.find(regex);
  return found == resolved_.end() ? nullptr : &found->second;
}

bool Subscriptions::is_homogeneous(std::size_t members) const {
  if (regexes_.empty()) {
    return std::ranges::all_of(topics_, [members](const auto& topic) { return topic.second.by_name == members; });
  }
  // One regular expression that all have, and nobody names a topic besides.
  if (regexes_.begin()->second != members) return false;
  return std::ranges::all_of(topics_,
                             [](const auto& topic) { return topic.second.by_regex == 1 && topic.second.by_name == 0; });
}

std::vector<Uuid> Subscriptions::topic_ids(const ConsumerMember& member, const node::MetadataImage& image) const {
  std::vector<Uuid> ids;
  const auto append = [&](const TopicNames& names) {
    for (const std::string& name : names) {
      const node::TopicImage* topic = image.find(std::string_view(name));
      if (topic != nullptr && !topic->id.is_zero()) ids.push_back(topic->id);
    }
  };
  append(member.topics);
  const ResolvedRegex* resolved = member.regex.empty() ? nullptr : find_resolved(member.regex);
  if (resolved != nullptr) append(resolved->topics);
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());
  return ids;
}

void Subscriptions::count_topic(std::string_view topic, std::size_t Count::* kind) {
  auto found = topics_.find(topic);
  if (found == topics_.end()) found = topics_.emplace(std::string(topic), Count{}).first;
  ++(found->second.*kind);
}

void Subscriptions::uncount_topic(std::string_view topic, std::size_t Count::* kind) {
  const auto found = topics_.find(topic);
  if (found == topics_.end()) return;
  if (found->second.*kind > 0) --(found->second.*kind);
  if (found->second == Count{}) topics_.erase(found);
}

}  // namespace tailrace::groupcoord
