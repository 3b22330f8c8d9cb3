#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fa_profile/collector.h"
#include "fa_profile/recording.h"

namespace fa_profile {

/// Turns machine code into the functions of these (mangled) names, with their instructions. The ids of the result are
/// ignored. Throws Error. Called from several threads at once.
using Disassembler =
    std::function<std::vector<DeviceFunction>(const Cubin&, const std::vector<std::string>& functions)>;

struct PhaseCollectOptions {
  bool flush_cache = false;   ///< as CollectOptions::flush_cache
  Disassembler disassembler;  ///< empty: functions are written without instructions
};

/// Measures inside kernels: PC samples, then SASS metrics per instruction, each in runs of its own, and the machine
/// code as it was loaded.
///
/// Construct it before the first kernel of the process is loaded, and destroy it before anything else is profiled:
/// CUPTI names samples only of code that was loaded while PC sampling was enabled. One per process, one thread, with
/// the device current.
class PhaseCollector {
 public:
  /// `device`, `sink` and `next_id` outlive the collector; `progress` and `cancelled` are those of Collector.
  PhaseCollector(const Device& device, PhaseCollectOptions options, RecordingSink& sink, std::int64_t& next_id,
                 std::function<void(const Progress&)> progress = {}, std::function<bool()> cancelled = {});
  ~PhaseCollector();
  PhaseCollector(const PhaseCollector&) = delete;
  PhaseCollector& operator=(const PhaseCollector&) = delete;

  /// Samples and counts each job's whole call, writes it with the code it ran, and commits. What is missing goes to the
  /// sink as DataLoss. Throws Error for CUDA and CUPTI failures. `sample` false: counts only.
  void Collect(const std::vector<CollectJob>& jobs, bool sample = true);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fa_profile
