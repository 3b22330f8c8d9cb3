#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
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

/// A kernel that is a function in Python, at one of its cases.
struct PythonCase {
  std::string python = "python3";  ///< the program
  std::string worker;              ///< path of fa_profile_worker.py
  std::string kernel;              ///< "FILE.py:FUNCTION"
  std::string name;                ///< of the case
};

struct Question {
  std::string library;             ///< empty: `in_python`
  std::vector<std::string> files;  ///< of tensors: "TENSOR=FILE"
  std::vector<ShapeParameter> parameters;
  int device = 0;
  int draws = 9;              ///< inputs whose results are compared with the reference, at least 2
  std::int64_t calls = 3000;  ///< compared in all, after the timing too
  std::uint64_t seed = 0;     ///< 0: one that nothing in the worker can know
  bool timing = true;         ///< false: results alone, no witness
  bool accept_weak_tolerance = false;
  double seconds = 120.0;  ///< for an answer of the library's processes; so long five times and for each draw: for all
  const std::atomic<bool>* interrupted = nullptr;  ///< set by a signal's handler; may be null
  std::string program = "/proc/self/exe";          ///< a fa-profile, for the two processes of a library
  std::optional<PythonCase> in_python{};
};

struct Answer {
  std::uint64_t seed = 0;  ///< of the draws
  bool disturbed = false;  ///< something was in the way that may be gone the next time
  std::string why_not;     ///< the library refuses the parameters for this reason; then nothing else is set
  Work work;
  Verification verification;
  Judgement judgement;
  std::vector<std::string> printed;  ///< by the library, the last lines
};

/// What a gate compares of a trial: durations, or in their place why there are none.
struct JudgedTime {
  std::vector<double> durations_ns;
  std::string error;    ///< it does not run
  std::string refused;  ///< a result or the speed is not what it claims
  std::string untimed;  ///< something was missing or in the way
};
JudgedTime TimeOf(const Answer& answer);

/// Judges a library's kernel. `gpu`: of the current device, for the witness; its counters must be free. Throws Error:
/// the library cannot be loaded, the tensors do not fit, or it was interrupted.
Answer JudgeKernel(const Question& question, collect::GpuApi& gpu, const std::function<void(int, int)>& progress = {});

}  // namespace fa_profile::judge
