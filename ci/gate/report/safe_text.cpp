#include "safe_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "fa_profile/metric_catalogue.h"
#include "fa_profile/static_metrics.h"
#include "fa_profile/units.h"

namespace fa_profile::gate {
namespace {

/// In per cent or points, without the unit.
std::string Signed(double ratio) {
  if (!std::isfinite(ratio)) return "?";
  const double percent = ratio * 100.0;
  if (std::abs(percent) >= 1e5) return fmt::format("{:+.1e}", percent);
  const double shown = std::abs(percent) < 0.005 ? 0.0 : percent;  // no "-0.00"
  return fmt::format("{:+.{}f}", shown, std::abs(percent) >= 99.95 ? 0 : std::abs(percent) >= 0.95 ? 1 : 2);
}

const char* ChangeUnit(const Comparison& comparison) { return comparison.metric == kPhaseTime ? " points" : " %"; }

}  // namespace

std::string ShownValue(const std::optional<double>& value, std::string_view unit) {
  if (!value || !std::isfinite(*value)) return "-";
  if (unit == "bytes" && std::abs(*value) < 1e6) return FormatCount(*value) + " B";
  return HasScaledUnit(unit) ? FormatValue(*value, unit) : FormatCount(*value);
}

std::string ShownChange(const Comparison& comparison) {
  if (!comparison.change || !std::isfinite(*comparison.change)) return "-";
  return Signed(*comparison.change) + ChangeUnit(comparison);
}

std::string ShownInterval(const Comparison& comparison) {
  if (!comparison.change_low || !comparison.change_high) return "";
  return Signed(*comparison.change_low) + " to " + Signed(*comparison.change_high) + ChangeUnit(comparison);
}

std::string ShownP(const Comparison& comparison) {
  const std::optional<double>& p = comparison.p_adjusted ? comparison.p_adjusted : comparison.p;
  if (!p) return "-";
  return *p < 0.0001 ? fmt::format("{:.0e}", *p) : fmt::format("{:.{}f}", *p, *p < 0.01 ? 4 : 2);
}

std::string TierName(int tier, const std::string& design) {
  const std::array kNames{"static", "counters", design == "pairs" ? "paired" : "times", "budget"};
  if (tier < 0 || static_cast<std::size_t>(tier) >= kNames.size()) return std::to_string(tier);
  return kNames[static_cast<std::size_t>(tier)];
}

std::string MetricLabel(const std::string& metric) {
  if (metric == kCycles) return "cycles";
  if (metric == kSlowProcesses) return "slow processes";
  const CatalogueMetric* row = FindMetric(metric);
  if (row == nullptr) row = FindPhaseMetric(metric);
  if (row != nullptr) return std::string(row->label);
  const StaticMetric* const of_code = FindStaticMetric(metric);
  return of_code != nullptr ? std::string(of_code->label) : SafeLine(metric, 80);
}

std::string MetricTitle(const Comparison& comparison) {
  return MetricLabel(comparison.metric) + (comparison.phase.empty() ? "" : " of " + comparison.phase);
}

std::string ShownNumbers(const Comparison& comparison) {
  std::string values =
      ShownValue(comparison.base, comparison.unit) + " -> " + ShownValue(comparison.candidate, comparison.unit);
  const std::string change = ShownChange(comparison);
  if (change == "-") return values;
  // A share may fall while its time grows.
  return values + ", " + change + (comparison.metric == kPhaseTime ? " of the base's time" : "");
}

std::string CaseTitle(const CaseVerdict& verdict) {
  return SafeLine(verdict.shape.empty() ? verdict.kernel : verdict.kernel + " " + verdict.shape, 120);
}

std::string VerdictText(const Comparison& comparison) {
  const std::string verdict = ToString(comparison.verdict);
  if (comparison.verdict == Verdict::kRegression && !comparison.blocking) return "warning";
  return comparison.blocking || !IsBad(comparison.verdict) ? verdict : verdict + ", not blocking";
}

const char* Level(Verdict verdict, bool blocking) {
  if (verdict != Verdict::kRegression) return "note";
  return blocking ? "error" : "warning";
}

bool IsBad(Verdict verdict) { return verdict != Verdict::kPass && verdict != Verdict::kImproved; }

std::vector<RankedComparison> WorstFirst(const GateResult& result) {
  std::vector<RankedComparison> ranked;
  for (const CaseVerdict& of : result.cases) {
    for (const Comparison& comparison : of.comparisons) {
      if (comparison.verdict != Verdict::kPass || !comparison.reason.empty()) ranked.push_back({&of, &comparison});
    }
  }
  const auto badness = [](const RankedComparison& row) {
    const bool blocks = row.comparison->blocking && IsBad(row.comparison->verdict);
    return std::pair(blocks, row.comparison->verdict);
  };
  std::ranges::stable_sort(ranked, [&](const auto& a, const auto& b) { return badness(a) > badness(b); });
  return ranked;
}

std::optional<SourcePlace> PlaceInside(const std::optional<SourcePlace>& place) {
  if (!place || place->line < 1 || place->file.empty() || place->file.size() > 1024) return std::nullopt;
  const std::string& file = place->file;
  // A colon marks a drive or a scheme, a leading '~' a home folder.
  if (file[0] == '/' || file[0] == '~' || file.find_first_of("\\:") != std::string::npos) return std::nullopt;
  if (SafeLine(file, 1024) != file) return std::nullopt;
  for (std::size_t start = 0; start <= file.size();) {
    const std::size_t end = std::min(file.find('/', start), file.size());
    const std::string_view part = std::string_view(file).substr(start, end - start);
    if (part.empty() || part == "." || part == "..") return std::nullopt;
    start = end + 1;
  }
  return place;
}

}  // namespace fa_profile::gate
