#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fa_profile/gpu_work.h"
#include "fa_profile/graph_launches.h"
#include "fa_profile/launch_sample.h"
#include "fa_profile/recording.h"

namespace fa_profile::collect {

/// Where a program's GPU time goes: adds up work by launch class, which is a kernel with its grid, block and cluster.
/// Memory grows with the classes and with the work of one window, not with the run. One thread at a time.
class ProgramTotals {
 public:
  /// Work on devices other than `device` is counted as lost.
  explicit ProgramTotals(std::uint32_t device = 0) : device_(device) {}

  /// What became of the work: it counts, towards a launch class if it is a kernel; or it is lost, or left out after
  /// Pause().
  struct Added {
    bool counts = false;
    std::optional<std::size_t> launch_class{};
  };
  Added Add(const GpuWork& work);
  /// See GraphLaunches.
  void Pause(std::int64_t now_ns) { graphs_.Pause(now_ns); }
  void Resume(std::int64_t now_ns) { graphs_.Resume(now_ns); }

  /// A launch class. The index of a class in `classes()` never changes.
  struct LaunchClass {
    Launch launch;  ///< from its first record; kernel_name is mangled
    std::int64_t launches = 0;
    std::int64_t graph_launches = 0;
    std::int64_t total_ns = 0;
    std::int64_t alone_ns = 0;      ///< time of the launches outside of graphs
    std::int64_t alone_before = 0;  ///< number of these at BeginCount()
    bool collective = false;        ///< IsCollective()
  };
  const std::vector<LaunchClass>& classes() const { return classes_; }

  /// CUDA graphs, by CUPTI's id of the executable.
  std::map<std::uint32_t, GraphLaunches::Graph> graphs() const { return graphs_.graphs(); }

  /// Time of all kernels so far.
  std::int64_t kernel_ns() const { return kernel_ns_; }

  /// Work since the last window: rows without window_id; KernelWork::case_id is the index of the class.
  struct Window {
    std::int64_t busy_ns = 0;
    std::vector<KernelWork> kernels;
    std::vector<MemoryWork> memory;
    /// Durations of up to kSampledDurations launches of a class, picked evenly from the window, by class index.
    std::map<std::size_t, std::vector<double>> durations_ns;
    LaunchWeights weights;   ///< for recorded time
    bool graph_cut = false;  ///< launches of a graph were recorded only in part, and none completely
  };
  static constexpr std::size_t kSampledDurations = 64;
  /// Launches are counted from here on, and recorded until Owe(), which takes the counts: what was not recorded by then
  /// belongs to the next window.
  void BeginCount();
  void Owe(const AskedLaunches& asked);
  /// `asked`: the launches requested since the last window, if only some were recorded. Launches are then the requested
  /// ones, of each kernel with its grid and block and of each graph; their mean time comes from the recorded ones in
  /// the window, or in earlier ones: a stratified sample, one stratum each (Cochran, "Sampling Techniques", chapter 5).
  Window TakeWindow(const AskedLaunches* asked = nullptr);

  /// Records left out so far: from other devices, without times, and of classes beyond kMostClasses. Launches that were
  /// counted while no launch of their kind was recorded; that were estimated; and of these, from launches in earlier
  /// windows.
  struct Lost {
    std::int64_t other_devices = 0;
    std::int64_t without_times = 0;
    std::int64_t beyond_classes = 0;
    std::int64_t never_recorded = 0;
    std::int64_t elsewhere = 0;  ///< in other contexts, while a sample was recorded
    double estimated = 0.0;
    double from_before = 0.0;
  };
  static constexpr std::size_t kMostClasses = 4096;
  Lost lost() const;

 private:
  struct ClassWindow {
    WorkSum alone, in_graphs;
    std::int64_t min_ns = 0;
    std::int64_t max_ns = 0;
    std::vector<double> durations_ns;
  };
  // Rows of an estimate, by launch class: launches and nanoseconds.
  using Estimates = std::vector<std::pair<double, double>>;
  struct Key {
    const char* name;
    std::array<int, 9> sizes;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  std::optional<std::size_t> FindClass(const GpuWork& work);
  Added AddKernel(const GpuWork& work);
  std::int64_t TakeBusyTime();
  // Classes of this kernel, grid and block; they differ in the cluster.
  std::vector<std::size_t> Stratum(const std::string& name, const std::array<int, 6>& sizes) const;
  Estimates EstimateAlone(const AskedLaunches& asked);
  Window Estimate(const AskedLaunches& asked);
  void AddRow(Window& window, std::size_t index, WorkSum alone, WorkSum in_graphs);
  void AddMemory(Window& window, double ratio);

  std::uint32_t device_;
  std::vector<LaunchClass> classes_;
  std::vector<ClassWindow> window_;  // one for each class
  // CUPTI uses one name pointer for all records of a kernel; a module loaded later may reuse the address of an unloaded
  // one.
  std::unordered_map<Key, std::size_t, KeyHash> by_pointer_;
  std::map<std::pair<std::string, std::array<int, 9>>, std::size_t> by_name_;
  std::map<std::string, MemoryWork> memory_;
  GraphLaunches graphs_;
  std::vector<std::pair<std::int64_t, std::int64_t>> intervals_;
  std::int64_t busy_until_ns_ = 0;
  std::int64_t kernel_ns_ = 0;
  std::int64_t busy_total_ns_ = 0;
  std::uint64_t random_ = 1;
  std::map<std::pair<std::string, std::array<int, 6>>, std::int64_t> owed_;  // requested, and not recorded yet
  std::vector<bool> asked_;  // classes that the program launched while launches were counted
  Lost lost_;
};

/// Whether a kernel with this (mangled) name waits for another process, as far as names tell: run alone, it may never
/// end.
bool IsCollective(std::string_view name);

/// Display name of a launch class, "flash_fwd_kernel<<<(32, 16, 4), 128>>>". Sizes of 1 at the end are left out; a
/// cluster follows as in "<<<64, 128, cluster (2, 1, 1)>>>". `demangled`: the kernel's name.
std::string LaunchClassName(const std::string& demangled, const Launch& launch);

}  // namespace fa_profile::collect
