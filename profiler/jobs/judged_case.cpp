#include "judged_case.h"

#include <utility>

#include "fa_profile/notice.h"

namespace fa_profile::jobs {

bool IsJudged(const Shape& shape) { return shape.parameters() != nullptr; }

judge::Answer JudgeCase(const Kernel& kernel, const Shape& shape, judge::Question question, collect::GpuApi& gpu,
                        ProgressBar& bar) {
  question.library = kernel.origin();
  question.parameters = *shape.parameters();
  const std::string name = kernel.id() + " " + shape.ToString();
  judge::Answer answer =
      judge::JudgeKernel(question, gpu, [&](int done, int all) { bar.Show("judge", name, done, all); });
  bar.Clear();
  for (const std::string& line : answer.printed) PrintToStderr(question.library + " printed: " + line);
  return answer;
}

}  // namespace fa_profile::jobs
