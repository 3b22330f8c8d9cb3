#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <unordered_map>

#include "fa_profile/contribution.h"
#include "fa_profile/exported_metrics.h"
#include "fa_profile/page.h"
#include "fa_profile/text.h"
#include "fa_profile/totals_sums.h"
#include "fa_profile/version.h"

namespace fa_profile::prom {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

/// Fills families of the table, keeping each GPU within its limit of series: those set first stay.
class Builder {
 public:
  Builder() {
    for (const ExportedMetric& metric : ExportedMetrics()) {
      Row row{MetricFamily{}, {}, OldNameOf(metric.name)};
      row.family.name = metric.name;
      row.family.help = metric.help;
      row.family.type = metric.type == ExportedType::kCounter     ? MetricType::Counter
                        : metric.type == ExportedType::kHistogram ? MetricType::Histogram
                                                                  : MetricType::Gauge;
      for (std::string_view rest = metric.labels; !rest.empty();) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        row.labels.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
      index_.emplace(metric.name, rows_.size());
      rows_.push_back(std::move(row));
    }
  }

  void Set(const std::string& name, std::initializer_list<std::string> labels, double value) {
    Row& row = Find(name);
    if (!Takes(row, labels, 1)) return;
    ClientMetric& metric = New(row, labels);
    if (row.family.type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
  }

  void Set(const std::string& name, std::initializer_list<std::string> labels, const std::optional<double>& value) {
    if (value) Set(name, labels, *value);
  }

  void SetHistogram(const std::string& name, std::initializer_list<std::string> labels, const ShapeTotals& totals) {
    Row& row = Find(name);
    if (!Takes(row, labels, totals.duration_counts.size() + 2)) return;
    prometheus::ClientMetric::Histogram& histogram = New(row, labels).histogram;
    double cumulative = 0;
    for (std::size_t i = 0; i < totals.duration_counts.size(); ++i) {
      cumulative += totals.duration_counts[i];
      ClientMetric::Bucket bucket;
      bucket.upper_bound = i < kDurationBounds.size() ? kDurationBounds[i] : std::numeric_limits<double>::infinity();
      bucket.cumulative_count = static_cast<std::uint64_t>(cumulative);
      histogram.bucket.push_back(bucket);
    }
    histogram.sample_count = static_cast<std::uint64_t>(cumulative);
    histogram.sample_sum = totals.duration_sum_seconds;
  }

  std::size_t series() const { return series_; }

  Families Finish() {
    Families result;
    result.series = series_;
    result.dropped = dropped_;
    for (Row& row : rows_) {
      if (row.family.metric.empty()) continue;
      if (!row.old_name.empty()) {
        MetricFamily& old = result.families.emplace_back(row.family);
        old.name = row.old_name;
        old.help = "Old name of " + row.family.name + ": gone in 0.3.0.";
      }
      result.families.push_back(std::move(row.family));
    }
    return result;
  }

 private:
  struct Row {
    MetricFamily family;
    std::vector<std::string> labels;
    std::string old_name;  // second name on the page; empty: none
  };

  // A family or label outside the table is a bug of this file.
  Row& Find(const std::string& name) {
    const auto found = index_.find(name);
    if (found == index_.end()) throw std::logic_error("not an exported metric: " + name);
    return rows_[found->second];
  }

  bool Takes(const Row& row, std::initializer_list<std::string> labels, std::size_t series) {
    if (labels.size() != row.labels.size()) throw std::logic_error("labels of " + row.family.name);
    if (!row.old_name.empty()) series *= 2;
    if (!row.labels.empty() && row.labels.front() == "gpu") {
      std::size_t& used = of_gpu_[*labels.begin()];
      if (used + series > static_cast<std::size_t>(kMaxSeriesPerGpu) ||
          of_gpus_ + series > static_cast<std::size_t>(kMaxSeriesPerPage)) {
        dropped_ += series;
        return false;
      }
      used += series;
      of_gpus_ += series;
    }
    series_ += series;
    return true;
  }

  static ClientMetric& New(Row& row, std::initializer_list<std::string> labels) {
    ClientMetric& metric = row.family.metric.emplace_back();
    metric.label.reserve(labels.size());
    auto name = row.labels.begin();
    for (const std::string& value : labels) metric.label.push_back({*name++, SafeLine(value)});
    return metric;
  }

  std::vector<Row> rows_;
  std::unordered_map<std::string, std::size_t> index_;
  std::map<std::string, std::size_t> of_gpu_;
  std::size_t of_gpus_ = 0;
  std::size_t series_ = 0;
  std::size_t dropped_ = 0;
};

void SetDevice(const GpuReading& reading, const std::string& driver, Builder& page) {
  const std::string gpu = std::to_string(reading.index);
  page.Set("faprof_device_up", {gpu}, reading.up ? 1.0 : 0.0);
  page.Set("faprof_gpu_info", {gpu, reading.uuid, reading.name, driver, reading.compute_capability}, 1.0);
  page.Set("faprof_device_sm_clock_hertz", {gpu}, reading.sm_clock_hz);
  page.Set("faprof_device_sm_clock_max_hertz", {gpu}, reading.sm_clock_max_hz);
  page.Set("faprof_device_memory_clock_hertz", {gpu}, reading.memory_clock_hz);
  page.Set("faprof_device_power_watts", {gpu}, reading.power_watts);
  page.Set("faprof_device_power_limit_watts", {gpu}, reading.power_limit_watts);
  page.Set("faprof_device_energy_joules_total", {gpu}, reading.energy_joules);
  page.Set("faprof_device_temperature_celsius", {gpu}, reading.temperature_celsius);
  page.Set("faprof_device_memory_used_bytes", {gpu}, reading.memory_used_bytes);
  page.Set("faprof_device_memory_total_bytes", {gpu}, reading.memory_total_bytes);
  page.Set("faprof_device_busy_ratio", {gpu}, reading.busy_ratio);
  for (const auto& [reason, active] : reading.throttled) {
    page.Set("faprof_device_throttled", {gpu, reason}, active ? 1.0 : 0.0);
  }
  for (const auto& [kind, count] :
       {std::pair("corrected", reading.ecc_corrected), {"uncorrected", reading.ecc_uncorrected}}) {
    if (count) page.Set("faprof_device_ecc_errors_total", {gpu, kind}, static_cast<double>(*count));
  }
  int own = 0;
  double other = 0;
  for (const auto& [xid, count] : reading.xid_errors) {
    if (own++ < kMaxXidLabels) {
      page.Set("faprof_device_xid_errors_total", {gpu, std::to_string(xid)}, static_cast<double>(count));
    } else {
      other += static_cast<double>(count);
    }
  }
  if (other > 0) page.Set("faprof_device_xid_errors_total", {gpu, "other"}, other);
  page.Set("faprof_device_sm_active_ratio", {gpu}, reading.sm_active_ratio);
  page.Set("faprof_device_sm_occupancy_ratio", {gpu}, reading.sm_occupancy_ratio);
  page.Set("faprof_device_tensor_active_ratio", {gpu}, reading.tensor_active_ratio);
  page.Set("faprof_device_dram_active_ratio", {gpu}, reading.dram_active_ratio);
}

// A kernel on the page. Its sums may be older than the rest.
struct ShownKernel {
  std::string gpu;
  std::string name;
  const KernelTotals& newest;
  const KernelTotals& sums;
  bool has_gauges;
};

void SetGauges(const ShownKernel& kernel, Builder& page) {
  if (!kernel.has_gauges) return;
  page.Set("faprof_kernel_info", {kernel.gpu, kernel.name, kernel.newest.origin, kernel.newest.commit}, 1.0);
  for (const auto& [gauge, value] : kernel.newest.gauges) page.Set(gauge, {kernel.gpu, kernel.name}, value);
}

void SetKernelSums(const ShownKernel& kernel, Builder& page) {
  for (const auto& sum : kKernelSums) page.Set(sum.metric, {kernel.gpu, kernel.name}, kernel.sums.*sum.value);
}

void SetPhaseRatios(const ShownKernel& kernel, Builder& page) {
  if (!kernel.has_gauges) return;
  for (const auto& [shape, totals] : kernel.newest.shapes) {
    double longest = 0;
    for (const auto& [phase, ratio] : totals.phase_ratios) {
      page.Set("faprof_kernel_phase_ratio", {kernel.gpu, kernel.name, shape, phase}, ratio);
      if (phase != "unattributed") longest = std::max(longest, ratio);
    }
    for (const auto& [phase, ratio] : totals.phase_ratios) {
      if (phase == "unattributed" || longest <= 0) continue;
      page.Set("faprof_kernel_bottleneck", {kernel.gpu, kernel.name, shape, phase}, ratio == longest ? 1.0 : 0.0);
    }
  }
}

void SetShapes(const ShownKernel& kernel, Builder& page) {
  for (const auto& [shape, totals] : kernel.sums.shapes) {
    const auto newest = kernel.newest.shapes.find(shape);
    if (newest == kernel.newest.shapes.end()) continue;
    for (const auto& sum : kShapeSums) {
      if (sum.metric != nullptr) page.Set(sum.metric, {kernel.gpu, kernel.name, shape}, totals.*sum.value);
    }
    if (newest->second.HasFlops())
      page.Set("faprof_kernel_flops_total", {kernel.gpu, kernel.name, shape}, totals.flops);
    if (newest->second.HasDurations())
      page.SetHistogram("faprof_kernel_duration_seconds", {kernel.gpu, kernel.name, shape}, totals);
  }
}

void SetPhases(const ShownKernel& kernel, Builder& page) {
  for (const auto& [phase, totals] : kernel.sums.phases) {
    page.Set("faprof_phase_cycles_total", {kernel.gpu, kernel.name, phase}, totals.cycles);
    for (const auto& sum : kPhaseSums) page.Set(sum.metric, {kernel.gpu, kernel.name, phase}, totals.*sum.value);
  }
}

void SetStalls(const ShownKernel& kernel, Builder& page) {
  for (const auto& [phase, totals] : kernel.sums.phases) {
    for (const auto& [reason, cycles] : totals.stall_cycles) {
      page.Set("faprof_phase_stall_cycles_total", {kernel.gpu, kernel.name, phase, reason}, cycles);
    }
  }
}

std::vector<ShownKernel> ShownKernels(const PageInput& input) {
  std::vector<ShownKernel> kernels;
  for (const auto& [index, gpu] : input.totals->gpus) {
    for (const auto& [name, kernel] : gpu.kernels) {
      if (kernel.hidden) continue;
      const KernelTotals* const held = input.held == nullptr ? nullptr : FindKernel(*input.held, index, name);
      kernels.push_back({std::to_string(index), name, kernel, held == nullptr ? kernel : *held,
                         kernel.idle_seconds <= input.gauges_for});
    }
  }
  return kernels;
}

// In order of importance: the limit cuts the end.
void SetTotals(const PageInput& input, Builder& page) {
  const std::vector<ShownKernel> kernels = ShownKernels(input);
  for (const auto set : {SetGauges, SetKernelSums, SetShapes, SetPhaseRatios, SetPhases, SetStalls}) {
    for (const ShownKernel& kernel : kernels) set(kernel, page);
  }
}

void SetBaseline(const Baseline& baseline, Builder& page) {
  page.Set("faprof_baseline_info", {baseline.gpu_name, baseline.driver, baseline.commit}, 1.0);
  page.Set("faprof_baseline_timestamp_seconds", {}, baseline.taken);
  for (const auto& [key, ratio] : baseline.phase_ratios) {
    page.Set("faprof_baseline_phase_ratio", {key.first, key.second}, ratio);
  }
  for (const auto& [key, seconds] : baseline.durations_seconds) {
    page.Set("faprof_baseline_duration_seconds", {key.first, key.second}, seconds);
  }
}

void SetGate(const GateState& gate, Builder& page) {
  for (const auto& [name, entry] : gate.cases) {
    for (const char* const verdict :
         {"PASS", "REGRESSION", "IMPROVED", "SUSPECT", "INCONCLUSIVE", "INCOMPARABLE", "MISSING"}) {
      page.Set("faprof_gate_verdict", {name, verdict}, entry.verdict == verdict ? 1.0 : 0.0);
    }
    page.Set("faprof_gate_change_ratio", {name}, entry.change_ratio);
  }
  page.Set("faprof_gate_aa_trials_total", {}, gate.aa_trials);
  page.Set("faprof_gate_aa_false_positives_total", {}, gate.aa_false_positives);
}

void SetProcess(Builder& page) {
  long pages = 0;
  long resident = 0;
  if (std::ifstream("/proc/self/statm") >> pages >> resident) {
    page.Set("faprof_exporter_memory_bytes", {}, static_cast<double>(resident * sysconf(_SC_PAGESIZE)));
  }
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    page.Set("faprof_exporter_cpu_seconds_total", {}, seconds(usage.ru_utime) + seconds(usage.ru_stime));
  }
  std::error_code failed;
  const std::filesystem::directory_iterator files("/proc/self/fd", failed);
  if (!failed) {
    page.Set("faprof_exporter_open_files", {}, static_cast<double>(std::distance(begin(files), end(files))));
  }
}

void SetCollector(const PageInput& input, Builder& page) {
  const CollectorState& collector = *input.collector;
  for (const auto& [name, up] : collector.up) page.Set("faprof_exporter_up", {name}, up ? 1.0 : 0.0);
  page.Set("faprof_exporter_last_collection_timestamp_seconds", {}, collector.last_collection);
  page.Set("faprof_exporter_last_recording_timestamp_seconds", {}, collector.last_recording);
  page.Set("faprof_exporter_collection_duration_seconds", {}, collector.collection_seconds);
  for (const auto& [result, count] : collector.recordings)
    page.Set("faprof_exporter_recordings_total", {result}, count);
  page.Set("faprof_exporter_spool_files", {}, collector.spool_files);
  page.Set("faprof_exporter_perfmon_conflicts_total", {}, collector.perfmon_conflicts);
  page.Set("faprof_exporter_failed_runs_total", {}, collector.failed_runs);
  page.Set("faprof_exporter_refused_states", {}, collector.refused_states);
  for (const auto& [code, count] : collector.http_requests) {
    page.Set("faprof_exporter_http_requests_total", {std::to_string(code)}, static_cast<double>(count));
  }
  page.Set("faprof_exporter_http_connections", {}, collector.http_connections);
  page.Set("faprof_exporter_start_timestamp_seconds", {}, collector.started);
  if (input.totals != nullptr) page.Set("faprof_exporter_kernels_merged_total", {}, input.totals->merged);
  page.Set("faprof_exporter_series_dropped_total", {},
           collector.series_dropped + (input.totals != nullptr ? input.totals->folded : 0));
  SetProcess(page);
}

}  // namespace

