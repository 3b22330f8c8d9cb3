#include "fa_profile/sample_totals.h"

#include <algorithm>
#include <string_view>

namespace fa_profile::collect {
namespace {

// Each reason has a twin that counts those of its samples again that fell in cycles without an issue.
bool IsTwin(std::string_view reason) { return reason.ends_with("_not_issued"); }

}  // namespace

void SampleTotals::Add(const PcSamples& samples) {
  dropped_ += samples.dropped;
  other_ += samples.other;
  buffer_full_ = buffer_full_ || samples.buffer_full;
  for (const SampledPc& pc : samples.pcs) {
    std::uint64_t count = 0;
    for (const auto& [reason, number] : pc.samples) count += IsTwin(reason) ? 0 : number;
    const auto known = functions_.find({pc.cubin_crc, pc.function});
    if ((known == functions_.end() || !known->second.pcs.contains(pc.offset)) && ++instructions_ > kMostInstructions) {
      beyond_instructions_ += count;
      continue;
    }
    Function& function =
        functions_.try_emplace({pc.cubin_crc, pc.function}, Function{pc.cubin_crc, pc.function, {}, 0}).first->second;
    std::vector<std::uint64_t>& sums = function.pcs[pc.offset];
    for (const auto& [reason, number] : pc.samples) {
      const std::size_t index = IndexOf(reason);
      if (sums.size() <= index) sums.resize(index + 1, 0);
      sums[index] += number;
    }
    function.samples += count;
    named_ += count;
  }
}

std::size_t SampleTotals::IndexOf(const std::string& reason) {
  const auto [place, is_new] = reason_index_.try_emplace(reason, reasons_.size());
  if (is_new) reasons_.push_back(reason);
  return place->second;
}

std::map<std::string, std::uint64_t> SampleTotals::ByReason(const std::vector<std::uint64_t>& samples) const {
  std::map<std::string, std::uint64_t> result;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] > 0) result.emplace(reasons_[i], samples[i]);
  }
  return result;
}

std::vector<SampleTotals::Kernel> SampleTotals::Kernels(const std::vector<ProgramTotals::LaunchClass>& classes,
                                                        double least_ratio) const {
  struct Classes {
    std::size_t heaviest = 0;
    std::int64_t count = 0;
    std::int64_t total_ns = 0;
  };
  std::map<std::string_view, Classes> by_name;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    Classes& same = by_name[classes[i].launch.kernel_name];
    if (same.count == 0 || classes[i].total_ns > classes[same.heaviest].total_ns) same.heaviest = i;
    ++same.count;
    same.total_ns += classes[i].total_ns;
  }
  std::map<std::string_view, Kernel> kernels;
  std::map<std::uint64_t, std::set<std::string_view>> kernels_of_cubin;
  for (const auto& [key, function] : functions_) {
    const auto found = by_name.find(function.name);
    if (found == by_name.end()) continue;
    const Classes& same = found->second;
    Kernel& kernel = kernels[function.name];
    kernel.launch_class = same.heaviest;
    kernel.classes = same.count;
    if (same.total_ns > 0) {
      kernel.others_ratio =
          1.0 - static_cast<double>(classes[same.heaviest].total_ns) / static_cast<double>(same.total_ns);
    }
    kernel.functions.push_back(&function);
    kernel.samples += function.samples;
    kernels_of_cubin[function.cubin_crc].insert(function.name);
  }
  for (const auto& [key, function] : functions_) {
    if (by_name.contains(function.name)) continue;
    const auto callers = kernels_of_cubin.find(function.cubin_crc);
    if (callers == kernels_of_cubin.end() || callers->second.size() != 1) continue;
    Kernel& kernel = kernels[*callers->second.begin()];
    kernel.functions.push_back(&function);
    kernel.samples += function.samples;
  }
  std::vector<Kernel> result;
  const double least = std::max(1.0, least_ratio * static_cast<double>(named_));
  for (auto& [name, kernel] : kernels) {
    if (static_cast<double>(kernel.samples) >= least) result.push_back(std::move(kernel));
  }
  std::ranges::stable_sort(result, [](const Kernel& a, const Kernel& b) { return a.samples > b.samples; });
  return result;
}

}  // namespace fa_profile::collect
