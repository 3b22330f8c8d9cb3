// docs/metrics.md: every row of the metric catalogue with its formula and source.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "fa_profile/edit_text.h"
#include "fa_profile/exported_metrics.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/stall_reasons.h"
#include "test_files.h"

namespace fa_profile::exporters::metrics_document_test {
namespace {

constexpr const char* kIntroduction = R"(# Metrics

Generated from the metric catalogue (`profiler/model/metric_catalogue.cpp`); do not edit by hand.

Each metric is a formula over counters as CUPTI and Nsight Compute name them, and over variables: `device.*`, `launch.*`
(of the longest launch), `shape.flops` and `timing.*` (launches without the profiler). Of alternatives, which begin with
`|`, the first whose counters were all recorded counts: for chips with other names, and for sets that collect less
(`TriageCompute`: the set `phases`). A metric without its inputs is absent, never zero. A kernel that is not correct has
no metric in seconds or per second. In parentheses: the unit, ↑ or ↓ where a higher or lower value is better, and *exact*
(`"deterministic": true` in JSON) if two launches of the same code on the same inputs have the same value. Cycles,
durations, rates and hit rates are noisy, also because counters are collected in several passes. A ratio that exceeds 0
to 1 by up to 2 % is 0 or 1; beyond that it is absent, and the report names it under what is missing.

Shared-memory wavefronts are counted in three ways that do not add up to each other:

| name | counts |
|---|---|
| data-pipe shared wavefronts (`shared_wavefronts`), their bank conflicts (`shared_excess_wavefronts`) | hardware, whole kernel: what the L1 data pipe processed, with parts of cp.async, matrix operands and mbarrier operations |
| SASS shared wavefronts (`phase_shared_wavefronts`), bank conflicts (`phase_bank_conflicts`) | per instruction, cp.async included; Prometheus serves these |
| shared load/store wavefronts (closures of the phases) | loads and stores only, per instruction and in hardware: what can be compared |

A metric without a source has that of the metric before it. `stall_<reason>_ratio` are under [stall
reasons](#stall-reasons), what goes to Prometheus is [below](#metrics-for-prometheus). Some counters
[lie](measuring.md#counters-that-lie-and-are-not-used) and are not used.

)";

constexpr const char* kPhaseIntroduction = R"(# Metrics of a phase

From the phase catalogue (`profiler/model/phase_catalogue.cpp`): formulas over sums of what PC sampling and SASS metrics
report for the [phase's instructions](phases.md). Variables:

- `samples.total`, `samples.selected` (issuing) and other stall reasons; `samples.waiting`: at a barrier, for an mbarrier,
  or asleep.
- `time.samples`: samples of warps at work in the phase, and of those that waited at a barrier for it.
- `sass.<metric>`: a SASS metric. `inst.<class>`: executions by warps of instructions of a class; `thread_inst.<class>`:
  by threads whose predicate was on. `work.*`: executions times what the opcode does.
- `kernel.<variable>`: the same, summed over all phases and the unattributed part.
- `metric.<id>`: a metric of the kernel, above.

A phase without work of a kind has 0. A quantity that was not measured, or needs a missing disassembly, is absent.
)"
                                           "\n";

const char* Word(Polarity polarity) {
  switch (polarity) {
    case Polarity::kHigherIsBetter:
      return ", ↑";
    case Polarity::kLowerIsBetter:
      return ", ↓";
    default:
      return "";
  }
}

const CatalogueMetric* MetricOf(const StallReason& stall) {
  return FindMetric(fmt::format("stall_{}_ratio", stall.reason));
}

bool IsStall(const CatalogueMetric& metric) {
  return std::ranges::any_of(StallReasons(), [&](const StallReason& stall) { return MetricOf(stall) == &metric; });
}

void WriteFormula(std::string_view formula, std::ostream& out) {
  for (const char* lead = "      "; !formula.empty(); lead = "    | ") {
    const std::size_t end = formula.find(" | ");
    out << lead << formula.substr(0, end) << '\n';
    formula = end == std::string_view::npos ? std::string_view() : formula.substr(end + 3);
  }
  out << '\n';
}

void WriteMetric(const CatalogueMetric& metric, bool with_source, std::ostream& out) {
  out << fmt::format("## {}\n\n{} ({}{}{})", metric.id, metric.help, metric.unit, Word(metric.polarity),
                     metric.stability == Stability::kDeterministic ? ", exact" : "");
  if (with_source) out << fmt::format(" Source: {}.", metric.source);
  out << "\n\n";
  WriteFormula(metric.formula, out);
}

void WriteMetrics(std::span<const CatalogueMetric> metrics, std::ostream& out) {
  std::string_view source;
  for (const CatalogueMetric& metric : metrics) {
    if (IsStall(metric)) continue;
    WriteMetric(metric, metric.source != source, out);
    source = metric.source;
  }
}

constexpr const char* kExportedIntroduction = R"(# Metrics for Prometheus

From the table of exported metrics (`profiler/model/exported_metrics.cpp`); [prometheus.md](prometheus.md) explains how
to serve them. A quantity that was not measured has no series; it is never reported as zero.

| metric | type | labels | unit | what | from |
|---|---|---|---|---|---|
)";

constexpr const char* kStallIntroduction = R"(# Stall reasons

Why a resident warp did not issue an instruction (`profiler/model/stall_table.h`): a share of the warp-cycles of a
kernel, or of the samples of a phase. Prometheus has the groups. A reason's twin `..._not_issued` in a recording counts
those of its samples in which the scheduler issued nothing at all; it is part of the reason.

| group | what its warps do |
|---|---|
)";

void WriteStalls(std::ostream& out) {
  out << kStallIntroduction;
  for (const StallGroup& group : StallGroups()) {
    out << fmt::format("| `{}`: {} | {} |\n", group.id, group.title, group.help);
  }
  out << "\n| reason | group | a warp in it is |\n|---|---|---|\n";
  for (const StallReason& stall : StallReasons()) {
    out << fmt::format("| `{}` | {} | {} |\n", stall.reason, stall.group, stall.help);
  }
  out << "\nA kernel's share is the metric `stall_<reason>_ratio` (ratio):\n\n";
  std::map<std::string, std::string> reasons;  // by formula
  for (const StallReason& stall : StallReasons()) {
    const CatalogueMetric* metric = MetricOf(stall);
    if (metric == nullptr) continue;
    std::string& of =
        reasons[Replaced(std::string(metric->formula), fmt::format("stalled_{}", stall.reason), "stalled_<reason>")];
    of += fmt::format("{}`{}`", of.empty() ? "" : ", ", stall.reason);
  }
  for (const auto& [formula, of] : reasons) {
    out << of << ":\n\n";
    WriteFormula(formula, out);
  }
}

void WriteExported(std::ostream& out) {
  out << kExportedIntroduction;
  for (const ExportedMetric& metric : ExportedMetrics()) {
    out << fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", metric.name, ToString(metric.type), metric.labels,
                       metric.unit, metric.help, metric.source);
  }
}

TEST(MetricsDocumentTest, IsUpToDate) {
  std::ostringstream out;
  out << kIntroduction;
  WriteMetrics(MetricCatalogue(), out);
  out << kPhaseIntroduction;
  WriteMetrics(PhaseCatalogue(), out);
  WriteStalls(out);
  WriteExported(out);
  ExpectGolden("docs/metrics.md", out.str());
}

}  // namespace
}  // namespace fa_profile::exporters::metrics_document_test
