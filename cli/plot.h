// Draws curves over time as an SVG file that needs nothing else: panels below each other, each with axes, units and a
// legend. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tailrace::cli {

struct PlotSeries {
  std::string name;
  std::vector<double> values;  // one per point in time; a negative one is left out
};

struct PlotPanel {
  std::string title;
  std::string unit;
  bool logarithmic = false;  // values of 0 stand on the lower edge
  std::vector<PlotSeries> series;
};

std::string plot_svg(std::string_view title, std::string_view subtitle, const std::vector<double>& seconds,
                     const std::vector<PlotPanel>& panels);

// Where an axis from 0 (or, logarithmic, from `low`) to `high` has its marks: 4 to 10 round numbers that include both
// ends. `high` may be 0.
std::vector<double> linear_marks(double high);
std::vector<double> logarithmic_marks(double low, double high);
// "1500" as "1.5k", "0.25", "12M".
std::string mark_text(double value);

}  // namespace tailrace::cli
