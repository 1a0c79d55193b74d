// How much of something came per second lately, and how long to wait until it is within a bound again: Kafka's two
// measures (Rate over SampledStat, and TokenBucket, KIP-599), with its formulas, so that quotas mean what they mean
// there. PURE.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/types.h"

namespace tailrace::broker {

// quota.window.num and quota.window.size.seconds. Not zero.
struct QuotaWindows {
  std::int64_t count = 11;
  std::int64_t window_ms = 1000;
  [[nodiscard]] std::int64_t span_ms() const { return count * window_ms; }
};

// The sum of the last windows over their time. Early on the windows before the first count as empty ones.
class Rate {
 public:
  void record(double amount, TimestampMs now, const QuotaWindows& windows);
  [[nodiscard]] double per_second(TimestampMs now, const QuotaWindows& windows);
  // How long nothing may come so that the rate falls to `bound`, in milliseconds; 0: it is not above it
  // (QuotaUtils.throttleTime).
  [[nodiscard]] std::int64_t throttle_ms(double bound, TimestampMs now, const QuotaWindows& windows);
  // Nothing that still counts was recorded: as good as new.
  [[nodiscard]] bool is_idle(TimestampMs now, const QuotaWindows& windows) const;

 private:
  struct Sample {
    TimestampMs start = 0;
    TimestampMs last = 0;
    double amount = 0;
  };
  std::int64_t elapsed_ms(TimestampMs now, const QuotaWindows& windows);

  std::vector<Sample> samples_;  // one more than there are windows: the oldest may reach into the time that counts
  std::size_t current_ = 0;
};

// Tokens flow in at the rate of the bound, as many as all windows would hold; what is taken may leave a debt.
class TokenBucket {
 public:
  void take(double amount, double per_second, TimestampMs now, const QuotaWindows& windows);
  // 0: there is no debt.
  [[nodiscard]] std::int64_t throttle_ms(double per_second, TimestampMs now, const QuotaWindows& windows);
  [[nodiscard]] bool is_idle(double per_second, TimestampMs now, const QuotaWindows& windows);

 private:
  void refill(double per_second, TimestampMs now, const QuotaWindows& windows);

  double tokens_ = 0;
  TimestampMs updated_ = kNoTimestamp;  // it is full when first used
};

}  // namespace tailrace::broker
