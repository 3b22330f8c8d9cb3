#include "judged_case.h"

#include <utility>

#include "fa_profile/notice.h"

namespace fa_profile::jobs {

bool IsJudged(const Shape& shape) { return shape.parameters() != nullptr; }

judge::Answer AskJudge(const judge::Question& question, const std::string& name, const std::string& origin,
                       collect::GpuApi& gpu, ProgressBar& bar) {
  judge::Answer answer =
      judge::JudgeKernel(question, gpu, [&](int done, int all) { bar.Show("judge", name, done, all); });
  bar.Clear();
  for (const std::string& line : answer.printed) PrintToStderr(origin + " printed: " + line);
  return answer;
}

judge::Answer JudgeCase(const Kernel& kernel, const Shape& shape, judge::Question question, collect::GpuApi& gpu,
                        ProgressBar& bar) {
  question.library = kernel.origin();
  // All of them in the library's order: a receipt's order may differ.
  question.parameters = *kernel.Fit(shape).shape->parameters();
  return AskJudge(question, kernel.id() + " " + shape.ToString(), question.library, gpu, bar);
}

judge::Question BeforeRecording(judge::Question question, int draws) {
  constexpr std::int64_t kJudgedCalls = 300;
  question.draws = draws > CallCounts{}.draws ? draws : kDefaultDrawsOnTheHost;
  question.calls = kJudgedCalls;
  return question;
}

}  // namespace fa_profile::jobs
