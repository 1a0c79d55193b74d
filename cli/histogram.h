// How long things took: counts of durations in buckets that grow with them, so that every percentile is right within
// 1 % in 42 KiB of memory, however many there are (the idea of HdrHistogram). Pure, single-threaded.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace tailrace::cli {

class Histogram {
 public:
  // Nanoseconds; less than 0 counts as 0, more than 2^48 - 1 (78 hours) as that. Average and maximum are exact.
  void add(std::int64_t nanoseconds);
  void add(const Histogram& other);
  void clear() { *this = Histogram(); }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::int64_t max() const { return max_; }
  [[nodiscard]] double average() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The smallest duration that `percent` of all are not above: the end of its bucket, and never above max(). 0: there
  // are none.
  [[nodiscard]] std::int64_t percentile(double percent) const;

 private:
  // Values below 2^7 have a bucket each; from there on every power of two is divided into 2^7 buckets.
  static constexpr int kSubBits = 7;
  static constexpr int kMaxBits = 48;
  static constexpr std::size_t kSub = std::size_t{1} << kSubBits;
  static constexpr std::size_t kBuckets = (kMaxBits - kSubBits + 1) * kSub;

  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t bucket_end(std::size_t bucket);  // the largest value in it

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
  std::int64_t max_ = 0;
};

}  // namespace tailrace::cli
