#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fa_profile {

/// Counts of one instruction, as CUPTI names it.
struct CountedPc {
  std::uint64_t cubin_crc = 0;
  std::string function;
  std::uint32_t offset = 0;
  std::map<std::string, std::uint64_t> values;  ///< by SASS metric, summed over the device
};

struct SassCounts {
  std::vector<CountedPc> pcs;
  std::uint64_t dropped = 0;  ///< records that CUPTI dropped
};

/// Names of the SASS metrics that CUPTI has for a chip, sorted. Needs a device.
std::vector<std::string> SassMetrics(const std::string& chip);

/// Owns CUPTI's SASS metrics of a device: code that runs inside Count() is patched to count itself. Patched code is
/// slow: never time it.
///
/// One per process: CUPTI takes no second configuration (CUPTI_ERROR_OUT_OF_MEMORY, also after the first was unset).
/// And like the PC sampler it sees only code whose module was loaded after a PcSampler was made: without one, CUPTI
/// patches the first kernel and no other.
class SassCounter {
 public:
  /// `metrics` of SassMetrics(chip). Throws Error.
  SassCounter(const std::string& chip, int device, CUcontext context, const std::vector<std::string>& metrics);
  ~SassCounter();
  SassCounter(const SassCounter&) = delete;
  SassCounter& operator=(const SassCounter&) = delete;

  /// Counts what runs on the device while `body` runs; the body waits for it. Throws Error.
  SassCounts Count(const std::function<void()>& body);

 private:
  SassCounts Flush();

  int device_;
  CUcontext context_;
  std::map<std::uint64_t, std::string> names_;  // by CUPTI's id
};

}  // namespace fa_profile
