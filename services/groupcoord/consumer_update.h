// A member of a consumer group that comes or sends its heartbeat, on its way through the group's decisions
// (consumer_update.cc). PURE.
#pragma once

#include <string>

#include "services/groupcoord/consumer_group.h"

namespace tailrace::groupcoord {

struct ConsumerGroup::Update {
  enum class Regex {
    same,
    changed,   // to one whose topics are not known yet
    resolved,  // so that the group's topics are others from now on
  };

  const Moment& moment;
  Effects& effects;
  ConsumerMember before{};  // as it was; of one that is new, nothing but its id
  ConsumerMember member{};  // as it is to be
  OwnedPartitions owned{};
  bool is_new = false;
  bool have_topics_changed = false;
  Regex regex = Regex::same;
  bool has_new_regex = false;  // that nobody had before

  [[nodiscard]] bool has_subscription_changed() const { return have_topics_changed || regex != Regex::same; }
};

// For a member that does not bring one: a UUID in text.
std::string random_member_id(const Chance& chance);

}  // namespace tailrace::groupcoord
