// What the load tools compute: percentiles, points over time, schedules, payloads, and the plot.
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/histogram.h"
#include "cli/load_report.h"
#include "cli/payloads.h"
#include "cli/perf.h"
#include "cli/plot.h"

namespace tailrace::cli {
namespace {

using namespace std::chrono_literals;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Histogram, PercentilesAreRightWithinOnePercent) {
  std::mt19937_64 chance(7);
  std::vector<std::int64_t> values;
  Histogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    const auto value = static_cast<std::int64_t>(std::exp(std::uniform_real_distribution(0.0, 30.0)(chance)));
    values.push_back(value);
    histogram.add(value);
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {0.1, 1.0, 50.0, 95.0, 99.0, 99.9, 100.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * 20'000)) - 1;
    const auto exact = static_cast<double>(values[rank]);
    EXPECT_NEAR(static_cast<double>(histogram.percentile(percent)), exact, exact * 0.01) << percent;
  }
  EXPECT_EQ(histogram.count(), 20'000u);
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(Histogram, TheEnds) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile(50), 0);
  EXPECT_EQ(histogram.average(), 0);
  histogram.add(-5);
  EXPECT_EQ(histogram.max(), 0);
  histogram.add(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.max(), (std::int64_t{1} << 48) - 1);
  EXPECT_EQ(histogram.percentile(100), histogram.max());
  EXPECT_EQ(histogram.percentile(0), 0);
}

TEST(Histogram, TwoMakeOne) {
  Histogram a, b;
  for (int i = 0; i < 10; ++i) a.add(100), b.add(300);
  a.add(b);
  EXPECT_EQ(a.count(), 20u);
  EXPECT_EQ(a.average(), 200);
  EXPECT_EQ(a.percentile(50), 100);
  EXPECT_EQ(a.percentile(51), 300);
}

TEST(LoadReport, SaysWhatKafkasToolSays) {
  const LoadReport::Clock::time_point start{};
  LoadReport report({.done = "sent", .has_latency = true, .interval_ms = 1'000'000}, start);
  for (int second = 0; second < 2; ++second) {
    for (int i = 0; i < 1000; ++i) {
      report.add_latency(2'000'000);
      report.add_records(1, 1024);
    }
    report.tick(start + std::chrono::seconds(second + 1));
  }
  report.finish(start + 2s, 3);
  EXPECT_EQ(
      report.summary(),
      "2000 records sent, 1000.0 records/sec (0.98 MB/sec), 2.00 ms avg latency, 2.00 ms max latency, 2.00 ms 50th, "
      "2.00 ms 95th, 2.00 ms 99th, 2.00 ms 99.9th, 3 failed.\n");
  const auto json = nlohmann::json::parse(report.json());
  EXPECT_EQ(json["records"], 2000);
  EXPECT_EQ(json["failed"], 3);
  EXPECT_EQ(json["points"].size(), 2u);
  EXPECT_EQ(json["points"][0]["records_per_second"], 1000);
  EXPECT_EQ(json["latency_ms"]["max"], 2);
}

TEST(LoadReport, PointsStayBounded) {
  const LoadReport::Clock::time_point start{};
  LoadReport report({.done = "sent", .has_latency = true, .interval_ms = 1'000'000'000}, start);
  constexpr int kSeconds = 20'000;
  for (int second = 1; second <= kSeconds; ++second) {
    report.add_latency(second * 1000);
    report.add_records(1, 1);
    report.tick(start + std::chrono::seconds(second));
  }
  report.finish(start + std::chrono::seconds(kSeconds), 0);
  EXPECT_LT(report.points().size(), LoadReport::kPointsMax);
  std::uint64_t records = 0;
  double seconds = 0;
  for (const auto& point : report.points()) records += point.records, seconds += point.seconds;
  EXPECT_EQ(records, static_cast<std::uint64_t>(kSeconds));
  EXPECT_NEAR(seconds, kSeconds, 1e-6);
}

TEST(LoadReport, ARunWithoutRecordsSaysSo) {
  const LoadReport::Clock::time_point start{};
  LoadReport report({.done = "consumed", .has_latency = false, .interval_ms = 5000}, start);
  report.finish(start, 0);
  EXPECT_EQ(report.summary(), "0 records consumed, 0.0 records/sec (0.00 MB/sec).\n");
  EXPECT_NE(report.svg("nothing").find("</svg>"), std::string::npos);
}

TEST(Schedule, TimesDoNotDependOnHowFastRecordsAreTaken) {
  const Schedule::Clock::time_point start{};
  const Schedule schedule(start, 1000);
  EXPECT_TRUE(schedule.is_open());
  EXPECT_EQ(schedule.due(0), start);
  EXPECT_EQ(schedule.due(1500), start + 1500ms);
  EXPECT_FALSE(Schedule(start, -1).is_open());
}

TEST(Payloads, AreLettersOfTheSizeOrPiecesOfAText) {
  Payloads random = Payloads::random(100, 1);
  const std::string first(random.next());
  EXPECT_EQ(first.size(), 100u);
  EXPECT_EQ(first.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), std::string::npos);
  EXPECT_NE(random.next(), first);
  auto pieces = Payloads::from_text("a\n\nbb\nccc", "\n", 1);
  ASSERT_TRUE(pieces);
  for (int i = 0; i < 20; ++i) {
    const std::string_view next = pieces->next();
    EXPECT_TRUE(next == "a" || next == "bb" || next == "ccc") << next;
  }
  EXPECT_FALSE(Payloads::from_text("\n\n", "\n", 1));
  EXPECT_FALSE(Payloads::from_text("a", "", 1));
  EXPECT_EQ(unescape_delimiter("\\n\\t\\\\x"), "\n\t\\x");
}

TEST(Plot, MarksAreRoundAndReachBothEnds) {
  EXPECT_EQ(linear_marks(0), (std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}));
  for (const double high : {0.003, 0.9, 1.0, 7.0, 99.0, 100.0, 12345.0, 5e9}) {
    const auto marks = linear_marks(high);
    EXPECT_GE(marks.size(), 4u) << high;
    EXPECT_LE(marks.size(), 10u) << high;
    EXPECT_EQ(marks.front(), 0);
    EXPECT_GE(marks.back() * (1 + 1e-9), high);
  }
  for (const auto& [low, high] :
       {std::pair(0.1, 0.2), std::pair(0.35, 0.36), std::pair(1.0, 1.0), std::pair(0.01, 9000.0)}) {
    const auto marks = logarithmic_marks(low, high);
    EXPECT_GE(marks.size(), 2u);
    EXPECT_LE(marks.front(), low * (1 + 1e-9));
    EXPECT_GE(marks.back() * (1 + 1e-9), high);
    EXPECT_TRUE(std::is_sorted(marks.begin(), marks.end()));
  }
  EXPECT_EQ(mark_text(1500), "1.5k");
  EXPECT_EQ(mark_text(0.25), "0.25");
  EXPECT_EQ(mark_text(12e6), "12M");
}

TEST(Plot, HasACurvePerSeriesWithALegendAndUnits) {
  const std::string svg = plot_svg("a <title> & \"more\"", "under it", {1, 2, 3},
                                   {{.title = "Latency",
                                     .unit = "ms",
                                     .logarithmic = true,
                                     .series = {{"50th", {1, 2, 3}}, {"99th", {10, -1, 300}}}},
                                    {.title = "Throughput", .unit = "records/s", .series = {{"rate", {0, 0, 0}}}}});
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("a &lt;title&gt; &amp; &quot;more&quot;"), std::string::npos);
  EXPECT_EQ(count(svg, "stroke-linejoin"), 3u);
  for (const char* word : {">50th<", ">99th<", ">rate<", "Latency (ms)", "Throughput (records/s)", "time (s)"}) {
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Plot, NothingAtAllIsStillAPlot) {
  const std::string svg =
      plot_svg("empty", "", {}, {{.title = "Latency", .unit = "ms", .logarithmic = true, .series = {{"50th", {}}}}});
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace tailrace::cli
