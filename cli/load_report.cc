#include "cli/load_report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/plot.h"

namespace tailrace::cli {
namespace {

using nlohmann::ordered_json;

constexpr double kMega = 1024.0 * 1024.0;

double ms(double nanoseconds) { return nanoseconds / 1e6; }
double ms(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }
double between(LoadReport::Clock::time_point from, LoadReport::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}
double per(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

ordered_json latency_json(const Histogram& latency) {
  return {{"avg", ms(latency.average())},          {"p50", ms(latency.percentile(50))},
          {"p95", ms(latency.percentile(95))},     {"p99", ms(latency.percentile(99))},
          {"p99.9", ms(latency.percentile(99.9))}, {"max", ms(latency.max())}};
}

}  // namespace

LoadReport::LoadReport(const Form& form, Clock::time_point start)
    : form_(form), start_(start), line_{.start = start}, point_{.start = start} {}

void LoadReport::add_records(std::uint64_t records, std::uint64_t bytes) {
  records_ += records;
  bytes_ += bytes;
  for (Stretch* stretch : {&line_, &point_}) {
    stretch->records += records;
    stretch->bytes += bytes;
  }
}

void LoadReport::tick(Clock::time_point now) {
  if (now - point_.start >= point_length_) end_point(now);
  if (now - line_.start >= std::chrono::milliseconds(form_.interval_ms)) end_line(now);
}

void LoadReport::finish(Clock::time_point now, std::uint64_t failed) {
  seconds_ = between(start_, now);
  failed_ = failed;
  // The rest is a point if it says something by itself.
  if (point_.records > 0 || points_.empty()) end_point(now);
}

std::string LoadReport::rates(std::uint64_t records, std::uint64_t bytes, double seconds) const {
  return fmt::format("{} records {}, {:.1f} records/sec ({:.2f} MB/sec)", records, form_.done,
                     per(static_cast<double>(records), seconds), per(static_cast<double>(bytes) / kMega, seconds));
}

void LoadReport::end_line(Clock::time_point now) {
  std::string line = rates(line_.records, line_.bytes, between(line_.start, now));
  if (form_.has_latency) {
    line += fmt::format(", {:.2f} ms avg latency, {:.2f} ms 99th, {:.2f} ms max latency", ms(line_.latency.average()),
                        ms(line_.latency.percentile(99)), ms(line_.latency.max()));
  }
  line += ".\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  line_ = Stretch{.start = now};
}

void LoadReport::end_point(Clock::time_point now) {
  Point point{.end_s = between(start_, now),
              .seconds = between(point_.start, now),
              .records = point_.records,
              .bytes = point_.bytes};
  if (point_.latency.count() > 0) {
    point.p50_ms = ms(point_.latency.percentile(50));
    point.p95_ms = ms(point_.latency.percentile(95));
    point.p99_ms = ms(point_.latency.percentile(99));
    point.p999_ms = ms(point_.latency.percentile(99.9));
    point.max_ms = ms(point_.latency.max());
  }
  points_.push_back(point);
  point_ = Stretch{.start = now};
  if (points_.size() >= kPointsMax) join_points();
}

void LoadReport::join_points() {
  std::vector<Point> joined;
  for (std::size_t i = 0; i + 1 < points_.size(); i += 2) {
    const Point& a = points_[i];
    const Point& b = points_[i + 1];
    joined.push_back({.end_s = b.end_s,
                      .seconds = a.seconds + b.seconds,
                      .records = a.records + b.records,
                      .bytes = a.bytes + b.bytes,
                      .p50_ms = std::max(a.p50_ms, b.p50_ms),
                      .p95_ms = std::max(a.p95_ms, b.p95_ms),
                      .p99_ms = std::max(a.p99_ms, b.p99_ms),
                      .p999_ms = std::max(a.p999_ms, b.p999_ms),
                      .max_ms = std::max(a.max_ms, b.max_ms)});
  }
  points_ = std::move(joined);
  point_length_ *= 2;
}

std::string LoadReport::summary() const {
  std::string line = rates(records_, bytes_, seconds_);
  if (form_.has_latency) {
    line += fmt::format(
        ", {:.2f} ms avg latency, {:.2f} ms max latency, {:.2f} ms 50th, {:.2f} ms 95th, {:.2f} ms 99th, {:.2f} ms "
        "99.9th",
        ms(total_.average()), ms(total_.max()), ms(total_.percentile(50)), ms(total_.percentile(95)),
        ms(total_.percentile(99)), ms(total_.percentile(99.9)));
  }
  if (failed_ > 0) line += fmt::format(", {} failed", failed_);
  return line + ".\n";
}

std::string LoadReport::json() const {
  ordered_json points = ordered_json::array();
  for (const Point& point : points_) {
    ordered_json one = {{"end_s", point.end_s},
                        {"records_per_second", per(static_cast<double>(point.records), point.seconds)},
                        {"bytes_per_second", per(static_cast<double>(point.bytes), point.seconds)}};
    if (point.max_ms >= 0) {
      one["latency_ms"] = {{"p50", point.p50_ms},
                           {"p95", point.p95_ms},
                           {"p99", point.p99_ms},
                           {"p99.9", point.p999_ms},
                           {"max", point.max_ms}};
    }
    points.push_back(std::move(one));
  }
  ordered_json out = {{"records", records_},
                      {"failed", failed_},
                      {"bytes", bytes_},
                      {"seconds", seconds_},
                      {"records_per_second", per(static_cast<double>(records_), seconds_)},
                      {"bytes_per_second", per(static_cast<double>(bytes_), seconds_)}};
  if (form_.has_latency) out["latency_ms"] = latency_json(total_);
  out["points"] = std::move(points);
  return out.dump(2) + "\n";
}

std::string LoadReport::svg(std::string_view title) const {
  std::vector<double> seconds;
  PlotPanel latency{.title = "Latency", .unit = "ms, logarithmic", .logarithmic = true, .series = {}};
  for (const char* name : {"50th", "95th", "99th", "99.9th", "max"}) latency.series.push_back({name, {}});
  PlotPanel rate{.title = "Throughput", .unit = "records/s", .series = {{"records/s", {}}}};
  PlotPanel volume{.title = "Throughput", .unit = "MB/s", .series = {{"MB/s", {}}}};
  for (const Point& point : points_) {
    seconds.push_back(point.end_s);
    const double percentiles[] = {point.p50_ms, point.p95_ms, point.p99_ms, point.p999_ms, point.max_ms};
    for (std::size_t i = 0; i < latency.series.size(); ++i) latency.series[i].values.push_back(percentiles[i]);
    rate.series[0].values.push_back(per(static_cast<double>(point.records), point.seconds));
    volume.series[0].values.push_back(per(static_cast<double>(point.bytes) / kMega, point.seconds));
  }
  std::vector<PlotPanel> panels;
  if (form_.has_latency) panels.push_back(std::move(latency));
  panels.push_back(std::move(rate));
  panels.push_back(std::move(volume));
  std::string subtitle = summary();
  subtitle.pop_back();
  if (const std::size_t details = subtitle.find(" avg latency"); details != std::string::npos) {
    subtitle = rates(records_, bytes_, seconds_) + fmt::format(" in {:.1f} s", seconds_);
  }
  return plot_svg(title, subtitle, seconds, panels);
}

Outcome<void> write_text_file(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return std::unexpected(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) == 0 && is_written) return {};
  return std::unexpected(fmt::format("cannot write {}: {}", path, std::strerror(is_written ? errno : error)));
}

}  // namespace tailrace::cli
