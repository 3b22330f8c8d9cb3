#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/gate_state.h"
#include "fa_profile/gpu_reading.h"
#include "fa_profile/profile.h"
#include "fa_profile/totals.h"

namespace fa_profile::prom {

/// The exporter's own metrics.
struct CollectorState {
  std::map<std::string, bool> up;         ///< by collector: "spool", "nvml", "gpm", "state"; absent: switched off
  std::optional<double> last_collection;  ///< Unix time; absent: none yet
  std::optional<double> last_recording;   ///< Unix time; absent: none yet
  double collection_seconds = 0;
  std::map<std::string, double> recordings;  ///< by result: "counted", "duplicate", "bad"
  double spool_files = 0;
  double perfmon_conflicts = 0;
  double failed_runs = 0;
  std::optional<double> refused_states;  ///< files kept aside; absent: it has no state
  double series_dropped = 0;             ///< summed over earlier pages
  std::map<int, std::uint64_t> http_requests;
  int http_connections = 0;
  double started = 0;  ///< Unix time
};

/// The reference for kernels: means and shares from one recording, over all of its shapes.
struct Baseline {
  std::string gpu_name;
  std::string driver;
  std::string commit;
  std::optional<double> taken;                                              ///< Unix time; absent if unknown
  std::map<std::pair<std::string, std::string>, double> phase_ratios;       ///< by kernel and phase
  std::map<std::pair<std::string, std::string>, double> durations_seconds;  ///< by kernel and shape bucket
};

/// The baseline from a recording.
Baseline BaselineOf(const Recording& recording, const Profile& profile);

/// Present when the data are simulated.
struct SimulationInfo {
  int hosts = 0;
  std::string recording;
};

/// Everything that goes into a page; an absent part has no series.
struct PageInput {
  const Totals* totals = nullptr;
  const HostReading* host = nullptr;
  const Baseline* baseline = nullptr;
  const GateState* gate = nullptr;
  const CollectorState* collector = nullptr;
  const SimulationInfo* simulation = nullptr;
  const Totals* held = nullptr;                                 ///< kernels whose sums are shown instead: PageHistory
  double gauges_for = std::numeric_limits<double>::infinity();  ///< seconds; kernels idle for longer have only sums
};

/// The families of a page, in the order of the table of exported metrics. A GPU has at most kMaxSeriesPerGpu series:
/// stall cycles are left out first, then the other phases' counters, then histograms.
struct Families {
  std::vector<prometheus::MetricFamily> families;
  std::size_t series = 0;   ///< lines with a value; a histogram has one per bucket, and its sum and count
  std::size_t dropped = 0;  ///< series left out
};
Families MakeFamilies(const PageInput& input);

/// Prometheus's text format 0.0.4.
std::string ToText(const Families& families);

/// A page of metrics, rendered once and shared by all clients until the next page. Safe from any thread.
class Page {
 public:
  explicit Page(const Families& families);

  struct Body {
    std::string content_type;
    std::string content_encoding;  ///< "gzip" or empty
    std::shared_ptr<const std::string> bytes;
  };
  /// Chosen by the request's Accept and Accept-Encoding headers: OpenMetrics 1.0 if requested, else the text format
  /// 0.0.4.
  Body Render(const std::string& accept, const std::string& accept_encoding) const;

  std::size_t series() const { return series_; }
  std::size_t dropped() const { return dropped_; }

 private:
  std::size_t series_;
  std::size_t dropped_;
  std::shared_ptr<const std::string> text_;
  // Made on first request.
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const std::string> open_metrics_;
  mutable std::shared_ptr<const std::string> text_gzip_;
  mutable std::shared_ptr<const std::string> open_metrics_gzip_;
};

/// Text format 0.0.4 as OpenMetrics 1.0: counters are named without "_total" in HELP and TYPE, "# EOF" ends it.
std::string ToOpenMetrics(const std::string& text);

/// gzip, at the fastest level.
std::string Gzip(const std::string& bytes);

/// Only the gate's families (docs/metrics.md, faprof_gate_*), in Prometheus's text format 0.0.4.
std::string GateTextfile(const GateState& state);

}  // namespace fa_profile::prom
