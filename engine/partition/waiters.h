// PURE. Waiters: "tell me once when ...". acks=1 is "when our own safe end is at x or beyond", acks=all the same of the
// high watermark, a long poll is "when the readable end is beyond y". Tokens are the caller's; each comes back exactly
// once, by being due, failed or cancelled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::partition {

struct WaiterToken {
  std::uint64_t session = 0;
  std::uint64_t request = 0;
  friend bool operator==(const WaiterToken&, const WaiterToken&) = default;
};

class Waiters {
 public:
  struct Acknowledgement {
    Offset end = 0;  // due when the awaited end is here or beyond
    WaiterToken token;
    Offset base_offset = 0;
    TimestampMs timestamp = kNoTimestamp;
    bool duplicate = false;
  };
  struct Watch {
    Offset beyond = 0;  // due when the end readable in this isolation is greater
    Offset from = 0;    // what is to be read: due, too, when the log starts above it
    bool committed_only = false;
    WaiterToken token;
  };

  // In order of offsets, but for duplicates, which may come late: those wait with the newest instead.
  void acknowledge_local(Acknowledgement acknowledgement) { push(local_, acknowledgement); }
  void acknowledge_replicated(Acknowledgement acknowledgement) { push(replicated_, acknowledgement); }
  void watch(const Watch& watch) { watches_.push_back(watch); }

  void cancel_watch(const WaiterToken& token) {
    std::erase_if(watches_, [&](const Watch& each) { return each.token == token; });
  }
  // A session is gone: nobody is to be told.
  void cancel_session(std::uint64_t session) {
    std::erase_if(watches_, [&](const Watch& each) { return each.token.session == session; });
    for (auto* queue : {&local_, &replicated_}) {
      std::erase_if(*queue, [&](const Acknowledgement& each) { return each.token.session == session; });
    }
  }

  // Calls `due` for each acknowledgement that the two ends have reached.
  template <class Due>
  void take_acknowledged(Offset safe_end, Offset high_watermark, Due&& due) {
    take_until(local_, safe_end, due);
    take_until(replicated_, high_watermark, due);
  }
  // Calls `failed` for every acknowledgement beyond `end`: what they wait for is lost.
  template <class Failed>
  void take_beyond(Offset end, Failed&& failed) {
    for (auto* queue : {&local_, &replicated_}) {
      while (!queue->empty() && queue->back().end > end) {
        const Acknowledgement acknowledgement = queue->back();
        queue->pop_back();
        failed(acknowledgement);
      }
    }
  }
  template <class Due>
  void take_readable(Offset high_watermark, Offset last_stable_offset, Due&& due) {
    if (watches_.empty()) return;
    due_.clear();
    std::erase_if(watches_, [&](const Watch& each) {
      if ((each.committed_only ? last_stable_offset : high_watermark) <= each.beyond) return false;
      due_.push_back(each);
      return true;
    });
    for (const Watch& each : due_) due(each);
  }
  template <class Due>
  void take_below(Offset log_start, Due&& due) {
    due_.clear();
    std::erase_if(watches_, [&](const Watch& each) {
      if (each.from >= log_start) return false;
      due_.push_back(each);
      return true;
    });
    for (const Watch& each : due_) due(each);
  }
  // Everything that watches, for instance because the partition goes away.
  template <class Due>
  void take_all_watches(Due&& due) {
    due_.clear();
    due_.swap(watches_);
    for (const Watch& each : due_) due(each);
  }

 private:
  static void push(std::deque<Acknowledgement>& queue, Acknowledgement& acknowledgement) {
    if (!queue.empty()) acknowledgement.end = std::max(acknowledgement.end, queue.back().end);
    queue.push_back(acknowledgement);
  }
  template <class Due>
  static void take_until(std::deque<Acknowledgement>& queue, Offset end, Due& due) {
    while (!queue.empty() && queue.front().end <= end) {
      const Acknowledgement acknowledgement = queue.front();
      queue.pop_front();
      due(acknowledgement);
    }
  }

  std::deque<Acknowledgement> local_;
  std::deque<Acknowledgement> replicated_;
  std::vector<Watch> watches_;
  std::vector<Watch> due_;
};

}  // namespace tailrace::partition
