#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fa_profile/context_sampler.h"
#include "fa_profile/gpu_api.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/loaded_modules.h"
#include "fa_profile/sample_totals.h"
#include "program_recording.h"

namespace fa_profile::inject {

/// What the instructions of one launch did.
struct CountedLaunch {
  std::vector<collect::CountedPc> pcs;
  std::uint64_t dropped = 0;  ///< records that CUPTI dropped
};

/// Finds where in their code the program's kernels spend their time: PC samples of everything that runs while no
/// counters are measured, and the code as it was loaded.
class ProgramSampler {
 public:
  /// Only kernels whose name matches `pattern`.
  explicit ProgramSampler(const std::string& pattern);

  // On the program's threads.
  /// Samples the first context of the process, and the first after that one has ended.
  void OnContextBegins(const void* context) noexcept;
  void OnContextEnds(const void* context) noexcept;
  void OnModuleLoaded(std::span<const std::uint8_t> cubin) noexcept { modules_.Add(cubin); }
  /// This context is the recorded one: samples of another belong to other kernels.
  void OnRecordedContext(const void* context) noexcept;
  /// Makes room for a range profiler in this context. While it is idle, no thread launches, no stream captures and no
  /// activity is recorded. Throws Error: CUPTI did not end within some seconds.
  void Close(const void* context);
  /// Samples again after Close(), unless Stop() was called. While no stream captures.
  void Open() noexcept;
  bool closed();
  /// Counts for a launch of this class (LaunchKey()), to be written with its samples.
  void AddCounts(const std::string& key, CountedLaunch counts);
  /// The context that is sampled, or was before Close(); nullptr: none.
  const void* context() const { return context_; }
  /// Close() did not return. CUPTI may block any caller until the program stops launching.
  bool hangs() const { return hangs_; }

  // On our own thread.
  /// Samples count from here on; earlier ones are dropped.
  void Begin() noexcept;
  /// Must be called every few seconds, or samples are lost.
  void Take() noexcept;
  /// Samples do not count until the next Begin().
  void Pause() noexcept;
  /// Samples no longer count.
  void Stop() noexcept;
  /// At the end of the program: writes the samples of the kernels that have most of them. Throws Error.
  void Write(ProgramRecording& recording, std::vector<DataLoss>& losses);

 private:
  // Under mutex_:
  void OpenIn(const void* context) noexcept;
  void TakeLocked() noexcept;
  void GiveUp(const char* why) noexcept;
  void End();
  void Abandon() noexcept;  // the open sampler belongs to a context that has ended
  void WriteLosses(std::vector<DataLoss>& losses) const;

  KernelPattern pattern_;
  collect::LoadedModules modules_;
  // Not held while a program's thread inside the driver waits for it without a bound.
  std::timed_mutex mutex_;
  std::atomic<const void*> context_ = nullptr;  // sampled, or was before Close()
  std::optional<collect::ContextSampler> sampler_;
  collect::SampleTotals totals_;
  std::map<std::string, CountedLaunch> counted_;  // by launch class
  bool counts_ = false;                           // since Begin()
  bool over_ = false;                             // nothing counts any more
  std::atomic<bool> hangs_ = false;
  int contexts_ = 0;     // sampled so far
  std::string why_not_;  // sampling failed
};

}  // namespace fa_profile::inject
