// RecentBatches: where the newest batches of the active segment lie, so that a read at the tail and the search for a
// high watermark near it need no look at the disk. Owned by the log; forgotten when the active segment changes or is
// cut.
#pragma once

#include <array>
#include <cstdint>

#include "engine/base/types.h"

namespace tailrace::log {

// One stored batch.
struct BatchPlace {
  Position position = 0;
  std::uint32_t size_bytes = 0;
  Offset base_offset = kNoOffset;
  Offset last_offset = kNoOffset;
};

class RecentBatches {
 public:
  static constexpr std::uint32_t kBatches = 32;

  void clear() { count_ = 0; }
  void push(const BatchPlace& place) { places_[count_++ % kBatches] = place; }

  // The first batch with a last offset >= `offset`; nullptr when it may be an older one than what is known here, or is
  // behind all of them.
  [[nodiscard]] const BatchPlace* find(Offset offset) const {
    const std::uint64_t oldest = count_ > kBatches ? count_ - kBatches : 0;
    if (count_ == 0 || at(oldest).base_offset > offset || at(count_ - 1).last_offset < offset) return nullptr;
    std::uint64_t low = oldest;
    std::uint64_t high = count_ - 1;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (at(middle).last_offset < offset) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return &at(low);
  }

 private:
  [[nodiscard]] const BatchPlace& at(std::uint64_t index) const { return places_[index % kBatches]; }

  std::array<BatchPlace, kBatches> places_;
  std::uint64_t count_ = 0;
};

}  // namespace tailrace::log
