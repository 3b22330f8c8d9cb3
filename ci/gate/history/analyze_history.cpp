#include "fa_profile/analyze_history.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "fa_profile/change_points.h"
#include "fa_profile/error.h"
#include "fa_profile/gate_statistics.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/text.h"

namespace fa_profile::gate {
namespace {

constexpr double kCounterLimit = 0.005;
constexpr double kCounterDeviations = 3.0;
/// A drift is not one step: its largest change is at most this share of it.
constexpr double kLargestStep = 0.5;
constexpr std::int64_t kMostPermutations = 99'999;

bool IsTime(const MetricKey& key) {
  return key.metric == kDuration || key.metric == kCycles || key.metric == kPhaseSeconds;
}

/// One series while it is analyzed.
struct SeriesWork {
  std::size_t series = 0;
  std::vector<double> logs;
  std::uint64_t seed = 0;
  std::optional<Split> first;
  std::optional<Trend> trend;
  std::vector<std::pair<std::size_t, double>> cuts;  ///< place and p, ascending
};

void Select(History& history, const HistoryOptions& options) {
  const KernelPattern pattern(options.kernel_pattern);
  std::set<std::string> kernels;
  for (const HistorySeries& series : history.series) kernels.insert(series.kernel);
  std::erase_if(history.series, [&](const HistorySeries& series) {
    return !series.gpu_uuid.starts_with(options.gpu_uuid) || !pattern.Finds(series.kernel);
  });
  if (history.series.empty() && history.nights.empty()) {
    throw Error("the history has no nights", "add one: fa-profile gate history add FILE.db EVIDENCE.json");
  }
  if (!history.series.empty()) return;
  const bool none = std::ranges::none_of(kernels, [&](const std::string& name) { return pattern.Finds(name); });
  if (none) RefusePattern(options.kernel_pattern, {kernels.begin(), kernels.end()});
  throw Error("no card of the history begins with " + Printable(options.gpu_uuid),
              "fa-profile gate history show FILE.db without --gpu names the cards");
}

/// Keeps the newest nights of each card.
void KeepNewest(History& history, std::size_t most) {
  if (most == 0) return;
  std::map<std::string, std::size_t> left;
  std::set<std::size_t> kept;
  for (std::size_t i = history.nights.size(); i > 0; --i) {
    if (left[history.nights[i - 1].gpu_uuid]++ < most) kept.insert(i - 1);
  }
  for (HistorySeries& series : history.series) {
    std::erase_if(series.points, [&](const HistoryPoint& point) { return !kept.contains(point.night); });
  }
  std::erase_if(history.series, [](const HistorySeries& series) { return series.points.empty(); });
}

std::optional<SeriesWork> WorkOn(const History& history, std::size_t index) {
  const HistorySeries& series = history.series[index];
  SeriesWork work;
  work.series = index;
  for (const HistoryPoint& point : series.points) {
    if (!(point.median > 0.0)) return std::nullopt;
    work.logs.push_back(std::log(point.median));
  }
  for (const std::string* const text :
       {&series.gpu_uuid, &series.kernel, &series.shape, &series.key.phase, &series.key.metric}) {
    work.seed = Fnv1a(*text + '\n', work.seed == 0 ? Fnv1a("") : work.seed);
  }
  return work;
}

/// Calls `task` for each of the works, on all processors.
template <typename Task>
void ForAll(std::vector<SeriesWork>& works, const Task& task) {
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::future<void>> running;
  for (std::size_t first = 0; first < std::min(threads, works.size()); ++first) {
    running.push_back(std::async(std::launch::async, [&, first] {
      for (std::size_t i = first; i < works.size(); i += threads) task(works[i]);
    }));
  }
  for (std::future<void>& one : running) one.get();
}

/// Correlation of neighbours, from differences, which a few steps change little: a difference over two nights varies 1
/// + r times as much as one over one night.
std::optional<double> CorrelationOf(const std::vector<double>& logs) {
  constexpr std::size_t kLeastNights = 20;
  if (logs.size() < kLeastNights) return std::nullopt;
  const auto mean_square = [&](std::size_t lag) {
    double sum = 0.0;
    for (std::size_t i = lag; i < logs.size(); ++i) sum += (logs[i] - logs[i - lag]) * (logs[i] - logs[i - lag]);
    return sum / static_cast<double>(logs.size() - lag);
  };
  const double one = mean_square(1);
  return one > 0.0 ? std::optional(mean_square(2) / one - 1.0) : std::nullopt;
}

std::optional<double> MedianCorrelation(const std::vector<SeriesWork>& works) {
  std::vector<double> found;
  for (const SeriesWork& work : works) {
    if (const std::optional<double> one = CorrelationOf(work.logs)) found.push_back(*one);
  }
  return found.empty() ? std::nullopt : std::optional(Median(std::move(found)));
}

/// Cuts until no segment has a cut at `level`.
void CutAll(SeriesWork& work, double level, const HistoryOptions& options) {
  struct Segment {
    std::size_t begin, end;
    std::optional<Split> split;
  };
  std::vector<Segment> open{{0, work.logs.size(), work.first}};
  while (!open.empty()) {
    const Segment segment = open.back();
    open.pop_back();
    if (!segment.split || segment.split->p > level) continue;
    const std::size_t at = segment.begin + segment.split->at;
    work.cuts.emplace_back(at, segment.split->p);
    for (const auto& [begin, end] : {std::pair(segment.begin, at), std::pair(at, segment.end)}) {
      const std::span<const double> part = std::span(work.logs).subspan(begin, end - begin);
      open.push_back({begin, end, FindSplit(part, options.permutations, work.seed + options.seed + begin + end)});
    }
  }
  std::ranges::sort(work.cuts);
}

void AddChanges(const SeriesWork& work, HistoryReport& report) {
  const std::span<const double> logs = work.logs;
  for (std::size_t i = 0; i < work.cuts.size(); ++i) {
    const auto [at, p] = work.cuts[i];
    const std::size_t begin = i == 0 ? 0 : work.cuts[i - 1].first;
    const std::size_t end = i + 1 == work.cuts.size() ? logs.size() : work.cuts[i + 1].first;
    const Shift shift = FindShift(logs.subspan(begin, at - begin), logs.subspan(at, end - at));
    ChangePoint change{work.series, at, std::expm1(shift.size), {}, {}, p};
    if (std::abs(change.change) < report.options.least) continue;
    if (shift.low) change.low = std::expm1(*shift.low);
    if (shift.high) change.high = std::expm1(*shift.high);
    report.changes.push_back(change);
  }
}

void AddDrift(const SeriesWork& work, HistoryReport& report) {
  const auto steps = static_cast<double>(work.logs.size() - 1);
  Drift drift;
  drift.series = work.series;
  drift.p = work.trend->p;
  drift.change = std::expm1(work.trend->slope * steps);
  drift.low = std::expm1(work.trend->slope_low * steps);
  drift.high = std::expm1(work.trend->slope_high * steps);
  if (std::abs(drift.change) < 2.0 * report.options.least) return;
  double largest = 0.0;
  for (const ChangePoint& change : report.changes) {
    if (change.series != work.series) continue;
    largest = std::max(largest, std::abs(change.change));
    drift.largest_change = largest;
  }
  if (largest <= kLargestStep * std::abs(drift.change)) report.drifts.push_back(drift);
}

/// Counters repeat exactly: a step needs no test.
void AddCounterSteps(std::size_t index, HistoryReport& report) {
  const std::vector<HistoryPoint>& points = report.history.series[index].points;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const HistoryPoint& before = points[i - 1];
    const double step = points[i].median - before.median;
    const double spread = std::max(before.spread, points[i].spread);
    if (std::abs(step) <= std::max(kCounterLimit * std::abs(before.median), kCounterDeviations * spread)) continue;
    ChangePoint change;
    change.series = index;
    change.at = i;
    change.change = before.median != 0.0 ? step / std::abs(before.median) : std::copysign(1.0, step);
    report.changes.push_back(change);
  }
}

void SortReport(HistoryReport& report) {
  const auto night = [&](const ChangePoint& change) {
    return report.history.series[change.series].points[change.at].night;
  };
  std::ranges::stable_sort(report.changes, [&](const ChangePoint& a, const ChangePoint& b) {
    return std::pair(night(b), a.series) < std::pair(night(a), b.series);
  });
  std::ranges::stable_sort(report.drifts, std::greater(), [](const Drift& one) { return std::abs(one.change); });
}

}  // namespace

