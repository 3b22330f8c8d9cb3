#pragma once

#include <map>

#include "fa_profile/recording.h"

namespace fa_profile {

/// Collects a recording in memory.
class RecordingBuilder final : public RecordingSink {
 public:
  Recording recording;
  std::map<std::int64_t, CounterImage> images;
  int commits = 0;

  void Commit() override { ++commits; }

 private:
  void Take(const RecordingPiece& piece) override {
    std::visit([this](const auto* concrete) { Keep(*concrete); }, piece);
  }
  void Keep(const Session& v) { recording.session = v; }
  void Keep(const Device& v) { recording.device = v; }
  void Keep(const ClockSample& v) { recording.clocks.push_back(v); }
  void Keep(const Case& v) { recording.cases.push_back(v); }
  void Keep(const Verification& v) { recording.verifications.push_back(v); }
  void Keep(const Timing& v) { recording.timings.push_back(v); }
  void Keep(const Launch& v) { recording.launches.push_back(v); }
  void Keep(const NvtxRange& v) { recording.nvtx_ranges.push_back(v); }
  void Keep(const WatchWindow& v) { recording.watch_windows.push_back(v); }
  void Keep(const KernelWork& v) { recording.kernel_work.push_back(v); }
  void Keep(const MemoryWork& v) { recording.memory_work.push_back(v); }
  void Keep(const NvtxWork& v) { recording.nvtx_work.push_back(v); }
  void Keep(const NvtxKernelWork& v) { recording.nvtx_kernel_work.push_back(v); }
  void Keep(const CounterConfig& v) { recording.configs.push_back(v); }
  void Keep(const CounterImage& v) { images[v.id] = v; }
  void Keep(const Range& v) { recording.ranges.push_back(v); }
  void Keep(const Cubin& v) { recording.cubins.push_back(v); }
  void Keep(const DeviceFunction& v) { recording.functions.push_back(v); }
  void Keep(const PcSampling& v) { recording.samplings.push_back(v); }
  void Keep(const SassCounting& v) { recording.countings.push_back(v); }
  void Keep(const DataLoss& v) { recording.losses.push_back(v); }
};

}  // namespace fa_profile
