#include "services/broker/rate.h"

#include <algorithm>
#include <cmath>

namespace tailrace::broker {

void Rate::record(double amount, TimestampMs now, const QuotaWindows& windows) {
  if (samples_.empty()) samples_.push_back({now, now, 0});
  if (now - samples_[current_].start >= windows.window_ms) {
    current_ = (current_ + 1) % static_cast<std::size_t>(windows.count + 1);
    if (current_ >= samples_.size()) {
      current_ = samples_.size();
      samples_.push_back({now, now, 0});
    } else {
      samples_[current_] = {now, now, 0};
    }
  }
  samples_[current_].amount += amount;
  samples_[current_].last = now;
}

// From the oldest sample that counts, and never less than all windows but the current one: what was before the first
// sample counts as time in which nothing came.
std::int64_t Rate::elapsed_ms(TimestampMs now, const QuotaWindows& windows) {
  TimestampMs oldest = now;
  for (Sample& sample : samples_) {
    if (now - sample.last >= windows.span_ms()) sample = {now, now, 0};
    oldest = std::min(oldest, sample.start);
  }
  const std::int64_t elapsed = now - oldest;
  const std::int64_t missing = std::max<std::int64_t>(0, windows.count - 1 - elapsed / windows.window_ms);
  return std::max<std::int64_t>(1, elapsed + missing * windows.window_ms);
}

double Rate::per_second(TimestampMs now, const QuotaWindows& windows) {
  const std::int64_t elapsed = elapsed_ms(now, windows);  // forgets what does not count any more
  double sum = 0;
  for (const Sample& sample : samples_) sum += sample.amount;
  return sum * 1000 / static_cast<double>(elapsed);
}

std::int64_t Rate::throttle_ms(double bound, TimestampMs now, const QuotaWindows& windows) {
  const double rate = per_second(now, windows);
  if (rate <= bound) return 0;
  return std::llround(std::min((rate - bound) / bound * static_cast<double>(elapsed_ms(now, windows)), 1e15));
}

bool Rate::is_idle(TimestampMs now, const QuotaWindows& windows) const {
  return std::ranges::all_of(
      samples_, [&](const Sample& each) { return each.amount == 0 || now - each.last >= windows.span_ms(); });
}

void TokenBucket::refill(double per_second, TimestampMs now, const QuotaWindows& windows) {
  const double burst = per_second * static_cast<double>(windows.span_ms()) / 1000;
  if (updated_ == kNoTimestamp)
    tokens_ = burst;
  else
    tokens_ = std::min(burst, tokens_ + per_second * static_cast<double>(now - updated_) / 1000);
  updated_ = now;
}

void TokenBucket::take(double amount, double per_second, TimestampMs now, const QuotaWindows& windows) {
  refill(per_second, now, windows);
  tokens_ -= amount;
}

std::int64_t TokenBucket::throttle_ms(double per_second, TimestampMs now, const QuotaWindows& windows) {
  refill(per_second, now, windows);
  if (tokens_ >= 0) return 0;
  return std::llround(std::min(-tokens_ / per_second * 1000, 1e15));
}

bool TokenBucket::is_idle(double per_second, TimestampMs now, const QuotaWindows& windows) {
  refill(per_second, now, windows);
  return tokens_ >= per_second * static_cast<double>(windows.span_ms()) / 1000;
}

}  // namespace tailrace::broker
