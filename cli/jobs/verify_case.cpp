#include "verify_case.h"

#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/verification.h"

namespace fa_profile::jobs {

bool IsLibrary(const Kernel& kernel) { return kernel.rung() == 0; }

CaseCheck VerifyRung(const Kernel& kernel, const Shape& shape, const Draws& draws, ProgressBar& bar,
                     const std::atomic<bool>* should_end) {
  if (std::string why_not = kernel.WhyNot(shape); !why_not.empty()) return {std::move(why_not), {}};
  Verification result = Verify(kernel, shape, draws.count, draws.seed, [&](int done) {
    bar.Show("verify", kernel.id() + " " + shape.ToString(), done, draws.count);
    if (should_end != nullptr && *should_end) throw Error("interrupted", "what was finished is in the .part file");
  });
  bar.Clear();
  ThrowIfContextIsLost(kernel, result);
  return {"", std::move(result)};
}

}  // namespace fa_profile::jobs
