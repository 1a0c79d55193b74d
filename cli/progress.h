// A line on stderr about long work, renewed every second, and only when a person looks at it.
#pragma once

#include <chrono>
#include <cstdint>

namespace tailrace::cli {

class Progress {
 public:
  Progress();
  // Cheap enough to call per buffer: it looks at the clock and seldom writes.
  void show(std::uint64_t records, std::uint64_t bytes);
  // The last line, with the average over all.
  void finish(std::uint64_t records, std::uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;
  bool is_terminal_;
  Clock::time_point start_;
  Clock::time_point last_;
  std::uint64_t last_bytes_ = 0;
};

}  // namespace tailrace::cli
