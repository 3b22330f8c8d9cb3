#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/jobs.h"
#include "fa_profile/judgement.h"
#include "fa_profile/recording.h"
#include "receipt.h"

namespace fa_profile::jobs {

/// Counts of the kernels and cases that `verify` compared.
struct VerifyCounts {
  int compared = 0;
  int wrong = 0;       ///< including those whose time is not that of the work
  int no_verdict = 0;  ///< results are correct, but nothing can be said about the time

  /// `timed`: its time was to be judged, too.
  void Add(const Verification& verification, const std::optional<Judgement>& judgement, bool timed);
};

/// Prints the last line of `verify`.
Correctness Conclude(const VerifyCounts& counts);

/// Judges the cases of a Python kernel (profiler/judge) and prints a line or two for each. They and the machine go to
/// `receipt`, unless null. Throws Error: the file is at fault, or there is no GPU.
VerifyCounts JudgePythonCases(const VerifyPythonJob& job, const std::vector<std::string>& cases, Receipt* receipt);

}  // namespace fa_profile::jobs
