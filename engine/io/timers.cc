#include "engine/io/timers.h"

#include "engine/base/check.h"

namespace tailrace::io {

void Timers::place(Timer* timer, std::size_t slot) {
  heap_[slot] = timer;
  timer->slot = slot;
}

void Timers::sift_up(std::size_t slot) {
  Timer* const timer = heap_[slot];
  while (slot > 0) {
    const std::size_t parent = (slot - 1) / 2;
    if (heap_[parent]->due <= timer->due) break;
    place(heap_[parent], slot);
    slot = parent;
  }
  place(timer, slot);
}

void Timers::sift_down(std::size_t slot) {
  Timer* const timer = heap_[slot];
  for (;;) {
    std::size_t child = 2 * slot + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->due < heap_[child]->due) ++child;
    if (timer->due <= heap_[child]->due) break;
    place(heap_[child], slot);
    slot = child;
  }
  place(timer, slot);
}

void Timers::arm(Timer& timer, Instant due) {
  if (timer.armed()) disarm(timer);
  timer.due = due;
  heap_.push_back(&timer);
  sift_up(heap_.size() - 1);
}

void Timers::disarm(Timer& timer) {
  if (!timer.armed()) return;
  const std::size_t slot = timer.slot;
  CHECK(heap_[slot] == &timer);
  timer.slot = Timer::kNotArmed;
  Timer* const last = heap_.back();
  heap_.pop_back();
  if (last == &timer) return;
  place(last, slot);
  sift_up(slot);
  sift_down(last->slot);
}

std::size_t Timers::run(Instant now) {
  std::size_t ran = 0;
  // A timer that arms itself anew for a time that is already due must not keep us here: no more runs than timers.
  const std::size_t limit = heap_.size();
  while (ran < limit && !heap_.empty() && heap_.front()->due <= now) {
    Timer* const timer = heap_.front();
    disarm(*timer);
    ++ran;
    timer->function(timer->owner);
  }
  return ran;
}

}  // namespace tailrace::io
