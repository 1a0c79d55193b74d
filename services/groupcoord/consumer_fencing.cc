// How members leave a consumer group: on their own, or because they were silent for too long.
#include <set>

#include <fmt/format.h>

#include "services/groupcoord/consumer_group.h"
#include "services/groupcoord/consumer_records.h"
#include "services/groupcoord/metadata_hash.h"
#include "services/node/metadata_image.h"

namespace tailrace::groupcoord {

void ConsumerGroup::write_tombstones_of(std::string_view member, Effects& effects) {
  write(current_assignment_tombstone(id(), member), effects);
  write(target_tombstone(id(), member), effects);
  write(member_tombstone(id(), member), effects);
}

// The ids are of members, each once.
void ConsumerGroup::fence(const std::vector<std::string>& ids, const Moment& moment, Effects& effects) {
  const std::set<std::string_view> leaving(ids.begin(), ids.end());
  if (may_become_classic(leaving) &&
      become_classic(leaving, true, "the last member of the consumer protocol left", moment, effects)) {
    return;
  }
  std::set<std::string> regexes;
  for (const std::string& member : ids) {
    const ConsumerMember* known = find(member);
    if (known != nullptr && !known->regex.empty()) regexes.insert(known->regex);
    write_tombstones_of(member, effects);
  }
  for (const std::string& regex : regexes) {
    if (subscriptions_.subscribers(regex) == 0) write(regex_tombstone(id(), regex), effects);
  }
  write(group_epoch_record(id(), epoch_ + 1, metadata_hash(subscriptions_.topics(), *context_.image)), effects);
  // Whoever comes next need not wait for the assignment interval.
  if (members_.empty()) write(target_epoch_record(id(), epoch_, 0), effects);
}

}  // namespace tailrace::groupcoord