HistoryReport AnalyzeHistory(History history, const HistoryOptions& options) {
  Select(history, options);
  KeepNewest(history, options.nights);
  HistoryReport report;
  report.history = std::move(history);
  report.options = options;
  std::vector<SeriesWork> works;
  for (std::size_t i = 0; i < report.history.series.size(); ++i) {
    if (!IsTime(report.history.series[i].key)) {
      AddCounterSteps(i, report);
    } else if (std::optional<SeriesWork> work = WorkOn(report.history, i)) {
      works.push_back(std::move(*work));
    }
  }
  // With many series each needs a smaller p, which takes more draws.
  HistoryOptions used = options;
  const double needed = 2.0 * static_cast<double>(works.size()) / options.level;
  used.permutations = std::max(options.permutations, std::min(kMostPermutations, static_cast<std::int64_t>(needed)));
  ForAll(works, [&](SeriesWork& work) {
    work.first = FindSplit(work.logs, used.permutations, work.seed + used.seed);
    work.trend = FindTrend(work.logs);
  });
  std::vector<double> splits, trends;
  for (const SeriesWork& work : works) {
    if (work.first) splits.push_back(work.first->p);
    if (work.first && work.trend) trends.push_back(work.trend->p);
  }
  report.tested = splits.size();
  report.correlation = MedianCorrelation(works);
  const std::optional<double> moved = RejectUpTo(splits, options.level);
  const std::optional<double> drifted = RejectUpTo(trends, options.level);
  const auto rejected = std::ranges::count_if(splits, [&](double p) { return moved && p <= *moved; });
  const double inside =
      splits.empty() ? 0.0 : options.level * static_cast<double>(rejected) / static_cast<double>(splits.size());
  ForAll(works, [&](SeriesWork& work) {
    if (moved && work.first && work.first->p <= *moved) CutAll(work, inside, used);
  });
  for (const SeriesWork& work : works) AddChanges(work, report);
  for (const SeriesWork& work : works) {
    if (drifted && work.first && work.trend && work.trend->p <= *drifted) AddDrift(work, report);
  }
  SortReport(report);
  return report;
}

}  // namespace fa_profile::gate
