#pragma once

#include <cstdint>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::collect {

/// Launching threads whose stack is too small for CUPTI: CUPTI 13.0 overflows 192 KiB while it samples, and not 256 KiB
/// (H100); what a range needs was not measured, hence 512.
class SmallStacks {
 public:
  /// Whether the calling thread has less left. False where that is not known, as on a coroutine's stack.
  static bool IsHere() noexcept;
  /// Of a launch that was chosen for a measurement, and was not measured.
  void OnSkipped() { ++skipped_; }
  /// Before a launch under PC sampling, which may overflow the stack in the driver's call itself: once, a notice with
  /// the cure.
  void Warn() noexcept;
  std::vector<DataLoss> Losses() const;

 private:
  bool warned_ = false;
  std::int64_t skipped_ = 0;
};

}  // namespace fa_profile::collect