Families MakeFamilies(const PageInput& input) {
  Builder page;
  page.Set("faprof_build_info", {std::string(Version()), std::string(Commit())}, 1.0);
  if (input.collector != nullptr) SetCollector(input, page);
  if (input.simulation != nullptr) {
    page.Set("faprof_simulation_info", {"true", std::to_string(input.simulation->hosts), input.simulation->recording},
             1.0);
  }
  if (input.host != nullptr) {
    for (const GpuReading& reading : input.host->gpus) SetDevice(reading, input.host->driver_version, page);
  }
  if (input.baseline != nullptr) SetBaseline(*input.baseline, page);
  if (input.gate != nullptr) SetGate(*input.gate, page);
  if (input.totals != nullptr) SetTotals(input, page);
  if (input.collector != nullptr) {
    page.Set("faprof_exporter_series", {}, static_cast<double>(page.series() + 2));  // including itself, under both
                                                                                     // names
  }
  return page.Finish();
}

Baseline BaselineOf(const Recording& recording, const Profile& profile) {
  Baseline baseline;
  baseline.gpu_name = recording.device.name;
  baseline.driver = recording.device.driver_version;
  baseline.commit = recording.session.tool_commit.substr(0, 12);
  std::tm time{};
  if (strptime(recording.session.created_at.c_str(), "%Y-%m-%dT%H:%M:%S", &time) != nullptr) {
    baseline.taken = static_cast<double>(timegm(&time));
  }
  // From the sums that are served: a host that repeats this recording is exactly at its baseline, whatever its shapes.
  const Totals totals = Contribution(recording, profile);
  for (const auto& [index, gpu] : totals.gpus) {
    for (const auto& [kernel, sums] : gpu.kernels) {
      for (const auto& [shape, calls] : sums.shapes) {
        if (calls.launches > 0)
          baseline.durations_seconds[{kernel, shape}] = calls.duration_sum_seconds / calls.launches;
      }
      double cycles = 0;
      for (const auto& [phase, of_phase] : sums.phases) cycles += of_phase.cycles;
      for (const auto& [phase, of_phase] : sums.phases) {
        if (cycles > 0) baseline.phase_ratios[{kernel, phase}] = of_phase.cycles / cycles;
      }
    }
  }
  return baseline;
}

}  // namespace fa_profile::prom
