#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/collect_run.h"

namespace fa_profile::collect {

/// A counter for what phases need to know about each instruction. A metric that the chip lacks is a DataLoss
/// "metric_unavailable" in the run's sink. One per process, like SassCounter. Throws Error.
std::unique_ptr<SassCounter> OpenInstructionCounter(CollectRun& run);

/// The counts of one launch as a recording stores them: without instructions that were never executed. `function_id`
/// gives the id of a function of a cubin.
std::vector<SassCount> CountsOf(
    const std::vector<CountedPc>& pcs,
    const std::function<std::int64_t(std::uint64_t cubin_crc, const std::string& function)>& function_id);

}  // namespace fa_profile::collect
