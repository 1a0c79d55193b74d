#include "services/groupcoord/assignor_mixed.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "services/groupcoord/partition_owners.h"

namespace tailrace::groupcoord {
namespace {

using Member = PartitionOwners::Member;
using Topic = PartitionOwners::Topic;

// Each round about halves what is left to improve; subscriptions that overlap in unkind ways may never settle.
constexpr int kRoundsMax = 16;

// A topic's subscribers, those with the fewest partitions first.
std::vector<Member> by_load(const PartitionOwners& owners, const Topic& topic) {
  std::vector<Member> sorted = topic.subscribers;
  std::ranges::sort(sorted, {}, [&owners](Member member) { return std::pair(owners.load(member), member); });
  return sorted;
}

// Of some members the one with the fewest partitions; among equals the one that was first in the beginning.
class Takers {
 public:
  Takers(const PartitionOwners& owners, const std::vector<Member>& sorted) {
    for (std::size_t rank = 0; rank < sorted.size(); ++rank) {
      queue_.push({owners.load(sorted[rank]), rank, sorted[rank]});
    }
  }
  // The one it names gets a partition.
  Member take() {
    Entry first = queue_.top();
    queue_.pop();
    queue_.push({first.load + 1, first.rank, first.member});
    return first.member;
  }

 private:
  struct Entry {
    std::size_t load;
    std::size_t rank;
    Member member;
    friend bool operator>(const Entry& a, const Entry& b) {
      return std::pair(a.load, a.rank) > std::pair(b.load, b.rank);
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

// Of some members the one with the most partitions. They give in rounds: each of those with the most gives one, then
// the members that have as many as these now join them.
class Givers {
 public:
  Givers(const PartitionOwners& owners, std::vector<Member> sorted)
      : owners_(owners), rest_(std::move(sorted)), load_(owners.load(rest_.back()) + 1) {}

  // The one it names gives a partition, or is dropped. nullopt: nobody has any to give.
  std::optional<Member> next() {
    if (next_ == 0) begin_round();
    if (next_ == 0) return std::nullopt;
    return most_[--next_];
  }
  // The one that was named last has none of the partitions in question.
  void drop() {
    most_[next_] = most_.back();
    most_.pop_back();
  }

 private:
  void begin_round() {
    if (most_.empty() && !rest_.empty()) {
      load_ = owners_.load(rest_.back());
    } else {
      --load_;
    }
    auto joining = rest_.end();
    while (joining != rest_.begin() && owners_.load(*std::prev(joining)) == load_) --joining;
    most_.insert(most_.begin(), joining, rest_.end());
    rest_.erase(joining, rest_.end());
    next_ = most_.size();
  }

  const PartitionOwners& owners_;
  std::vector<Member> most_;  // have load_ partitions, less those that gave in this round
  std::vector<Member> rest_;  // have fewer
  std::size_t next_ = 0;      // of most_ those before it have not been named in this round
  std::size_t load_;
};

class MixedAssignment {
 public:
  explicit MixedAssignment(const AssignorInput& input) : owners_(input) {}

  std::vector<Assignment> make() {
    const std::vector<const Topic*> topics = in_order();
    for (const Topic* topic : topics) give_out(*topic);
    balance(topics);
    return owners_.assignments();
  }

 private:
  // Topics with the most partitions per subscriber first, then those with fewer subscribers: what they need is harder
  // to find later.
  [[nodiscard]] std::vector<const Topic*> in_order() const {
    std::vector<const Topic*> topics;
    for (const Topic& topic : owners_.topics()) {
      if (!topic.subscribers.empty()) topics.push_back(&topic);
    }
    std::ranges::sort(topics, [](const Topic* a, const Topic* b) {
      const double a_share = static_cast<double>(a->count) / static_cast<double>(a->subscribers.size());
      const double b_share = static_cast<double>(b->count) / static_cast<double>(b->subscribers.size());
      if (a_share != b_share) return a_share > b_share;
      return std::pair(a->subscribers.size(), a) < std::pair(b->subscribers.size(), b);
    });
    return topics;
  }

  void give_out(const Topic& topic) {
    Takers takers(owners_, by_load(owners_, topic));
    for (std::size_t at = topic.first; at < topic.first + topic.count; ++at) {
      if (owners_.owner(at) == PartitionOwners::kNobody) owners_.give(at, takers.take());
    }
  }

  // Until a whole round over the topics has changed nothing.
  void balance(const std::vector<const Topic*>& topics) {
    std::vector<const Topic*> movable;
    std::ranges::copy_if(topics, std::back_inserter(movable),
                         [](const Topic* topic) { return topic->subscribers.size() > 1; });
    std::optional<std::size_t> last_changed;
    for (int round = 0; round < kRoundsMax; ++round) {
      for (std::size_t i = 0; i < movable.size(); ++i) {
        if (i == last_changed) return;
        if (balance(*movable[i]) || !last_changed) last_changed = i;
      }
    }
  }

  // True: partitions of the topic moved.
  bool balance(const Topic& topic) {
    const std::vector<Member> sorted = by_load(owners_, topic);
    if (owners_.load(sorted.back()) - owners_.load(sorted.front()) <= 1) return false;
    std::map<Member, std::vector<std::size_t>> owned;
    for (std::size_t at = topic.first; at < topic.first + topic.count; ++at) owned[owners_.owner(at)].push_back(at);

    bool has_moved = false;
    Takers takers(owners_, sorted);
    Givers givers(owners_, sorted);
    while (const std::optional<Member> giver = givers.next()) {
      std::vector<std::size_t>& has = owned[*giver];
      if (has.empty()) {
        givers.drop();
        continue;
      }
      const Member taker = takers.take();
      if (owners_.load(*giver) <= owners_.load(taker) + 1) break;
      owners_.give(has.back(), taker);
      has.pop_back();
      has_moved = true;
    }
    return has_moved;
  }

  PartitionOwners owners_;
};

}  // namespace

std::vector<Assignment> assign_mixed(const AssignorInput& input) { return MixedAssignment(input).make(); }

}  // namespace tailrace::groupcoord
