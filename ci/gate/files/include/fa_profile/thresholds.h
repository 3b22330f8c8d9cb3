#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fa_profile::gate {

enum class Severity { kError, kWarning, kOff };

/// Limits of one kind of comparison. Worse means worse by more than both.
struct Tolerance {
  double relative = 0.0;  ///< 0.02: 2 %
  double absolute = 0.0;  ///< in the metric's unit; for shares: 0.015 is 1.5 points
};

/// An item of `rules` or `exceptions`: demands on a metric of the cases that it matches. Patterns are globs
/// (GlobMatches()) over whole names. If several rules match a comparison, the last one counts, for each demand
/// separately.
struct ThresholdRule {
  std::string kernel = "*";
  std::string shape = "*";
  std::string phase;               ///< glob; empty: the whole kernel, not phases
  std::string metric;              ///< an id of the catalogues, kCycles or an id of StaticMetrics(); not a glob
  std::optional<double> relative;  ///< growth allowed, relative to the base's value
  std::optional<double> absolute;  ///< growth allowed, in the metric's unit
  std::optional<double> minimum;   ///< least allowed value of the candidate, whatever the base's
  std::optional<double> maximum;
  std::optional<Severity> severity;
  std::string owner;
  std::string reason;
  std::string expires;  ///< "2027-01-31", the last day it counts; empty: never; required for exceptions
  bool exception = false;
  int line = 0;  ///< in the file, from 1
};

/// ci/thresholds.yaml. The initial values hold without a file.
struct Thresholds {
  std::string file;    ///< as given; empty: the defaults
  bool found = false;  ///< in the current folder, not named by the user: see AreAboutOtherKernels()
  Tolerance duration{0.02, 1e-7};
  Tolerance phase_time{0.05, 0.015};  ///< absolute: as a share of the kernel's time in the base
  double counter_relative = 0.005;
  double counter_aa_ranges = 3.0;   ///< absolute limit of a counter, in ranges of equal code
  double code_instructions = 0.20;  ///< growth of a kernel's code that makes it suspect
  double code_registers = 0.25;     ///< the same for its registers per thread
  double budget = 0.05;             ///< drift allowed against the promoted baseline
  /// Standard deviation between cards of one model of the time of equal code. Two NVIDIA H200 (driver 580.159.04,
  /// November 2026) differed by 3.8, 3.5 and 2.8 % on cublas, wmma and mma, and by less than 0.8 % on four longer
  /// kernels: 3.4 % / sqrt(2), the first three.
  double between_cards = 0.024;
  double suspect_level = 0.10;     ///< one-sided, for the first stage
  double regression_level = 0.01;  ///< Holm-corrected over all suspects, for the second stage
  double most_dropped_pairs = 0.25;
  std::vector<ThresholdRule> rules;  ///< rules, then exceptions, in the file's order
  /// Line of each default that the file sets, by DefaultSetting::Name().
  std::map<std::string, int> default_lines;
};

/// One setting of `defaults`: drives the reader, the explanation, and the tests of schema and docs.
struct DefaultSetting {
  std::string_view section;  ///< "duration"; empty: `key` is in `defaults` itself
  std::string_view key;      ///< "relative"
  std::string_view unit;     ///< "ratio", "seconds", or empty: a plain number
  double most;               ///< largest value allowed
  double& (*value)(Thresholds& thresholds);
  std::string_view meaning;  ///< "a call's time and cycles: worse by"

  std::string Name() const;  ///< "duration.relative"
};
std::span<const DefaultSetting> DefaultSettings();

/// Reads a threshold file (docs/gate-reference.md). Hostile input: throws Error with "file:line:column" and the cure
/// for invalid YAML, duplicate keys, anchors, aliases and tags, several documents, deep nesting, tabs, invisible
/// characters and text that is not UTF-8, unknown keys, metrics and severities (with near matches), numbers that are
/// NaN, infinite, negative, hexadecimal or in the wrong unit, a minimum above the maximum, invalid dates, an exception
/// without owner, reason or end, `off` without reason, a rule that another makes ineffective, over 1000 rules, and
/// files over 1 MiB.
Thresholds ParseThresholds(const std::string& text, const std::string& file);

/// Output of `gate --explain`: each limit with its source (a line of the file, or the default), for these cases.
/// `cases`: kernel and shape. Throws Error like RequireRulesMatch().
std::string ExplainThresholds(const Thresholds& thresholds,
                              const std::vector<std::pair<std::string, std::string>>& cases, const std::string& today);

/// Throws Error, with line and near matches, for a rule that checks nothing: its patterns match none of these cases, or
/// none of `phases` unless that is empty. A case without shape (static evidence) matches all patterns of shapes.
/// Metrics that were not measured are not detected.
void RequireRulesMatch(const Thresholds& thresholds, const std::vector<std::pair<std::string, std::string>>& cases,
                       const std::vector<std::string>& phases = {});

/// Rules name kernels, and not one of them matches a kernel of `cases`. A pattern that matches every name, "*", names
/// none. Limits that were only found are then not meant for these cases.
bool AreAboutOtherKernels(const Thresholds& thresholds, const std::vector<std::pair<std::string, std::string>>& cases);

/// The note that limits which were found have been left out for that reason.
std::string LeftOutNote(const Thresholds& thresholds);

/// `*` matches any characters, `?` one byte; the whole text has to match. Takes at most pattern times text steps.
bool GlobMatches(const std::string& pattern, const std::string& text);

/// Unit of a metric that a rule can name, for a phase or (`phase` empty) the whole kernel; absent: unknown metric.
std::optional<std::string_view> UnitOf(std::string_view phase, std::string_view metric);

/// "ci/thresholds.yaml:12".
std::string PlaceOf(const Thresholds& thresholds, const ThresholdRule& rule);

/// The rules whose last day is before `today` ("2026-11-21"), in the file's order. They no longer count.
std::vector<const ThresholdRule*> Expired(const Thresholds& thresholds, const std::string& today);

/// The demands on one metric of one case, each from the last rule that makes it and has not expired.
struct Demand {
  std::optional<double> relative;
  std::optional<double> absolute;
  std::optional<double> minimum;
  std::optional<double> maximum;
  Severity severity = Severity::kError;
  std::vector<const ThresholdRule*> rules;  ///< those that count, in the file's order

  /// The rule that makes one of the demands, as in `RuleOf(&ThresholdRule::minimum)`; nullptr: no rule.
  template <typename Value>
  const ThresholdRule* RuleOf(std::optional<Value> ThresholdRule::*demand) const {
    const ThresholdRule* last = nullptr;
    for (const ThresholdRule* rule : rules) last = rule->*demand ? rule : last;
    return last;
  }
};

/// `phase` empty: the whole kernel. The pointers are into `thresholds`.
Demand FindDemand(const Thresholds& thresholds, const std::string& kernel, const std::string& shape,
                  const std::string& phase, const std::string& metric, const std::string& today);

}  // namespace fa_profile::gate
