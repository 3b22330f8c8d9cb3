#include <fmt/format.h>

#include <ostream>

#include "fa_profile/metric_catalogue.h"
#include "fa_profile/report.h"

namespace fa_profile {
namespace {

constexpr const char* kIntroduction = R"(# Metrics

Generated from the metric catalogue (`profiler/model/metric_catalogue.cpp`); do not edit by hand.

Each metric is a formula over counters as CUPTI and Nsight Compute name them, and over variables: `device.*`, `launch.*`
(of the longest launch), `shape.flops` and `timing.*` (launches without the profiler). Alternatives are tried in order;
the first whose counters were all recorded counts. That is how one metric serves chips that name a counter differently,
and sets that collect less: the `TriageCompute` counters are those of the set `phases`, which takes a single pass.
A metric whose inputs are absent is absent: it is never zero. A kernel that is not correct has no metric in seconds or
per second.

*Exact* metrics give the same value for two launches of the same code on the same inputs: counts of instructions,
requests, wavefronts and sectors, and facts of the launch. *Noisy* ones do not: cycles, durations, rates, hit rates.
A counter is collected in one of several passes, so a ratio of two noisy counters can exceed what it could in one run.

)";

const char* Word(Polarity polarity) {
  switch (polarity) {
    case Polarity::kHigherIsBetter:
      return "higher is better";
    case Polarity::kLowerIsBetter:
      return "lower is better";
    default:
      return "neither";
  }
}

}  // namespace

void WriteMetricsMarkdown(std::ostream& out) {
  out << kIntroduction;
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    out << fmt::format("## {}\n\n{} Unit: {}; {}; {}.\n", metric.id, metric.help, metric.unit, Word(metric.polarity),
                       metric.stability == Stability::kDeterministic ? "exact" : "noisy");
    out << fmt::format("Source: {}.", metric.source);
    if (!metric.prometheus_name.empty()) out << fmt::format(" Prometheus: `{}`.", metric.prometheus_name);
    out << "\n\n```\n";
    std::string_view rest = metric.formula;
    for (const char* lead = "  "; !rest.empty(); lead = "| ") {
      const std::size_t end = rest.find(" | ");
      out << lead << rest.substr(0, end) << '\n';
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 3);
    }
    out << "```\n\n";
  }
}

}  // namespace fa_profile
