#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fa_profile/gpu_api.h"
#include "fa_profile/judgement.h"
#include "fa_profile/recording.h"
#include "fa_profile/shape.h"

/// Is a kernel correct, and is its speed real? Verdict, reference values, tolerances, seeds and the clock are in this
/// process, which loads no code of the user. That runs in two others: a *worker*, which has the library and the judge's
/// tensors, and a *referee*, which has the library, no GPU, and computes what a call must give after the worker's
/// results were read. Whatever they answer is checked from outside (docs/honest.md).
namespace fa_profile::judge {

struct Question {
  std::string library;             ///< of version 2 of the kernel interface
  std::vector<std::string> files;  ///< of tensors: "TENSOR=FILE"
  std::vector<ShapeParameter> parameters;
  int device = 0;
  int draws = 9;              ///< inputs whose results are compared with the reference, at least 2
  std::int64_t calls = 3000;  ///< compared in all, after the timing too
  std::uint64_t seed = 0;     ///< 0: one that nothing in the worker can know
  bool timing = true;         ///< false: results alone, no witness
  bool accept_weak_tolerance = false;
  double seconds = 120.0;                          ///< for each answer of the library's processes
  const std::atomic<bool>* interrupted = nullptr;  ///< set by a signal's handler; may be null
  std::string program = "/proc/self/exe";          ///< a fa-profile, for the two processes
};

struct Answer {
  std::string why_not;  ///< the library refuses the parameters for this reason; then nothing else is set
  Work work;
  Verification verification;
  Judgement judgement;
  std::vector<std::string> printed;  ///< by the library, the last lines
};

/// Judges a library's kernel. `gpu`: of the current device, for the witness; its counters must be free. Throws Error:
/// the library cannot be loaded, the tensors do not fit, or it was interrupted.
Answer JudgeKernel(const Question& question, collect::GpuApi& gpu, const std::function<void(int, int)>& progress = {});

/// "certified: 12.3 us, 0 of 3,000 calls wrong (95 %: under 0.1 %)", or the verdict with its reason.
std::string Describe(const Judgement& judgement);

}  // namespace fa_profile::judge
