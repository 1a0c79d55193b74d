// What a load tool measured: totals, percentiles of latencies, a line each few seconds on standard error while it runs,
// and points over time for a plot. Owned by the thread that measures. Memory does not grow with the number of records,
// and not beyond kPointsMax points with time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/connection.h"
#include "cli/histogram.h"

namespace tailrace::cli {

class LoadReport {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kPointsMax = 4096;

  struct Form {
    std::string_view done = "sent";  // "N records sent"
    bool has_latency = true;
    std::int64_t interval_ms = 5000;  // of progress lines
  };
  // What happened in a stretch of time: a second, or more when the run is long. When stretches are joined, percentiles
  // are the worse ones.
  struct Point {
    double end_s = 0;  // since the start
    double seconds = 0;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    double p50_ms = -1, p95_ms = -1, p99_ms = -1, p999_ms = -1, max_ms = -1;  // -1: there were no records
  };

  LoadReport(const Form& form, Clock::time_point start);

  void add_latency(std::int64_t nanoseconds) {
    total_.add(nanoseconds);
    line_.latency.add(nanoseconds);
    point_.latency.add(nanoseconds);
  }
  void add_records(std::uint64_t records, std::uint64_t bytes);
  // Whenever convenient, at least some times a second: ends points and prints lines that are due.
  void tick(Clock::time_point now);
  // The end of the run; `failed` records were tried in vain.
  void finish(Clock::time_point now, std::uint64_t failed);

  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  // kafka-producer-perf-test's last line. MB are 1024 * 1024 bytes, as there.
  [[nodiscard]] std::string summary() const;
  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string svg(std::string_view title) const;

 private:
  struct Stretch {
    Clock::time_point start;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    Histogram latency{};
  };

  void end_line(Clock::time_point now);
  void end_point(Clock::time_point now);
  void join_points();
  [[nodiscard]] std::string rates(std::uint64_t records, std::uint64_t bytes, double seconds) const;

  Form form_;
  Clock::time_point start_;
  double seconds_ = 0;  // of the whole run, at its end
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t failed_ = 0;
  Histogram total_;
  Stretch line_;
  Stretch point_;
  std::chrono::milliseconds point_length_{1000};
  std::vector<Point> points_;
};

// Writes a file whole. Error: a sentence.
Outcome<void> write_text_file(const std::string& path, std::string_view text);

}  // namespace tailrace::cli
