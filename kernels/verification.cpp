#include "fa_profile/verification.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "fa_profile/error.h"

namespace fa_profile {
std::string Describe(const Verification& result) {
  if (!result.error.empty()) return "FAILED: " + result.error;
  const std::string counts = fmt::format("{} of {} draws", result.draws_passed, result.draws);
  if (result.correct()) return fmt::format("correct, {}, max error {:.2e}", counts, result.max_abs_error);
  std::string text = fmt::format("WRONG, {} right, max error {:.3g} ({:.3g} times the tolerance)", counts,
                                 result.max_abs_error, result.max_error_ratio);
  if (result.nonfinite > 0) text += fmt::format(", {} NaN or infinite", result.nonfinite);
  if (result.unwritten > 0) text += fmt::format(", {} never written", result.unwritten);
  if (!result.where.empty()) text += "; " + result.where;
  return text;
}

void ThrowIfContextIsLost(const Kernel& kernel, const Verification& result) {
  if (result.error.empty() || cudaDeviceSynchronize() == cudaSuccess) return;
  throw Error("kernel '" + kernel.id() + "' (" + kernel.origin() + ") crashed on the GPU: " + result.error,
              "leave it out with --kernel, or find the access with compute-sanitizer fa-profile verify --kernel " +
                  kernel.id());
}

}  // namespace fa_profile
