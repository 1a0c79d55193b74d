// The time of day, as records have it.
#pragma once

#include <chrono>

#include "engine/base/types.h"

namespace tailrace::cli {

inline TimestampMs wall_clock_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace tailrace::cli
