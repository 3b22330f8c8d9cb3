// Kernels in Python before the judge.
#include "judge_python.h"

#include <fmt/format.h>

#include <memory>

#include "fa_profile/cupti_api.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/judge.h"
#include "fa_profile/notice.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/text.h"
#include "fa_profile/verification.h"
#include "open_python.h"

namespace fa_profile::jobs {
namespace {

judge::Question QuestionOf(const VerifyOptions& options, const std::string& name) {
  judge::Question question;
  question.in_python =
      judge::PythonCase{options.python.python, PythonProgram("fa_profile_worker.py"), options.python.kernel, name};
  question.device = options.device;
  if (options.draws > 0) question.draws = options.draws;
  question.calls = options.calls;
  question.seconds = options.python.timeout_s;
  question.timing = options.timing;
  question.accept_weak_tolerance = options.accept_weak_tolerance;
  return question;
}

}  // namespace

int JudgePythonCases(const VerifyOptions& options, const std::vector<std::string>& cases) {
  const Device device = collect::OpenDevice(options.device, /*counters=*/options.timing);
  const std::unique_ptr<collect::GpuApi> gpu = collect::OpenGpuApi(device, /*flush_cache=*/false, {});
  ProgressBar bar;
  int wrong = 0;
  for (const std::string& name : cases) {
    const judge::Question question = QuestionOf(options, name);
    const judge::Answer answer =
        judge::JudgeKernel(question, *gpu, [&](int done, int all) { bar.Show("judge", name, done, all); });
    bar.Clear();
    for (const std::string& line : answer.printed) PrintToStderr(options.python.kernel + " printed: " + line);
    using Verdict = Judgement::Verdict;
    const Verdict verdict = answer.judgement.verdict;
    if (verdict == Verdict::kWrong || verdict == Verdict::kRefused) ++wrong;
    if (verdict != Verdict::kWrong) fmt::print("{:<40} {}\n", name, Printable(Describe(answer.verification)));
    fmt::print("{:<40} {}\n", name, Printable(judge::Describe(answer.judgement)));
  }
  return wrong;
}

}  // namespace fa_profile::jobs
