#include "cli/histogram.h"

#include <algorithm>
#include <cmath>

namespace tailrace::cli {

std::size_t Histogram::bucket_of(std::uint64_t value) {
  if (value < kSub) return static_cast<std::size_t>(value);
  const int shift = static_cast<int>(std::bit_width(value)) - 1 - kSubBits;  // value >> shift is in [kSub, 2 * kSub)
  return static_cast<std::size_t>(shift + 1) * kSub + static_cast<std::size_t>((value >> shift) - kSub);
}

std::uint64_t Histogram::bucket_end(std::size_t bucket) {
  if (bucket < kSub) return bucket;
  const auto shift = bucket / kSub - 1;
  const std::uint64_t first = (kSub + bucket % kSub) << shift;
  return first + (std::uint64_t{1} << shift) - 1;
}

void Histogram::add(std::int64_t nanoseconds) {
  const std::int64_t value = std::clamp<std::int64_t>(nanoseconds, 0, (std::int64_t{1} << kMaxBits) - 1);
  ++buckets_[bucket_of(static_cast<std::uint64_t>(value))];
  ++count_;
  sum_ += static_cast<double>(value);
  max_ = std::max(max_, value);
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

std::int64_t Histogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(percent / 100 * static_cast<double>(count_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::max(wanted, 1.0)), 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min(static_cast<std::int64_t>(bucket_end(i)), max_);
  }
  return max_;
}

}  // namespace tailrace::cli
