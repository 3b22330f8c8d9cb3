#pragma once

#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fa_profile {

/// Samples of one instruction, as CUPTI names it.
struct SampledPc {
  std::uint64_t cubin_crc = 0;
  std::string function;
  std::uint32_t offset = 0;
  std::map<std::string, std::uint64_t> samples;  ///< by stall reason, without CUPTI's prefix
};

struct PcSamples {
  std::vector<SampledPc> pcs;
  std::uint64_t total = 0;    ///< as the hardware counted
  std::uint64_t dropped = 0;  ///< of these, lost between the hardware and CUPTI
  std::uint64_t other = 0;    ///< of these, of code that CUPTI does not name
  bool buffer_full = false;   ///< samples were lost and not counted
};

/// Owns CUPTI's PC sampling of a context: continuous mode, started and stopped by Sample(). While one lives, no range
/// profiler may.
///
/// Code is named only if its module was loaded while a sampler lived (of this object or an earlier one); of other code
/// CUPTI gives no more than the number of samples. So make one before the first kernel is loaded.
class PcSampler {
 public:
  /// Samples a warp of each SM sub-partition every `period_cycles` (a power of two, 32 or more). Throws Error.
  PcSampler(CUcontext context, std::uint32_t period_cycles);
  ~PcSampler();
  PcSampler(const PcSampler&) = delete;
  PcSampler& operator=(const PcSampler&) = delete;

  /// Samples what runs on the device while `body` runs; the body waits for it. Throws Error.
  PcSamples Sample(const std::function<void()>& body);

 private:
  void Configure(std::uint32_t period_cycles);
  void ReadStallReasons();
  void Take(const CUpti_PCSamplingData& data, PcSamples& samples) const;

  CUcontext context_;
  std::vector<std::string> reasons_;  // by CUPTI's index
  // What CUPTI writes samples into. It keeps the pointer.
  struct Buffer {
    std::vector<CUpti_PCSamplingStallReason> reasons;
    std::vector<CUpti_PCSamplingPCData> pcs;
    CUpti_PCSamplingData data{};
    void Prepare(std::size_t reason_count);
  };
  Buffer configured_;  // CUPTI's own, of its configuration: cuptiPCSamplingGetData empties it into the other
  Buffer fetched_;
};

}  // namespace fa_profile
