// Schedule: the simulated clock and all that is still to happen. Time jumps from one event to the next; events of one
// instant run in the order in which they were planned. An event that belongs to a process does not run when that
// process is gone. It also keeps the verdict of the run and the hash of its trace, by which two runs of a seed are
// compared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "engine/base/types.h"
#include "tests/sim/random.h"

namespace tailrace::sim {

class Schedule {
 public:
  explicit Schedule(std::uint64_t seed, bool verbose) : random(seed), verbose_(verbose) {}

  [[nodiscard]] Instant now() const { return now_; }
  void after(Duration delay, std::function<void()> happen) { push(delay, {}, false, std::move(happen)); }
  void after(Duration delay, std::weak_ptr<const void> owner, std::function<void()> happen) {
    push(delay, std::move(owner), true, std::move(happen));
  }
  // False: nothing is left to happen.
  bool run_next() {
    if (due_.empty()) return false;
    const Due next = due_.top();
    due_.pop();
    Event event = std::move(events_[next.slot]);
    free_slots_.push_back(next.slot);
    now_ = next.at;
    ++events_run_;
    if (event.has_owner && event.owner.expired()) return true;
    event.happen();
    return true;
  }

  // The run has broken a rule; the first one counts.
  template <class... T>
  void fail(fmt::format_string<T...> format, T&&... args) {
    if (violation_) return;
    violation_ = fmt::format(format, std::forward<T>(args)...);
    note("VIOLATION {}", *violation_);
  }
  [[nodiscard]] const std::optional<std::string>& violation() const { return violation_; }

  template <class... T>
  void note(fmt::format_string<T...> format, T&&... args) {
    const std::string line = fmt::format("{:>10} {}", now_.microseconds, fmt::format(format, std::forward<T>(args)...));
    for (const char each : line) hash_ = (hash_ ^ static_cast<unsigned char>(each)) * 0x100000001B3u;
    if (verbose_) fmt::print("{}\n", line);
  }
  [[nodiscard]] std::uint64_t trace_hash() const { return hash_; }
  [[nodiscard]] std::uint64_t events_run() const { return events_run_; }

  Random random;

 private:
  struct Event {
    std::weak_ptr<const void> owner;
    bool has_owner = false;
    std::function<void()> happen;
  };
  struct Due {  // small: the queue moves it about
    Instant at;
    std::uint64_t number = 0;
    std::size_t slot = 0;                                // of events_
    friend bool operator<(const Due& a, const Due& b) {  // the queue's top is the largest
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };
  void push(Duration delay, std::weak_ptr<const void> owner, bool has_owner, std::function<void()> happen) {
    if (free_slots_.empty()) {
      free_slots_.push_back(events_.size());
      events_.emplace_back();
    }
    const std::size_t slot = free_slots_.back();
    free_slots_.pop_back();
    events_[slot] = {std::move(owner), has_owner, std::move(happen)};
    due_.push({now_ + delay, next_number_++, slot});
  }

  bool verbose_;
  Instant now_{1'000'000};
  std::priority_queue<Due> due_;
  std::vector<Event> events_;
  std::vector<std::size_t> free_slots_;
  std::uint64_t next_number_ = 0;
  std::uint64_t events_run_ = 0;
  std::uint64_t hash_ = 0xCBF29CE484222325u;
  std::optional<std::string> violation_;
};

}  // namespace tailrace::sim
