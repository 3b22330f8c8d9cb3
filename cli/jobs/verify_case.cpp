#include "verify_case.h"

#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/library_child.h"
#include "fa_profile/notice.h"
#include "fa_profile/verification.h"

namespace fa_profile::jobs {

bool IsLibrary(const Kernel& kernel) { return kernel.rung() == 0; }

CaseCheck VerifyCase(const Kernel& kernel, const CaseQuestion& question, ProgressBar& bar,
                     const std::atomic<bool>* should_end) {
  const auto show = [&](int done) {
    bar.Show("verify", kernel.id() + " " + question.shape.ToString(), done, question.draws);
    if (should_end != nullptr && *should_end) throw Error("interrupted", "what was finished is in the .part file");
  };
  if (!IsLibrary(kernel)) {
    if (std::string why_not = kernel.WhyNot(question.shape); !why_not.empty()) return {std::move(why_not), {}};
    Verification result = Verify(kernel, question.shape, question.draws, question.seed, show);
    bar.Clear();
    return {"", std::move(result)};
  }
  show(0);
  const LibraryReply reply = VerifyInChild(
      {kernel.origin(), question.shape, question.draws, question.seed, question.device, question.tensor_files},
      should_end);
  bar.Clear();
  for (const std::string& line : PrintedBy(kernel.origin(), reply)) PrintToStderr(line);
  return {reply.answer.why_not, reply.answer.verification.value_or(Verification{}), reply.answer.work};
}

}  // namespace fa_profile::jobs
