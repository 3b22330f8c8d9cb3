#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "fa_profile/kernels.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/recording.h"

namespace fa_profile::jobs {

/// The outcome for a kernel at a shape.
struct CaseCheck {
  std::string why_not;  ///< why it does not accept the shape; empty: it was verified
  Verification verification;
  Work work{};  ///< per call, as counted by its library
};

/// The inputs that a kernel is verified with.
struct Draws {
  int count = 1;
  std::uint64_t seed = 1;
};

/// True: the kernel's code is a library's, not the ladder's.
bool IsLibrary(const Kernel& kernel);

/// Verifies a rung at a shape in this process, with a progress bar. `should_end` may be null. Throws Error: it is set,
/// or the kernel crashed on the GPU, which ends all other work there.
CaseCheck VerifyRung(const Kernel& kernel, const Shape& shape, const Draws& draws, ProgressBar& bar,
                     const std::atomic<bool>* should_end);

}  // namespace fa_profile::jobs
