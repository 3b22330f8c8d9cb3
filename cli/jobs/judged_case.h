#pragma once

#include <string>

#include "fa_profile/gpu_api.h"
#include "fa_profile/jobs.h"
#include "fa_profile/judge.h"
#include "fa_profile/kernels.h"
#include "fa_profile/progress_bar.h"

namespace fa_profile::jobs {

/// How often a library's kernel is compared by default: its reference runs on the CPU.
inline constexpr int kDefaultDrawsOnTheHost = 3;

/// True: the shape belongs to a library's kernel, whose code runs in the judge's processes.
bool IsJudged(const Shape& shape);

/// The judge's answer, with a progress bar for `name`; the kernel's output goes to stderr, labelled `origin`. Throws
/// Error like JudgeKernel().
judge::Answer AskJudge(const judge::Question& question, const std::string& name, const std::string& origin,
                       collect::GpuApi& gpu, ProgressBar& bar);

/// The same for such a kernel. `question`: its library and parameters are the kernel's.
judge::Answer JudgeCase(const Kernel& kernel, const Shape& shape, judge::Question question, collect::GpuApi& gpu,
                        ProgressBar& bar);

/// A shorter question, before a recording: only a verification counts rarer errors. `draws`: the user's.
judge::Question BeforeRecording(judge::Question question, int draws);

/// A question about one case of a Python kernel. Throws Error: the program for it is missing.
judge::Question PythonQuestion(const PythonOptions& options, const std::string& name, int device);

/// The judge's answer to it. If it cannot judge the results either, they are those compared by the kernel's own
/// process.
judge::Answer JudgePythonCase(const judge::Question& question, const PythonOptions& options, collect::GpuApi& gpu,
                              ProgressBar& bar);

}  // namespace fa_profile::jobs
