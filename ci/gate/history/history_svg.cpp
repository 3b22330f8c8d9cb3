#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "fa_profile/history_report.h"
#include "fa_profile/text.h"
#include "fa_profile/units.h"
#include "history_names.h"

namespace fa_profile::gate {
namespace {

constexpr std::size_t kMostPanels = 60;
constexpr int kPanelColumns = 2;
constexpr double kPanelWidth = 560.0, kPanelHeight = 200.0;
constexpr double kLeft = 70.0, kRight = 16.0, kTop = 44.0, kBottom = 30.0;
constexpr double kHeader = 58.0;

constexpr const char* kStyle = R"(<style>
svg { font: 12px system-ui, sans-serif; --ink: #1f2328; --faint: #59636e; --grid: #d1d9e0; --page: #ffffff;
  --line: #0969da; --worse: #cf222e; --better: #1a7f37; --drift: #9a6700; }
@media (prefers-color-scheme: dark) { svg { --ink: #e6edf3; --faint: #9198a1; --grid: #3d444d; --page: #0d1117;
  --line: #4493f8; --worse: #f85149; --better: #3fb950; --drift: #d29922; } }
text { fill: var(--ink); } .faint { fill: var(--faint); } .page { fill: var(--page); }
.grid { stroke: var(--grid); } .line { stroke: var(--line); fill: none; stroke-width: 1.5; }
.band { fill: var(--line); fill-opacity: 0.18; stroke: none; }
.worse { stroke: var(--worse); stroke-width: 1.5; } .better { stroke: var(--better); stroke-width: 1.5; }
.drift { stroke: var(--drift); stroke-width: 2; stroke-dasharray: 6 4; fill: none; }
text.worse { fill: var(--worse); stroke: none; } text.better { fill: var(--better); stroke: none; }
text.drift { fill: var(--drift); stroke: none; } .title { font-weight: 600; }
</style>
)";

/// Text of an element or an attribute.
std::string Xml(const std::string& text, std::size_t most = 120) {
  std::string safe;
  for (const char letter : SafeLine(text, most)) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

/// A duration's chart, with what was found in it.
class Panel {
 public:
  Panel(const HistoryReport& report, std::size_t series, double x, double y)
      : report_(report), index_(series), series_(report.history.series[series]), x_(x), y_(y) {
    low_ = high_ = series_.points.front().median;
    for (const HistoryPoint& point : series_.points) {
      low_ = std::min(low_, point.median - point.spread);
      high_ = std::max(high_, point.median + point.spread);
    }
    const double least = 0.01 * std::abs(high_);  // keeps noise from filling the whole height
    const double margin = std::max(0.08 * (high_ - low_), (least - (high_ - low_)) / 2.0);
    low_ -= margin;
    high_ += margin;
  }

  std::string Draw() const {
    const std::string name = CaseOf(series_);
    std::string svg =
        fmt::format("<g role=\"img\" aria-label=\"{}\"><title>{}</title>\n", Xml(Words(), 400), Xml(Words(), 400));
    svg +=
        fmt::format("<text class=\"title\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>", x_ + kLeft, y_ + 14.0, Xml(name, 44));
    svg += fmt::format("<text class=\"faint\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n",
                       x_ + kPanelWidth - kRight, y_ + 14.0, Xml(series_.gpu_uuid, 16));
    return svg + Axes() + Band() + Line() + Drifts() + Changes() + "</g>\n";
  }

 private:
  double X(double point) const {
    const auto last = static_cast<double>(std::max<std::size_t>(series_.points.size(), 2) - 1);
    return x_ + kLeft + (kPanelWidth - kLeft - kRight) * point / last;
  }
  double Y(double value) const {
    return y_ + kPanelHeight - kBottom - (kPanelHeight - kTop - kBottom) * (value - low_) / (high_ - low_);
  }
  const Night& NightAt(std::size_t point) const { return report_.history.nights[series_.points[point].night]; }

  /// Description for a screen reader.
  std::string Words() const {
    std::string words = fmt::format("{}: {} nights, {} to {}", CaseOf(series_), series_.points.size(),
                                    FormatValue(series_.points.front().median, "seconds"),
                                    FormatValue(series_.points.back().median, "seconds"));
    for (const ChangePoint& change : report_.changes) {
      if (change.series != index_) continue;
      words += fmt::format("; {} on {}", SignedPercent(change.change), DayOf(NightAt(change.at)));
    }
    return words;
  }

  std::string Axes() const {
    std::string svg;
    constexpr int kLines = 3;
    for (int i = 0; i < kLines; ++i) {
      const double value = low_ + (high_ - low_) * (0.1 + 0.8 * i / (kLines - 1));
      svg += fmt::format(
          "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/><text class=\"faint\" "
          "x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
          x_ + kLeft, x_ + kPanelWidth - kRight, Y(value), Y(value), x_ + kLeft - 6.0, Y(value) + 4.0,
          FormatValue(value, "seconds"));
    }
    const double bottom = y_ + kPanelHeight - 12.0;
    svg += fmt::format("<text class=\"faint\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x_ + kLeft, bottom,
                       Xml(DayOf(NightAt(0))));
    return svg + fmt::format("<text class=\"faint\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                             x_ + kPanelWidth - kRight, bottom, Xml(DayOf(NightAt(series_.points.size() - 1))));
  }

  std::string Line() const {
    std::string points;
    for (std::size_t i = 0; i < series_.points.size(); ++i) {
      points += fmt::format("{:.1f},{:.1f} ", X(static_cast<double>(i)), Y(series_.points[i].median));
    }
    return fmt::format("<polyline class=\"line\" points=\"{}\"/>\n", points);
  }

  /// One deviation between processes above and below.
  std::string Band() const {
    std::string upper, lower;
    for (std::size_t i = 0; i < series_.points.size(); ++i) {
      const HistoryPoint& point = series_.points[i];
      const double x = X(static_cast<double>(i));
      upper += fmt::format("{:.1f},{:.1f} ", x, Y(point.median + point.spread));
      lower = fmt::format("{:.1f},{:.1f} ", x, Y(point.median - point.spread)) + lower;
    }
    return fmt::format("<polygon class=\"band\" points=\"{}{}\"/>\n", upper, lower);
  }

  std::string Drifts() const {
    std::string svg;
    for (const Drift& drift : report_.drifts) {
      if (drift.series != index_) continue;
      std::vector<double> values;
      for (const HistoryPoint& point : series_.points) values.push_back(point.median);
      std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
      const double middle = values[values.size() / 2];
      const double half = std::sqrt(1.0 + drift.change);
      const double last = static_cast<double>(series_.points.size() - 1);
      svg += fmt::format("<line class=\"drift\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", X(0),
                         Y(middle / half), X(last), Y(middle * half));
      svg +=
          fmt::format("<text class=\"drift\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">slow drift: {}</text>\n",
                      x_ + (kLeft + kPanelWidth - kRight) / 2.0, y_ + kPanelHeight - 12.0, SignedPercent(drift.change));
    }
    return svg;
  }

  std::string Changes() const {
    std::string svg;
    double free = 0.0;  // labels on one line must not overlap
    std::vector<const ChangePoint*> of_panel;
    for (const ChangePoint& change : report_.changes) {
      if (change.series == index_) of_panel.push_back(&change);
    }
    std::ranges::sort(of_panel, {}, [](const ChangePoint* one) { return one->at; });
    for (const ChangePoint* const change : of_panel) {
      const char* const kind = change->change > 0.0 ? "worse" : "better";
      const double x = X(static_cast<double>(change->at) - 0.5);
      svg += fmt::format(
          "<line class=\"{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"><title>{}: {}, "
          "{} to {}</title></line>",
          kind, x, x, y_ + kTop - 4.0, y_ + kPanelHeight - kBottom, DayOf(NightAt(change->at)),
          SignedPercent(change->change), Xml(ShortCommit(NightAt(change->at - 1))),
          Xml(ShortCommit(NightAt(change->at))));
      constexpr double kLabel = 44.0;
      const double at = std::min(std::max(x - kLabel / 2.0, x_ + kLeft), x_ + kPanelWidth - kRight - kLabel);
      if (at < free) continue;  // it is in the tooltip
      svg += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kind, at, y_ + kTop - 7.0,
                         SignedPercent(change->change));
      free = at + kLabel;
    }
    return svg;
  }

  const HistoryReport& report_;
  std::size_t index_;
  const HistorySeries& series_;
  double x_, y_, low_, high_;
};

/// The series of durations; those in which something changed come first.
std::vector<std::size_t> Durations(const HistoryReport& report) {
  std::set<std::size_t> moved;
  for (const ChangePoint& change : report.changes) moved.insert(change.series);
  for (const Drift& drift : report.drifts) moved.insert(drift.series);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < report.history.series.size(); ++i) {
    if (report.history.series[i].key == MetricKey{"", kDuration}) found.push_back(i);
  }
  std::ranges::stable_sort(found, std::greater(), [&](std::size_t i) { return moved.contains(i); });
  return found;
}

}  // namespace

std::string HistorySvg(const HistoryReport& report) {
  std::vector<std::size_t> shown = Durations(report);
  const std::size_t left_out = shown.size() > kMostPanels ? shown.size() - kMostPanels : 0;
  shown.resize(shown.size() - left_out);
  const std::size_t rows = (shown.size() + kPanelColumns - 1) / kPanelColumns;
  const double width = kPanelColumns * kPanelWidth;
  const double height = kHeader + static_cast<double>(std::max<std::size_t>(rows, 1)) * kPanelHeight;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "role=\"group\" aria-label=\"Durations night by night\">\n<title>Durations night by night</title>\n{2}"
      "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
      width, height, kStyle);
  svg += fmt::format(
      "<text class=\"title\" x=\"16\" y=\"24\" style=\"font-size:16px\">Duration of each case, night by night</text>"
      "<text class=\"faint\" x=\"16\" y=\"43\">line: median of the processes, band: one standard deviation between "
      "processes; vertical: change point; dashed: slow drift{}</text>\n",
      left_out > 0 ? fmt::format("; {} more cases are not shown", left_out) : "");
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const double x = static_cast<double>(i % kPanelColumns) * kPanelWidth;
    const std::size_t row = i / kPanelColumns;
    const double y = kHeader + static_cast<double>(row) * kPanelHeight;
    svg += Panel(report, shown[i], x, y).Draw();
  }
  return svg + "</svg>\n";
}

}  // namespace fa_profile::gate
