#pragma once

#include "fa_profile/gpu_api.h"
#include "fa_profile/judge.h"
#include "fa_profile/kernels.h"
#include "fa_profile/progress_bar.h"

namespace fa_profile::jobs {

/// How often a library's kernel is compared unless the user says otherwise: its reference runs on the CPU.
inline constexpr int kDefaultDrawsOnTheHost = 3;

/// True: the kernel is of a library of version 2, whose code runs in the judge's processes.
bool IsJudged(const Shape& shape);

/// The judge's answer on such a kernel, with a progress bar; what the library printed goes to stderr. `question`: its
/// library and parameters are the kernel's. Throws Error as JudgeKernel() does.
judge::Answer JudgeCase(const Kernel& kernel, const Shape& shape, judge::Question question, collect::GpuApi& gpu,
                        ProgressBar& bar);

}  // namespace fa_profile::jobs
