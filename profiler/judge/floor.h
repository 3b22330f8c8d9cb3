#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/kernel_description.h"
#include "fa_profile/recording.h"

namespace fa_profile::judge {

/// The most that a GPU can do, from its attributes. 0: unknown.
struct Ceilings {
  int compute_capability = 0;  ///< 90
  int sm_count = 0;
  double sm_hz = 0;
  double dram_bytes_per_second = 0;
  double l2_bytes = 0;
};
Ceilings CeilingsOf(int device);

/// Why a call cannot be this fast: its time is below what the library's own count of its work takes at the GPU's peak.
/// `formats`: those of a call's tensors, whose bytes are `tensor_bytes`. Empty: it can, or a peak is unknown.
std::string WhyBelowFloor(double call_ns, const Work& work, const std::vector<NumberFormat>& formats,
                          double tensor_bytes, const Ceilings& ceilings);

}  // namespace fa_profile::judge
