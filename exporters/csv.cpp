#include <fmt/format.h>

#include <ostream>

#include "fa_profile/metric_catalogue.h"
#include "fa_profile/report.h"
#include "fa_profile/text.h"

namespace fa_profile {
namespace {

constexpr const char* kLineEnd = "\r\n";  // RFC 4180

std::string Field(std::string_view text) {
  std::string safe = Printable(text);
  if (safe.find_first_of(",\"") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Identity(const ProfileEntry& entry) {
  std::string text = Field(entry.kernel) + "," + Field(entry.part) + ",";
  if (!entry.shape) return text + ",,,,";
  const AttentionShape& s = *entry.shape;
  return text + fmt::format("{},{},{},{},{}", s.batch, s.num_heads, s.seqlen, s.head_dim, s.causal ? 1 : 0);
}

/// Nothing where the metric is absent.
void WriteRow(std::ostream& out, const std::string& identity, const CatalogueMetric& metric,
              const std::map<std::string, double>& metrics, const std::string& phase) {
  const auto found = metrics.find(std::string(metric.id));
  if (found == metrics.end()) return;
  out << identity << ',' << metric.id << ',' << fmt::format("{}", found->second) << ',' << metric.unit << ',' << phase
      << kLineEnd;
}

}  // namespace

void WriteCsvReport(std::ostream& out, const Profile& profile, const ReportOptions&) {
  out << "kernel,part,batch,num_heads,seqlen,head_dim,causal,metric,value,unit,phase" << kLineEnd;
  for (const ProfileEntry& entry : profile.entries) {
    const std::string identity = Identity(entry);
    if (entry.verification) {
      out << identity << ",correct," << (entry.verification->correct() ? 1 : 0) << ",bool," << kLineEnd;
    }
    for (const CatalogueMetric& metric : MetricCatalogue()) {
      WriteRow(out, identity, metric, entry.metrics, {});
    }
    if (!entry.phases) continue;
    for (const PhaseEntry& phase : entry.phases->phases) {
      for (const CatalogueMetric& metric : PhaseCatalogue()) {
        WriteRow(out, identity, metric, phase.metrics, Field(phase.name));
      }
    }
  }
}

}  // namespace fa_profile
