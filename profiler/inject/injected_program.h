#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/device_idle.h"
#include "fa_profile/inject_protocol.h"
#include "fa_profile/kept_graphs.h"
#include "fa_profile/launch_gate.h"
#include "fa_profile/launch_hook.h"
#include "fa_profile/profiler_use.h"
#include "program_filter.h"
#include "program_recording.h"
#include "program_sampler.h"

namespace fa_profile::inject {

/// The program that this library was loaded into: passes what CUPTI reports to its launch gate, sampler and recording,
/// and does what the gate needs from CUPTI, CUDA and the process.
class InjectedProgram final : public collect::ProgramObserver, private collect::ProgramApi {
 public:
  /// Memory that a counter round may take, CUPTI's libraries included. With less left, allocations would fail inside
  /// CUPTI and stacks could not grow: the program would end with a segmentation fault.
  static constexpr std::int64_t kRoomToMeasureBytes = std::int64_t{1} << 30U;
  /// The same for files: where CUPTI cannot open one, it crashes later (CUDA 13.0: in cuptiActivityDisable()).
  static constexpr int kDescriptorsToMeasure = 64;
  /// Whether the program leaves both. Allocates nothing.
  static bool HasRoom() noexcept;

  /// `sampler` is closed while counters are measured.
  InjectedProgram(const InjectPlan& plan, ProgramRecording& recording, ProgramSampler& sampler);

  collect::LaunchGate& gate() { return gate_; }
  /// The recorded context is still there. Without it, CUPTI may crash when it stops recording (H200, CUDA 13.0).
  bool HasContext() const { return context_ != nullptr; }
  /// Counters are measured, including those of graphs' nodes.
  static bool KeepsGraphs(const InjectPlan& plan) {
    return plan.replay != ProgramReplay::kNone && !plan.metrics.empty();
  }
  /// collect::WatchRanges(), once the program uses NVTX. On our own thread.
  void WatchRanges();
  /// collect::WatchNames(), once the program unloads a module, which waits for it. On our own thread.
  void WatchNames();
  /// No unloading of a module waits any more: the program may unload some as it ends.
  void SettleNames() noexcept;

  bool OnLaunch(const collect::LaunchCall& call) noexcept override {
    return gate_.Enter(call) == collect::LaunchGate::Way::kReplaced;
  }
  void OnLaunched() noexcept override { gate_.Leave(); }
  void OnWorkBegins() noexcept override { gate_.OnWorkBegins(); }
  void OnWorkEnded() noexcept override { gate_.OnWorkEnded(); }
  void OnCaptureBegins(const void* stream) noexcept override { gate_.OnCaptureBegins(stream); }
  void OnCaptureEnded(const void* stream) noexcept override { gate_.OnCaptureEnded(stream); }
  void OnDeviceGraph() noexcept override { gate_.OnDeviceGraph(); }
  void OnProfiler(bool on) noexcept override;
  void OnContextBegins(const void* context) noexcept override;
  void OnModuleLoaded(std::span<const std::uint8_t> cubin) noexcept override { sampler_.OnModuleLoaded(cubin); }
  void OnModuleUnloads() noexcept override;
  void OnContextEnds(const void* context) noexcept override;

 private:
  void EndMeasuringAtExit() noexcept;
  bool OpenRecording() override;
  bool Records() noexcept override;
  std::int64_t NowNs() noexcept override;
  bool WaitIdle(double seconds) override;
  void StopTrace() noexcept override;
  void StartTrace() noexcept override;
  Sampling sampling() override;
  void PauseSampling() override { sampler_.Close(context_); }
  void EndSampling() noexcept override { sampler_.Stop(); }
  void RequireRoom() override;
  collect::CollectRun& TakeCounters() override;
  void BeginMeasuring() override;
  void EndMeasuring() noexcept override;
  void OnContextLost() noexcept override;
  std::shared_ptr<collect::GraphNodes> NodesOf(const collect::LaunchCall& graph) noexcept override {
    return collect::NodesOfGraph(graph.graph);
  }
  bool HasNodesOf(std::uint32_t graph) noexcept override { return collect::HasNodesOfGraph(graph); }
  void AddCounts(const std::string& key, std::vector<collect::CountedPc> pcs, std::uint64_t dropped) override;
  void WatchLaunches(bool on) noexcept override { collect::WatchLaunches(on); }
  bool WaitAllIdle(double seconds) override;
  void EnterContext() noexcept override;
  void LeaveCupti() override;

  const InjectPlan& plan_;
  ProgramRecording& recording_;
  ProgramSampler& sampler_;
  std::atomic<const void*> context_ = nullptr;  // the recorded context
  Device device_;
  std::unique_ptr<collect::GpuApi> gpu_;
  std::optional<collect::CollectRun> run_;
  std::optional<collect::DeviceIdle> idle_;
  std::optional<collect::ProfilerUse> use_;  // while counters are measured
  bool measures_ = false;                    // did once
  std::atomic<bool> samples_ = false;        // did once
  enum class Ranges { kUnwatched, kWatched } ranges_ = Ranges::kUnwatched;
  enum class Names { kUnwatched, kAsked, kSettled };
  std::mutex names_mutex_;
  std::condition_variable names_changed_;
  Names names_ = Names::kUnwatched;
  ProgramFilter filter_;
  collect::LaunchGate gate_;
};

}  // namespace fa_profile::inject
