#include <fmt/format.h>

#include <ostream>

#include "csv_fields.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/report.h"
#include "fa_profile/text.h"

namespace fa_profile::exporters {
namespace {

/// Writes nothing if the metric is absent.
void WriteRow(std::ostream& out, const std::string& identity, const CatalogueMetric& metric,
              const std::map<std::string, double>& metrics, const std::string& phase) {
  const auto found = metrics.find(std::string(metric.id));
  if (found == metrics.end()) return;
  out << identity << ',' << metric.id << ',' << fmt::format("{}", found->second) << ',' << metric.unit << ',' << phase
      << kCsvLineEnd;
}

/// Rows of what was counted in a watched program, for one kernel, kind of memory operation or range, or all of it.
class UseRows {
 public:
  UseRows(std::ostream& out, const std::string& kernel, const std::string& part)
      : out_(out), identity_(CsvField(kernel) + "," + CsvField(part) + ",,,,,,") {}

  void Count(const char* metric, std::int64_t value) { Write(metric, fmt::format("{}", value), "count"); }
  void Bytes(const char* metric, std::int64_t value) { Write(metric, fmt::format("{}", value), "bytes"); }
  void Seconds(const char* metric, double ns) { Write(metric, fmt::format("{}", ns * 1e-9), "seconds"); }
  void Ratio(const char* metric, const std::optional<double>& value) {
    if (value) Write(metric, fmt::format("{}", *value), "ratio");
  }

 private:
  void Write(const char* metric, const std::string& value, const char* unit) {
    out_ << identity_ << ',' << metric << ',' << value << ',' << unit << ',' << kCsvLineEnd;
  }

  std::ostream& out_;
  std::string identity_;
};

void WriteClass(std::ostream& out, const ProfileEntry& entry) {
  const KernelUse& use = *entry.use;
  UseRows rows(out, entry.kernel, entry.part);
  rows.Count("launches", use.launches);
  rows.Count("graph_launches", use.graph_launches);
  rows.Seconds("kernel_time_seconds", static_cast<double>(use.total_ns));
  rows.Ratio("kernel_time_share_ratio", use.share_ratio);
  rows.Seconds("max_seconds", static_cast<double>(use.max_ns));
  if (entry.timing) rows.Seconds("p95_seconds", entry.timing->p95_ns);
}

void WriteProgram(std::ostream& out, const ProgramUse& program) {
  UseRows rows(out, {}, {});
  rows.Count("windows", program.windows);
  rows.Seconds("watched_seconds", static_cast<double>(program.watched_ns));
  rows.Ratio("gpu_busy_ratio", program.busy_ratio);
  rows.Ratio("gpu_idle_ratio", program.idle_ratio);
  rows.Count("classes", program.classes);
  rows.Count("launches", program.launches);
  rows.Count("graph_launches", program.graph_launches);
  rows.Seconds("kernel_time_seconds", static_cast<double>(program.kernel_ns));
  rows.Seconds("memory_time_seconds", static_cast<double>(program.memory_ns));
  for (const MemoryUse& use : program.memory) {
    UseRows of_kind(out, {}, use.kind);
    of_kind.Count("memory_operations", use.operations);
    of_kind.Bytes("memory_bytes", use.bytes);
    of_kind.Seconds("memory_time_seconds", static_cast<double>(use.total_ns));
    of_kind.Ratio("memory_time_share_ratio", use.share_ratio);
  }
  for (const NvtxUse& use : program.nvtx) {
    UseRows of_range(out, {}, use.path);
    of_range.Count("nvtx_ranges", use.ranges);
    of_range.Seconds("nvtx_host_seconds", static_cast<double>(use.host_ns));
    of_range.Count("nvtx_launches", use.launches);
    of_range.Seconds("nvtx_gpu_seconds", static_cast<double>(use.gpu_ns));
    of_range.Ratio("nvtx_gpu_share_ratio", use.share_ratio);
  }
}

}  // namespace

std::string CsvField(std::string_view text) {
  std::string safe = Printable(text);
  if (safe.find_first_of(",\"") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string CsvIdentity(const std::string& kernel, const std::string& part, const std::optional<Shape>& shape) {
  const std::string text = CsvField(kernel) + "," + CsvField(part) + ",";
  if (!shape) return text + ",,,,,";
  const AttentionShape* const attention = shape->attention();
  if (attention == nullptr) return text + ",,,,," + CsvField(shape->ToString());
  return text + fmt::format("{},{},{},{},{},", attention->batch, attention->num_heads, attention->seqlen,
                            attention->head_dim, attention->causal ? 1 : 0);
}

void WriteCsvReport(std::ostream& out, const Profile& profile, const ReportOptions&) {
  out << "kernel,part,batch,num_heads,seqlen,head_dim,causal,parameters,metric,value,unit,phase" << kCsvLineEnd;
  if (profile.program) WriteProgram(out, *profile.program);
  for (const ProfileEntry& entry : profile.entries) {
    const std::string identity = CsvIdentity(entry.kernel, entry.part, entry.shape);
    if (entry.use) WriteClass(out, entry);
    if (const std::optional<bool> correct = entry.correct()) {
      out << identity << ",correct," << (*correct ? 1 : 0) << ",bool," << kCsvLineEnd;
    }
    for (const CatalogueMetric& metric : MetricCatalogue()) {
      WriteRow(out, identity, metric, entry.metrics, {});
    }
    if (!entry.phases) continue;
    for (const PhaseEntry& phase : entry.phases->phases) {
      for (const CatalogueMetric& metric : PhaseCatalogue()) {
        WriteRow(out, identity, metric, phase.metrics, CsvField(phase.name));
      }
    }
  }
}

}  // namespace fa_profile::exporters
