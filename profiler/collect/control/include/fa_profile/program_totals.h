#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fa_profile/gpu_work.h"
#include "fa_profile/launch_sample.h"
#include "fa_profile/recording.h"

namespace fa_profile::collect {

/// Where a program's GPU time goes: adds up work by launch class, which is a kernel with its grid, block and cluster.
/// Memory grows with the classes and with the work of one window, not with the run. One thread at a time.
class ProgramTotals {
 public:
  /// Work of other devices than `device` is counted as lost.
  explicit ProgramTotals(std::uint32_t device = 0) : device_(device) {}

  /// Whether the work counts; false: it is lost, or left out after Pause().
  bool Add(const GpuWork& work);
  /// Records end at this time, and begin again at that of Resume(). CUPTI gives kernels of a graph that run in between
  /// the end of the pause: they are left out.
  void Pause(std::int64_t now_ns);
  void Resume(std::int64_t now_ns);

  /// A launch class. The index of a class in `classes()` never changes.
  struct LaunchClass {
    Launch launch;  ///< of its first record; kernel_name is mangled
    std::int64_t launches = 0;
    std::int64_t graph_launches = 0;
    std::int64_t total_ns = 0;
    bool collective = false;  ///< IsCollective()
  };
  const std::vector<LaunchClass>& classes() const { return classes_; }

  /// A CUDA graph, by CUPTI's id of its executable.
  struct Graph {
    std::int64_t launches = 0;
    std::int64_t kernels = 0;
    std::int64_t total_ns = 0;
    std::uint32_t last_correlation = 0;
    std::int64_t kernels_of_launch = 0;  ///< so far, of the last
    std::int64_t kernels_before = 0;     ///< of the launch before the last
    std::int64_t kernels_of_each = 0;    ///< that two launches in a row had; 0: none did yet
    bool varies = false;                 ///< others in a row had another number, as loops of conditional nodes have
    bool collective = false;             ///< one of its kernels is
  };
  const std::map<std::uint32_t, Graph>& graphs() const { return graphs_; }

  /// Time of all kernels so far.
  std::int64_t kernel_ns() const { return kernel_ns_; }

  /// What came since the last window: rows without window_id; KernelWork::case_id is the index of the class.
  struct Window {
    std::int64_t busy_ns = 0;
    std::vector<KernelWork> kernels;
    std::vector<MemoryWork> memory;
    /// Durations of up to kSampledDurations launches of a class, picked evenly from the window, by index of the class.
    std::map<std::size_t, std::vector<double>> durations_ns;
    LaunchWeights weights;  ///< that the numbers above were multiplied by
  };
  static constexpr std::size_t kSampledDurations = 64;
  /// `asked`: what was launched since the last window, when only a part of it was recorded.
  Window TakeWindow(const AskedLaunches* asked = nullptr);

  /// Records left out so far: of other devices, without times, and of classes beyond kMostClasses. Launches that
  /// were counted while no launch of their kind was recorded.
  struct Lost {
    std::int64_t other_devices = 0;
    std::int64_t without_times = 0;
    std::int64_t beyond_classes = 0;
    std::int64_t never_recorded = 0;
  };
  static constexpr std::size_t kMostClasses = 4096;
  Lost lost() const;

 private:
  struct Sum {
    std::int64_t launches = 0;
    std::int64_t total_ns = 0;
  };
  struct GraphWindow {
    std::int64_t launches = 0;
    std::int64_t kernels = 0;
  };
  struct ClassWindow {
    std::map<std::uint32_t, Sum> sums;  // by graph; 0: no graph launched it
    std::int64_t launches = 0;
    std::int64_t min_ns = 0;
    std::int64_t max_ns = 0;
    std::vector<double> durations_ns;
  };
  struct Key {
    const char* name;
    std::array<int, 9> sizes;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  std::optional<std::size_t> FindClass(const GpuWork& work);
  bool AddKernel(const GpuWork& work);
  void AddToGraph(const GpuWork& work, bool collective);
  std::int64_t TakeBusyTime();
  bool RanInPause(const GpuWork& work) const;
  LaunchWeights TakeWeights(const AskedLaunches* asked);

  std::uint32_t device_;
  std::vector<LaunchClass> classes_;
  std::vector<ClassWindow> window_;  // one for each class
  // CUPTI gives all records of a kernel one name pointer; a module loaded later may get the address of one unloaded.
  std::unordered_map<Key, std::size_t, KeyHash> by_pointer_;
  std::map<std::pair<std::string, std::array<int, 9>>, std::size_t> by_name_;
  std::map<std::string, MemoryWork> memory_;
  std::map<std::uint32_t, Graph> graphs_;
  std::vector<std::pair<std::int64_t, std::int64_t>> intervals_;
  std::int64_t busy_until_ns_ = 0;
  std::int64_t kernel_ns_ = 0;
  std::uint64_t random_ = 1;
  std::vector<std::pair<std::int64_t, std::int64_t>> pauses_;  // the last ones, in the order of time
  AskedLaunches owed_;                                         // asked for, and not recorded in any window yet
  std::map<std::uint32_t, GraphWindow> graphs_recorded_;
  Lost lost_;
};

/// Whether a kernel of this (mangled) name waits for another process, as far as names tell: to run one alone may never
/// end.
bool IsCollective(std::string_view name);

/// "flash_fwd_kernel<<<(32, 16, 4), 128>>>": how a launch class is called. Sizes of 1 at the end are left out; a
/// cluster follows as in "<<<64, 128, cluster (2, 1, 1)>>>". `demangled`: the kernel's name.
std::string LaunchClassName(const std::string& demangled, const Launch& launch);

}  // namespace fa_profile::collect
