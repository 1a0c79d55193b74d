#include "cli/plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace tailrace::cli {
namespace {

constexpr double kWidth = 960;
constexpr double kLeft = 76;
constexpr double kRight = 130;  // the legend stands there
constexpr double kTop = 64;
constexpr double kPanelHeight = 260;
constexpr double kPanelGap = 70;
constexpr double kBottom = 50;
// Okabe and Ito's colours, which people with any kind of sight can tell apart.
constexpr std::array<std::string_view, 6> kColours = {"#0072B2", "#009E73", "#E69F00", "#D55E00", "#CC79A7", "#56B4E9"};

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// From values to places on a panel.
struct Axis {
  std::vector<double> marks;
  bool logarithmic = false;
  double top = 0;
  double height = 0;

  [[nodiscard]] double y(double value) const {
    const double low = marks.front();
    const double high = marks.back();
    double share = 0;
    if (logarithmic) {
      share = value <= low ? 0 : std::log(value / low) / std::log(high / low);
    } else {
      share = (value - low) / (high - low);
    }
    return top + height * (1 - std::clamp(share, 0.0, 1.0));
  }
};

Axis make_axis(const PlotPanel& panel, double top) {
  double low = 0;
  double high = 0;
  for (const PlotSeries& series : panel.series) {
    for (const double value : series.values) {
      high = std::max(high, value);
      if (value > 0) low = low > 0 ? std::min(low, value) : value;
    }
  }
  const bool logarithmic = panel.logarithmic && low > 0;
  return {.marks = logarithmic ? logarithmic_marks(low, high) : linear_marks(high),
          .logarithmic = logarithmic,
          .top = top,
          .height = kPanelHeight};
}

void draw_curve(const PlotSeries& series, const std::vector<double>& xs, const Axis& axis, std::string_view colour,
                std::string& out) {
  std::string path;
  bool pen_down = false;
  for (std::size_t i = 0; i < xs.size() && i < series.values.size(); ++i) {
    if (series.values[i] < 0) {
      pen_down = false;
      continue;
    }
    path += fmt::format("{}{:.1f},{:.1f}", pen_down ? " L" : " M", xs[i], axis.y(series.values[i]));
    pen_down = true;
  }
  if (path.empty()) return;
  out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" stroke-linejoin=\"round\"/>\n",
                     path.substr(1), colour);
  if (xs.size() > 60) return;  // few points are marked, so that one alone is seen
  for (std::size_t i = 0; i < xs.size() && i < series.values.size(); ++i) {
    if (series.values[i] < 0) continue;
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.2\" fill=\"{}\"/>\n", xs[i], axis.y(series.values[i]),
                       colour);
  }
}

void draw_panel(const PlotPanel& panel, const std::vector<double>& xs, const std::vector<double>& time_marks,
                double end, double top, std::string& out) {
  const Axis axis = make_axis(panel, top);
  const double right = kWidth - kRight;
  const double bottom = top + kPanelHeight;
  out += fmt::format("<text x=\"{}\" y=\"{}\" class=\"panel\">{} ({})</text>\n", kLeft, top - 12, escape(panel.title),
                     escape(panel.unit));
  for (const double mark : axis.marks) {
    out += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"grid\"/>\n", kLeft, right,
                       axis.y(mark), axis.y(mark));
    out += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8, axis.y(mark) + 4,
                       mark_text(mark));
  }
  for (const double mark : time_marks) {
    if (mark > end) break;
    const double x = kLeft + (right - kLeft) * mark / end;
    out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\" class=\"axis\"/>\n", x, x, bottom,
                       bottom + 5);
    out +=
        fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x, bottom + 19, mark_text(mark));
  }
  out += fmt::format("<path d=\"M{0},{1} L{0},{2} L{3},{2}\" class=\"axis\"/>\n", kLeft, top, bottom, right);
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const std::string_view colour = kColours[i % kColours.size()];
    draw_curve(panel.series[i], xs, axis, colour, out);
    const double y = top + 10 + 20 * static_cast<double>(i);
    out += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"3\"/>\n", right + 16,
                       right + 40, y, y, colour);
    out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", right + 47, y + 4, escape(panel.series[i].name));
  }
}

}  // namespace

std::vector<double> linear_marks(double high) {
  if (!(high > 0)) high = 1;
  // The smallest of 1, 2 and 5 times a power of ten that has at most 8 steps.
  double step = std::pow(10, std::floor(std::log10(high)) - 1);
  for (int i = 0; high / step > 8; ++i) step *= i % 3 == 1 ? 2.5 : 2;
  std::vector<double> marks;
  const auto last = static_cast<int>(std::ceil(high / step - 1e-9));
  for (int i = 0; i <= last; ++i) marks.push_back(i * step);
  return marks;
}

std::vector<double> logarithmic_marks(double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  int last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  if (last <= first) last = first + 1;
  std::vector<double> marks;
  for (int power = first; power < last; ++power) {
    marks.push_back(std::pow(10, power));
    if (last - first > 3) continue;
    marks.push_back(2 * std::pow(10, power));
    marks.push_back(5 * std::pow(10, power));
  }
  marks.push_back(std::pow(10, last));
  // A decade is not shown for what is only its beginning or end.
  while (marks.size() > 2 && marks[1] <= low) marks.erase(marks.begin());
  while (marks.size() > 2 && marks[marks.size() - 2] >= high) marks.pop_back();
  return marks;
}

std::string mark_text(double value) {
  if (value >= 1e9) return fmt::format("{:g}G", value / 1e9);
  if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", value);
}

std::string plot_svg(std::string_view title, std::string_view subtitle, const std::vector<double>& seconds,
                     const std::vector<PlotPanel>& panels) {
  const auto count = static_cast<double>(panels.size());
  const double height = kTop + 30 + count * kPanelHeight + (count - 1) * kPanelGap + kBottom;
  const double right = kWidth - kRight;
  const double end = seconds.empty() || seconds.back() <= 0 ? 1 : seconds.back();
  const std::vector<double> time_marks = linear_marks(end);
  std::vector<double> xs;
  for (const double second : seconds) xs.push_back(kLeft + (right - kLeft) * second / end);

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n",
      kWidth, height);
  out +=
      "<style>.grid{stroke:#e4e4e4} .axis{stroke:#666;fill:none} .panel{font-size:13px;font-weight:bold}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  out += fmt::format("<text x=\"{}\" y=\"28\" font-size=\"17\" font-weight=\"bold\">{}</text>\n", kLeft, escape(title));
  out += fmt::format("<text x=\"{}\" y=\"47\" fill=\"#666\">{}</text>\n", kLeft, escape(subtitle));
  double top = kTop + 30;
  for (const PlotPanel& panel : panels) {
    draw_panel(panel, xs, time_marks, end, top, out);
    top += kPanelHeight + kPanelGap;
  }
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">time (s)</text>\n</svg>\n",
                     (kLeft + right) / 2, height - kBottom + 40);
  return out;
}

}  // namespace tailrace::cli
