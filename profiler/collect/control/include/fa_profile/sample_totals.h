#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/gpu_api.h"
#include "fa_profile/program_totals.h"

namespace fa_profile::collect {

/// PC samples of a program, added up by function, in bounded memory. One thread at a time.
class SampleTotals {
 public:
  void Add(const PcSamples& samples);

  struct Function {
    std::uint64_t cubin_crc = 0;
    std::string name;                                         ///< mangled
    std::map<std::uint32_t, std::vector<std::uint64_t>> pcs;  ///< by offset, then by index of the stall reason
    std::uint64_t samples = 0;                                ///< a sample counts once: without "_not_issued"
  };

  /// The samples of one kernel.
  struct Kernel {
    std::size_t launch_class = 0;            ///< index of the class of this kernel that took the most time
    std::int64_t classes = 1;                ///< classes of this kernel
    double others_ratio = 0.0;               ///< share of the kernel's time that other classes took
    std::vector<const Function*> functions;  ///< the kernel's, and those that only it can have called in its cubin
    std::uint64_t samples = 0;
  };
  /// The kernels with `least_ratio` of all named samples or more, those with the most first. Valid until Add().
  std::vector<Kernel> Kernels(const std::vector<ProgramTotals::LaunchClass>& classes, double least_ratio) const;

  std::uint64_t named() const { return named_; }      ///< samples of functions that CUPTI names
  std::uint64_t dropped() const { return dropped_; }  ///< by the hardware
  std::uint64_t other() const { return other_; }      ///< in code that CUPTI does not name
  bool buffer_full() const { return buffer_full_; }   ///< more are missing, uncounted
  /// Samples of instructions after the first kMostInstructions.
  std::uint64_t beyond_instructions() const { return beyond_instructions_; }
  /// Some hundred kernels; less than 200 MB.
  static constexpr std::size_t kMostInstructions = std::size_t{1} << 18U;

  /// The samples of one instruction of a Function, by the names of their stall reasons.
  std::map<std::string, std::uint64_t> ByReason(const std::vector<std::uint64_t>& samples) const;

 private:
  std::size_t IndexOf(const std::string& reason);

  std::map<std::pair<std::uint64_t, std::string>, Function> functions_;
  std::vector<std::string> reasons_;
  std::map<std::string, std::size_t> reason_index_;
  std::uint64_t named_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t other_ = 0;
  std::uint64_t beyond_instructions_ = 0;
  std::size_t instructions_ = 0;
  bool buffer_full_ = false;
};

}  // namespace fa_profile::collect
