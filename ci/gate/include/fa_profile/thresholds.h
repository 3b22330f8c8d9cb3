#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fa_profile {

enum class Severity { kError, kWarning, kOff };

/// Limits of one kind of comparison. Worse by more than both is what the tests look for.
struct Tolerance {
  double relative = 0.0;  ///< 0.02: 2 %
  double absolute = 0.0;  ///< in the metric's unit; of shares: 0.015 is 1.5 points
};

/// An item of `rules` or `exceptions`: what is demanded of the metric of the cases it matches. Patterns are globs
/// (GlobMatches()) over whole names. Of several that match one comparison the last counts, for each demand by itself.
struct ThresholdRule {
  std::string kernel = "*";
  std::string shape = "*";
  std::string phase;               ///< glob; empty: the whole kernel, and no phase
  std::string metric;              ///< an id, never a glob: the catalogue's, kCycles or of StaticMetrics()
  std::optional<double> relative;  ///< growth allowed, of the base's value
  std::optional<double> absolute;  ///< growth allowed, in the metric's unit
  std::optional<double> minimum;   ///< the candidate's value, whatever the base's
  std::optional<double> maximum;
  std::optional<Severity> severity;
  std::string owner;
  std::string reason;
  std::string expires;  ///< "2027-01-31", the last day it counts; empty: never. Exceptions have one.
  bool exception = false;
  int line = 0;  ///< in the file, from 1
};

/// ci/thresholds.yaml. The defaults are those of docs/gate.md and hold without a file.
struct Thresholds {
  std::string file;  ///< as given; empty: the defaults
  Tolerance duration{0.02, 0.0};
  /// Of calls under `short_call_seconds`: relative, and at least so many seconds.
  double short_call_seconds = 10e-6;
  Tolerance short_duration{0.05, 1e-6};
  Tolerance phase_time{0.05, 0.015};  ///< absolute: of the kernel's time in the base
  double counter_relative = 0.005;
  double counter_aa_ranges = 3.0;  ///< absolute limit of a counter: so many times the range of equal code
  double budget = 0.05;            ///< drift allowed against the promoted baseline
  double suspect_level = 0.05;     ///< one-sided, of the first stage
  double regression_level = 0.01;  ///< Holm-corrected over all suspects, of the second stage
  double most_dropped_pairs = 0.25;
  std::vector<ThresholdRule> rules;  ///< rules, then exceptions, in the file's order
  /// Line of each default that the file gives, by its place there: "duration.relative", "budget".
  std::map<std::string, int> default_lines;
};

/// Reads a threshold file (docs/thresholds.md). Hostile input: throws Error with "file:line:column" and the cure for
/// what YAML does not allow, duplicate keys, anchors, aliases and tags, several documents, deep nesting, tabs,
/// invisible characters and text that is not UTF-8, unknown keys, metrics and severities (near matches offered),
/// numbers that are NaN, infinite, negative, hexadecimal or of the wrong unit, a range upside down, a date that is
/// none, an exception without owner, reason or end, an `off` without reason, two rules of which one would be without
/// effect, over 1000 rules, and files over 1 MiB.
Thresholds ParseThresholds(const std::string& text, const std::string& file);

/// What `gate --explain` prints: each limit with its source (a line of the file, or the default), for these cases.
/// `cases`: kernel and shape. Throws Error for a pattern of the file that matches none of them: it checks nothing.
std::string ExplainThresholds(const Thresholds& thresholds,
                              const std::vector<std::pair<std::string, std::string>>& cases, const std::string& today);

/// Throws Error, with line and near matches, for a rule whose patterns match none of these cases, or, when there are
/// `phases`, none of these: a rule that checks nothing is a mistake, never a pass. A case without shape (static
/// evidence) fits every pattern of a shape. What it cannot see: a metric that nobody measured.
void RequireRulesMatch(const Thresholds& thresholds, const std::vector<std::pair<std::string, std::string>>& cases,
                       const std::vector<std::string>& phases = {});

/// `*` any characters, `?` one byte, all else itself; the whole text has to match. Time at most pattern times text.
bool GlobMatches(const std::string& pattern, const std::string& text);

/// Unit of a metric that a rule can name, of a phase or (`phase` empty) of the whole kernel; absent: there is no such.
std::optional<std::string_view> UnitOf(std::string_view phase, std::string_view metric);

/// "ci/thresholds.yaml:12".
std::string PlaceOf(const Thresholds& thresholds, const ThresholdRule& rule);

/// The exceptions whose last day is before `today` ("2026-11-21"): they no longer count. In the file's order.
std::vector<const ThresholdRule*> Expired(const Thresholds& thresholds, const std::string& today);

/// The demands on one metric of one case, each from the last rule that makes it and has not expired.
struct Demand {
  std::optional<double> relative;
  std::optional<double> absolute;
  std::optional<double> minimum;
  std::optional<double> maximum;
  Severity severity = Severity::kError;
  std::vector<const ThresholdRule*> rules;  ///< those that count, in the file's order

  /// The rule that makes one of them, as in `RuleOf(&ThresholdRule::minimum)`; nullptr: none does.
  template <typename Value>
  const ThresholdRule* RuleOf(std::optional<Value> ThresholdRule::*demand) const {
    const ThresholdRule* last = nullptr;
    for (const ThresholdRule* rule : rules) last = rule->*demand ? rule : last;
    return last;
  }
};

/// `phase` empty: of the whole kernel. The pointers are into `thresholds`.
Demand FindDemand(const Thresholds& thresholds, const std::string& kernel, const std::string& shape,
                  const std::string& phase, const std::string& metric, const std::string& today);

}  // namespace fa_profile
