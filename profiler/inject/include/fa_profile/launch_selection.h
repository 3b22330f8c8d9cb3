#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fa_profile/inject_protocol.h"
#include "fa_profile/kernel_pattern.h"

namespace fa_profile::inject {

/// Selects the launches that may be measured: --kernel, --nvtx, --launch-skip and --launch-count. One thread at a time.
class LaunchSelection {
 public:
  /// Throws Error: not a regular expression.
  explicit LaunchSelection(const InjectPlan& plan);

  /// Each launch must be checked. If false, every launch that matches --kernel may be measured.
  bool asks() const { return nvtx_ || skip_ > 0 || count_ > 0; }

  /// The program's next launch may be measured. `symbol`: mangled name of the kernel; nullptr: a CUDA graph, which
  /// counts when there is no --kernel. `range`: number of the NVTX range that the launching thread is in, 0: none;
  /// `path` gives the path of a range.
  bool Takes(const char* symbol, std::uint32_t range, const std::function<std::string(std::uint32_t)>& path);
  /// A launch was measured.
  void OnMeasured() { ++measured_; }
  /// Launches so far that match --kernel and --nvtx.
  std::int64_t found() const { return found_; }
  /// The requested number of launches was measured.
  bool over() const { return count_ > 0 && measured_ >= count_; }

 private:
  bool IsWanted(const char* symbol);
  bool IsInside(std::uint32_t range, const std::function<std::string(std::uint32_t)>& path);

  KernelPattern kernels_;
  bool all_kernels_;
  bool nvtx_;
  KernelPattern ranges_;
  std::int64_t skip_;
  std::int64_t count_;
  std::int64_t found_ = 0;
  std::int64_t measured_ = 0;
  std::unordered_map<std::string, bool> known_kernels_;  // by mangled name
  std::vector<signed char> known_ranges_;                // by number; -1: not checked yet
};

}  // namespace fa_profile::inject
