#include "program_filter.h"

#include "fa_profile/demangle.h"
#include "fa_profile/nvtx_callbacks.h"
#include "fa_profile/program_totals.h"

namespace fa_profile::inject {

ProgramFilter::ProgramFilter(const InjectPlan& plan) : plan_(plan), pattern_(plan.kernel_pattern), selection_(plan) {}

// Remembers the class if it may be chosen for this launch.
bool ProgramFilter::Takes(const collect::LaunchCall& call) {
  const auto path = [](std::uint32_t range) { return collect::ProcessNvtxRanges().PathOf(range); };
  if (!selection_.Takes(call.symbol, collect::CurrentNvtxRange(), path)) return false;
  if (!plan_.nvtx_pattern.empty() && inside_.size() < collect::ProgramTotals::kMostClasses) {
    inside_.insert(collect::KeyOf(call));
  }
  return true;
}

bool ProgramFilter::Wants(const std::string& key) {
  if (!plan_.nvtx_pattern.empty() && plan_.replay == ProgramReplay::kSpread && !inside_.contains(key)) return false;
  if (key.starts_with(kGraphCase)) return plan_.kernel_pattern.empty();
  return pattern_.Finds(Demangle(key.substr(0, key.find(' ')).c_str()));
}

std::vector<DataLoss> ProgramFilter::Losses() const {
  if (!selection_.asks() || plan_.metrics.empty() || selection_.found() > plan_.launch_skip) return {};
  return {{"counters_not_measured", "launches that --kernel, --nvtx and --launch-skip choose",
           selection_.found() == 0 ? "no launch was found by --kernel and --nvtx"
                                   : "--launch-skip leaves out all launches that were found",
           1}};
}

}  // namespace fa_profile::inject
