#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/kernels.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/recording.h"

namespace fa_profile::jobs {

/// What came of a kernel at a shape.
struct CaseCheck {
  std::string why_not;  ///< it does not take the shape, for this reason; empty: it was verified
  Verification verification;
  Work work{};  ///< of a call, as its library counts it
};

struct CaseQuestion {
  Shape shape;
  int draws = 1;
  std::uint64_t seed = 1;
  int device = 0;
  std::vector<std::string> tensor_files{};  ///< of a library: "TENSOR=FILE"
};

/// True: the kernel's code is a library's, not the ladder's.
bool IsLibrary(const Kernel& kernel);

/// Verifies a kernel at a shape, with a progress bar. A rung runs in this process. A library's code runs in a child:
/// whatever it does there, the other kernels are verified. `should_end` may be null; once it is set, throws Error.
CaseCheck VerifyCase(const Kernel& kernel, const CaseQuestion& question, ProgressBar& bar,
                     const std::atomic<bool>* should_end);

}  // namespace fa_profile::jobs
