#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/collect_run.h"

namespace fa_profile::collect {

/// Finds the functions with these (mangled) names in machine code, with their instructions. The ids in the result are
/// ignored. Throws Error. Called from several threads at once.
using Disassembler =
    std::function<std::vector<DeviceFunction>(const Cubin&, const std::vector<std::string>& functions)>;

/// Measures inside kernels: PC samples, then SASS metrics per instruction, each in separate runs, and the machine
/// code as it was loaded.
///
/// Construct it before the first kernel of the process is loaded, and close it before anything else is profiled:
/// CUPTI names samples only of code that was loaded while PC sampling was enabled. One per process, one thread, with
/// the device current.
class PhaseCollector {
 public:
  /// Without a disassembler functions are written without instructions.
  PhaseCollector(CollectRun& run, Disassembler disassembler);

  /// Measure(), then Write().
  void Collect(const std::vector<CollectJob>& jobs, bool sample = true);

  /// Samples and counts each job's whole call. `sample` false: only counts. The code that ran is disassembled meanwhile
  /// and afterwards. Writes earlier measurements. Missing data goes to the sink as DataLoss. Throws Error for CUDA and
  /// CUPTI failures: what was measured until then can still be written.
  ///
  /// The sampling period follows from the call's duration. If the hardware drops samples, or CUPTI's buffer is full,
  /// the call is sampled again with a period four times as long, up to three times. A call that takes 2 % longer while
  /// it is sampled than without, before and after, is a DataLoss "sampling_disturbs".
  void Measure(const std::vector<CollectJob>& jobs, bool sample = true);

  /// Ends all use of CUPTI, so that others may profile. Nothing more can be measured.
  void Close();

  /// Writes what was measured, with the code it ran, and commits. Waits for the disassembly.
  void Write();

 private:
  // New functions of one cubin, disassembled while the device is busy.
  struct Code {
    std::uint64_t crc = 0;
    std::optional<Cubin> cubin;  // absent if we did not see it being loaded
    bool cubin_is_new = false;
    std::vector<std::pair<std::string, std::int64_t>> functions;  // name and id
    std::future<std::vector<DeviceFunction>> disassembled;
  };

  CallTiming Time(const CollectJob& job);
  void Sample(const CollectJob& job);
  void Count(const CollectJob& job);
  std::int64_t FunctionId(std::uint64_t crc, const std::string& name);
  void StartDisassembling();
  void WriteCode(Code& code);

  CollectRun& run_;
  Disassembler disassembler_;
  std::unique_ptr<ModuleCapture> modules_;
  std::unique_ptr<PcSampler> sampler_;
  std::uint32_t period_;  // sampler_'s
  std::unique_ptr<SassCounter> counter_;
  std::map<std::pair<std::uint64_t, std::string>, std::int64_t> functions_;  // id by CRC and name
  std::vector<Code> code_;
  std::set<std::int64_t> known_functions_;
  std::set<std::uint64_t> known_cubins_;
  // Measurements waiting for their functions to be written.
  std::vector<PcSampling> samplings_;
  std::vector<SassCounting> countings_;
};

}  // namespace fa_profile::collect
