// Timers of one loop: a binary heap of intrusive timers. Arming and disarming cost O(log n) and no allocation beyond
// the heap's array.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::io {

struct Timer {
  using Function = void (*)(void* owner);
  static constexpr std::size_t kNotArmed = static_cast<std::size_t>(-1);

  Function function = nullptr;
  void* owner = nullptr;
  Instant due;
  std::size_t slot = kNotArmed;

  [[nodiscard]] bool armed() const { return slot != kNotArmed; }
  template <auto Method, class Owner>
  void bind(Owner* to) {
    owner = to;
    function = [](void* o) { (static_cast<Owner*>(o)->*Method)(); };
  }
};

class Timers {
 public:
  // An armed timer moves to the new time.
  void arm(Timer& timer, Instant due);
  void disarm(Timer& timer);
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Instant next() const { return heap_.front()->due; }
  // Runs what is due at `now`, in order of time, at most as many as are armed now. Returns how many ran.
  std::size_t run(Instant now);

 private:
  void place(Timer* timer, std::size_t slot);
  void sift_up(std::size_t slot);
  void sift_down(std::size_t slot);

  std::vector<Timer*> heap_;
};

}  // namespace tailrace::io
