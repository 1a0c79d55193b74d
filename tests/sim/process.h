// Process: something with a loop. The world turns it when it is woken (a bell, a completion) or a timer of its is due;
// between turns it may be killed, which is the end of the object.
#pragma once

#include <memory>
#include <string>

#include "tests/sim/sim_io.h"
#include "tests/sim/sim_link.h"

namespace tailrace::sim {

class Process {
 public:
  Process(Surroundings& around, std::string name)
      : around_(around), name_(std::move(name)), io_(around, [this] { wake(); }) {}
  virtual ~Process() = default;
  Process(const Process&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  SimIo& io() { return io_; }
  SimLink::Side side() {
    return {io_.files(), [this] { wake(); }, life_};
  }
  void wake() {
    if (turn_planned_) return;
    turn_planned_ = true;
    around_.schedule.after(Duration{around_.schedule.random.below(30)}, life_, [this] { turn(); });
  }

 protected:
  // What the loop does between two turns of io. True: turn again without waiting.
  virtual bool step() = 0;

  Surroundings& around_;

 private:
  void turn() {
    turn_planned_ = false;
    io_.turn(true);
    if (step() || io_.has_completions()) return wake();
    const Instant due = io_.next_timer();
    if (due >= timer_planned_ && timer_planned_ > io_.now()) return;
    if (due.microseconds == std::numeric_limits<std::int64_t>::max()) return;
    timer_planned_ = due;
    const Duration delay = std::max(due - io_.now(), Duration{0});
    around_.schedule.after(delay, life_, [this] { wake(); });
  }

  std::string name_;
  bool turn_planned_ = false;
  Instant timer_planned_;
  std::shared_ptr<const void> life_ = std::make_shared<int>(0);
  SimIo io_;
};

}  // namespace tailrace::sim
