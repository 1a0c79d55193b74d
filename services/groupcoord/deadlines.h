// Deadlines of many things, most of which are put off long before they come (a member's session by each heartbeat).
// Putting one off costs O(1): the heap keeps the older time and looks again when that comes. PURE.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::groupcoord {

template <class Key>
class Deadlines {
 public:
  void set(const Key& key, Instant due) {
    const auto [at, is_new] = due_.try_emplace(key, Due{due, due});
    if (is_new) return heap_.push({due, key});
    at->second.due = due;
    if (due >= at->second.queued) return;
    at->second.queued = due;
    heap_.push({due, key});
  }
  void clear(const Key& key) { due_.erase(key); }
  [[nodiscard]] bool has(const Key& key) const { return due_.contains(key); }
  [[nodiscard]] std::size_t size() const { return due_.size(); }

  // When to call take_due again, not later than the first deadline; nullopt: there is none.
  [[nodiscard]] std::optional<Instant> next() const {
    if (due_.empty()) return std::nullopt;
    return heap_.top().at;
  }
  // The keys whose time has come, in order of time; they have no deadline any more.
  std::vector<Key> take_due(Instant now) {
    std::vector<Key> taken;
    while (!heap_.empty() && heap_.top().at <= now) {
      const Entry entry = heap_.top();
      heap_.pop();
      const auto found = due_.find(entry.key);
      if (found == due_.end() || found->second.queued != entry.at) continue;  // cleared, or queued anew
      if (found->second.due <= now) {
        due_.erase(found);
        taken.push_back(entry.key);
      } else {
        found->second.queued = found->second.due;
        heap_.push({found->second.due, entry.key});
      }
    }
    return taken;
  }

 private:
  struct Due {
    Instant due;
    Instant queued;  // the entry of the heap that counts
  };
  struct Entry {
    Instant at;
    Key key;
    friend bool operator>(const Entry& a, const Entry& b) { return a.at > b.at; }
  };

  std::map<Key, Due> due_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace tailrace::groupcoord
