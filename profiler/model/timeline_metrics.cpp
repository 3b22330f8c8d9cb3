#include "fa_profile/timeline_metrics.h"

#include <algorithm>
#include <iterator>

namespace fa_profile {
namespace {

// From GH100's groups of counters for compute: those in a group share a pass. Other chips lack some of the names (GB100
// those of DRAM), and a group without any is a DataLoss.
constexpr TimelineMetric kTimelineMetrics[] = {
    {"sm_active", "SMs active", "TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "TPC"},
    {"tensor", "tensor pipe",
     "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", "TPC"},
    {"issue", "instructions issued", "TPC.TriageCompute.sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed",
     "TPC"},
    {"warps", "resident warps", "TPC.TriageCompute.tpc__warps_active_realtime.avg.pct_of_peak_sustained_elapsed",
     "TPC"},
    {"shared", "shared memory",
     "SM_A.TriageCompute.l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed", "SM_A"},
    {"xu", "special functions",
     "SM_A.TriageCompute.sm__inst_executed_pipe_xu_realtime.avg.pct_of_peak_sustained_elapsed", "SM_A"},
    {"l2", "L2", "LTS.TriageCompute.lts__t_sector_throughput.avg.pct_of_peak_sustained_elapsed", "LTS"},
    {"dram_read", "DRAM read", "FBSP.TriageCompute.dramc__read_throughput.avg.pct_of_peak_sustained_elapsed", "FBSP"},
    {"dram_write", "DRAM write", "FBSP.TriageCompute.dramc__write_throughput.avg.pct_of_peak_sustained_elapsed",
     "FBSP"},
};

}  // namespace

std::span<const TimelineMetric> TimelineMetrics() { return kTimelineMetrics; }

const TimelineMetric* FindTimelineMetric(std::string_view id) {
  const auto found = std::ranges::find(kTimelineMetrics, id, &TimelineMetric::id);
  return found == std::end(kTimelineMetrics) ? nullptr : &*found;
}

}  // namespace fa_profile
