#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fa_profile/gpu_work.h"

namespace fa_profile::collect {

/// Launches and their time.
struct WorkSum {
  std::int64_t launches = 0;
  std::int64_t total_ns = 0;
};

/// The launches of CUDA graphs, assembled from the records of their kernels. In a sample only complete launches count:
/// otherwise kernels at the end of a long graph would be missing more often than others.
class GraphLaunches {
 public:
  static constexpr std::size_t kMostGraphs = 4096;  ///< the newest are kept

  /// Records end at this time, and begin again at Resume()'s. CUPTI gives kernels that run in between the end of the
  /// pause.
  void Pause(std::int64_t now_ns);
  void Resume(std::int64_t now_ns);
  bool RanInPause(const GpuWork& kernel) const { return IsPaused(kernel.start_ns, kernel.end_ns); }

  /// A kernel in a graph, of launch class `index`.
  void Add(const GpuWork& kernel, std::size_t index, bool collective);
  /// A kernel that ran in a pause: its launch is not complete.
  void AddCut(const GpuWork& kernel);

  /// Records of a graph so far.
  struct Graph {
    std::int64_t launches = 0;
    std::int64_t kernels = 0;
    std::int64_t total_ns = 0;
    bool collective = false;             ///< whether one of its kernels is
    std::vector<std::size_t> classes{};  ///< classes of its kernels
  };
  /// A copy, by CUPTI's id of the executable.
  std::map<std::uint32_t, Graph> graphs() const { return {graphs_.begin(), graphs_.end()}; }

  /// Launches are counted from here on, and recorded until Owe(); what was not recorded by then belongs to the next
  /// window.
  void BeginCount();
  void Owe(const std::map<std::uint32_t, std::int64_t>& asked);

  /// Estimated time of all launches in a window, from the complete ones; for a graph without one in the window, from
  /// earlier windows.
  struct Estimate {
    std::unordered_map<std::size_t, std::pair<double, double>> classes;  ///< launches and nanoseconds
    std::map<std::uint32_t, double> weights;                             ///< weight of each graph's recorded time
    double from_before = 0.0;  ///< kernels whose times come from earlier windows
    bool cut = false;          ///< launches of a graph were recorded only in part, and none completely
  };
  /// Ends the window. `asked`: the number of launches of each graph in it.
  Estimate TakeWindow(const std::map<std::uint32_t, std::int64_t>& asked);

  /// Launches of graphs that had no complete launch.
  std::int64_t never_complete() const;

 private:
  struct OpenLaunch {
    std::uint32_t correlation = 0;
    std::int64_t kernels = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    bool cut = false;
    bool counted = false;
    std::vector<WorkSum> sums{};  // by slot
  };
  struct Complete {
    std::int64_t launches = 0;
    std::vector<WorkSum> sums{};  // by slot
  };
  // A graph, and what is needed to assemble its launches.
  struct Tracked : Graph {
    std::unordered_map<std::size_t, std::size_t> slots;  // index into `classes`, by launch class
    std::deque<OpenLaunch> last;                         // the newest, ordered by first record
    std::int64_t ended_ns = 0;                           // the one before them
    std::int64_t kernels_of_each = 0;                    // kernels in a complete launch; 0: unknown
    bool varies = false;                                 // complete launches differ, as with loops of conditional nodes
    bool asked = false;                                  // the program launched it while launches were counted
    Complete window, all;
    std::int64_t window_ns = 0;
    std::int64_t launches_before = 0;  // BeginCount()
    bool window_cut = false;
  };

  Tracked& Find(std::uint32_t id);
  OpenLaunch& FindLaunch(Tracked& graph, const GpuWork& kernel);
  void EndLaunch(Tracked& graph, OpenLaunch& launch, std::int64_t next_start_ns);
  static void Count(Tracked& graph, OpenLaunch& launch);
  bool IsPaused(std::int64_t from_ns, std::int64_t until_ns) const;

  std::map<std::uint32_t, Tracked> graphs_;
  std::map<std::uint32_t, std::int64_t> owed_;                 // asked for, with none complete yet
  std::vector<std::pair<std::int64_t, std::int64_t>> pauses_;  // the latest ones, ordered by time
  std::int64_t forgotten_ = 0;
};

}  // namespace fa_profile::collect
