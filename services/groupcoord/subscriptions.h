// Subscriptions: what the members of a consumer group are subscribed to, counted: by name, and by regular expressions
// with the topics that each was found to match. Owned by the group, whose fold keeps it up. PURE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/types.h"
#include "services/groupcoord/consumer_member.h"

namespace tailrace::node {
class MetadataImage;
}

namespace tailrace::groupcoord {

// What a regular expression matched when it was looked up (ConsumerGroupRegularExpression).
struct ResolvedRegex {
  TopicNames topics;
  std::int64_t version = 0;  // of the metadata, as Kafka counts it
  TimestampMs resolved_ms = 0;
  friend bool operator==(const ResolvedRegex&, const ResolvedRegex&) = default;
};

class Subscriptions {
 public:
  struct Count {
    std::size_t by_name = 0;   // members
    std::size_t by_regex = 0;  // regular expressions
    friend bool operator==(const Count&, const Count&) = default;
  };
  using Topics = std::map<std::string, Count, std::less<>>;
  using Regexes = std::map<std::string, std::size_t, std::less<>>;

  void add(const ConsumerMember& member);
  void remove(const ConsumerMember& member);
  void set_resolved(std::string_view regex, ResolvedRegex resolved);
  void drop_resolved(std::string_view regex);

  [[nodiscard]] const Topics& topics() const { return topics_; }
  [[nodiscard]] bool contains(std::string_view topic) const { return topics_.contains(topic); }
  // How many members each regular expression has; those without are not in it.
  [[nodiscard]] const Regexes& regexes() const { return regexes_; }
  [[nodiscard]] std::size_t subscribers(std::string_view regex) const;
  // nullptr: not looked up yet.
  [[nodiscard]] const ResolvedRegex* find_resolved(std::string_view regex) const;
  [[nodiscard]] const std::map<std::string, ResolvedRegex, std::less<>>& resolved() const { return resolved_; }

  // All of `members` members are subscribed to the same topics.
  [[nodiscard]] bool is_homogeneous(std::size_t members) const;
  // The topics that exist and that the member is subscribed to, in ascending order.
  [[nodiscard]] std::vector<Uuid> topic_ids(const ConsumerMember& member, const node::MetadataImage& image) const;

  friend bool operator==(const Subscriptions&, const Subscriptions&) = default;

 private:
  void count_topic(std::string_view topic, std::size_t Count::* kind);
  void uncount_topic(std::string_view topic, std::size_t Count::* kind);

  Topics topics_;
  Regexes regexes_;
  std::map<std::string, ResolvedRegex, std::less<>> resolved_;
};

}  // namespace tailrace::groupcoord
