#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/gate_history.h"

namespace fa_profile::gate {

struct HistoryOptions {
  std::string gpu_uuid;        ///< a card's UUID or the beginning of it; empty: all
  std::string kernel_pattern;  ///< regular expression; empty: all
  std::size_t nights = 0;      ///< the newest of each card; 0: all
  double level = 0.05;         ///< largest expected share of false ones among the change points, and among the drifts
  double least = 0.005;        ///< smaller changes of times are not reported; for drifts twice this
  std::int64_t permutations = 9'999;
  std::uint64_t seed = 1;
};

/// A series changed between two nights.
struct ChangePoint {
  std::size_t series = 0;           ///< index in HistoryReport::history.series
  std::size_t at = 0;               ///< index of the first point after it
  double change = 0.0;              ///< relative, between the segments before and after it
  std::optional<double> low, high;  ///< 95 %, given the place
  std::optional<double> p;          ///< from the permutation test; absent: a counter, which repeats exactly
};

/// A series that moves slowly, not in one step.
struct Drift {
  std::size_t series = 0;
  double change = 0.0;  ///< relative, over all nights: Sen's slope
  double low = 0.0, high = 0.0;
  double p = 1.0;
  std::optional<double> largest_change;  ///< largest of the series' change points
};

/// What changed in a history. Never a verdict.
struct HistoryReport {
  History history;                   ///< what was selected
  std::vector<ChangePoint> changes;  ///< newest first
  std::vector<Drift> drifts;         ///< largest first
  /// Correlation of a night's noise with the next one's, the median over the series; absent: too few nights. The tests
  /// assume independent nights: with correlation more of the findings are false.
  std::optional<double> correlation;
  std::size_t tested = 0;  ///< series of times long enough for the test
  HistoryOptions options;
};

/// Finds change points and drifts. Times are tested, on logarithms: a series counts if Benjamini-Hochberg rejects that
/// it never moved; the cuts inside such a series are tested at the level times the share of series that moved
/// (Benjamini and Bogomolov, J. R. Statist. Soc. B 76, 2014). A counter changes if it moves by 0.5 % and by three
/// deviations between processes. The same history and options give the same report. Throws Error if nothing matches.
HistoryReport AnalyzeHistory(History history, const HistoryOptions& options);

}  // namespace fa_profile::gate
