#include "fa_profile/instruction_counts.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fa_profile::collect {
namespace {

// Requests and operations follow from the opcode and the executions.
constexpr std::array kSassMetrics = {
    "smsp__sass_inst_executed",
    "smsp__sass_thread_inst_executed",
    "smsp__sass_thread_inst_executed_pred_on",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal",
    "smsp__sass_l1tex_tags_mem_global",
    "smsp__sass_sectors_mem_global",
    "smsp__sass_sectors_mem_global_ideal",
    "smsp__sass_sectors_mem_local",
};

}  // namespace

std::unique_ptr<SassCounter> OpenInstructionCounter(CollectRun& run) {
  const std::vector<std::string> known = run.gpu.SassMetrics();
  std::vector<std::string> wanted;
  for (const char* const metric : kSassMetrics) {
    if (std::binary_search(known.begin(), known.end(), metric)) {
      wanted.emplace_back(metric);
    } else {
      run.sink.Write(DataLoss{"metric_unavailable", metric, "CUPTI has no such SASS metric on " + run.device.chip, 1});
    }
  }
  return run.gpu.OpenSassCounter(wanted);
}

std::vector<SassCount> CountsOf(
    const std::vector<CountedPc>& pcs,
    const std::function<std::int64_t(std::uint64_t cubin_crc, const std::string& function)>& function_id) {
  std::vector<SassCount> counts;
  for (const CountedPc& pc : pcs) {
    SassCount count{0, pc.offset, {}};
    for (const auto& [metric, value] : pc.values) {
      if (value > 0) count.values.emplace(metric, value);
    }
    if (count.values.empty()) continue;
    count.function_id = function_id(pc.cubin_crc, pc.function);
    counts.push_back(std::move(count));
  }
  return counts;
}

}  // namespace fa_profile::collect
