#pragma once

#include <string>

#include "fa_profile/gpu_api.h"
#include "fa_profile/jobs.h"
#include "fa_profile/judge.h"
#include "fa_profile/kernels.h"
#include "fa_profile/progress_bar.h"

namespace fa_profile::jobs {

/// How often a library's kernel is compared unless the user says otherwise: its reference runs on the CPU.
inline constexpr int kDefaultDrawsOnTheHost = 3;

/// True: the shape is of a library's kernel, whose code runs in the judge's processes.
bool IsJudged(const Shape& shape);

/// The judge's answer, with a progress bar for `name`; what the kernel printed goes to stderr as that of `origin`.
/// Throws Error as JudgeKernel() does.
judge::Answer AskJudge(const judge::Question& question, const std::string& name, const std::string& origin,
                       collect::GpuApi& gpu, ProgressBar& bar);

/// The same of such a kernel. `question`: its library and parameters are the kernel's.
judge::Answer JudgeCase(const Kernel& kernel, const Shape& shape, judge::Question question, collect::GpuApi& gpu,
                        ProgressBar& bar);

/// A shorter one, before a recording: a verification alone counts rarer errors. `draws`: of the user.
judge::Question BeforeRecording(judge::Question question, int draws);

/// A question about one case of a kernel in Python. Throws Error: the program for it is missing.
judge::Question PythonQuestion(const PythonOptions& options, const std::string& name, int device);

/// The judge's answer on it. Where it cannot judge the results either, they are those that the kernel's own process
/// compared.
judge::Answer JudgePythonCase(const judge::Question& question, const PythonOptions& options, collect::GpuApi& gpu,
                              ProgressBar& bar);

}  // namespace fa_profile::jobs
