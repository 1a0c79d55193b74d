// Random: the one source of chance of a simulated world. Everything that a run does follows from its seed.
#pragma once

#include <cstdint>

namespace tailrace::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x1234567u) {}

  // splitmix64
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  // [0, bound); 0 for a bound of 0.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  // Both ends inclusive.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  bool percent(std::uint64_t chance) { return below(100) < chance; }

 private:
  std::uint64_t state_;
};

}  // namespace tailrace::sim
