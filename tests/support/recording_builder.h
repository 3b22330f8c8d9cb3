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

  void Write(const Session& v) override { recording.session = v; }
  void Write(const Device& v) override { recording.device = v; }
  void Write(const ClockSample& v) override { recording.clocks.push_back(v); }
  void Write(const Case& v) override { recording.cases.push_back(v); }
  void Write(const Verification& v) override { recording.verifications.push_back(v); }
  void Write(const Timing& v) override { recording.timings.push_back(v); }
  void Write(const Launch& v) override { recording.launches.push_back(v); }
  void Write(const NvtxRange& v) override { recording.nvtx_ranges.push_back(v); }
  void Write(const CounterConfig& v) override { recording.configs.push_back(v); }
  void Write(const CounterImage& v) override { images[v.id] = v; }
  void Write(const Range& v) override { recording.ranges.push_back(v); }
  void Write(const Cubin& v) override { recording.cubins.push_back(v); }
  void Write(const DeviceFunction& v) override { recording.functions.push_back(v); }
  void Write(const PcSampling& v) override { recording.samplings.push_back(v); }
  void Write(const SassCounting& v) override { recording.countings.push_back(v); }
  void Write(const DataLoss& v) override { recording.losses.push_back(v); }
  void Commit() override { ++commits; }
};

}  // namespace fa_profile
