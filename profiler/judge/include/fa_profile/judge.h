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
/// process, which loads no user code. That runs in two others: a *worker*, which has the library and the judge's
/// tensors, and a *referee*, which has the library but no GPU, and computes the expected results of a call after the
/// worker's were read. Whatever they answer is checked from outside (docs/honest.md).
namespace fa_profile::judge {

/// A kernel that is a Python function, at one of its cases.
struct PythonCase {
  std::string python = "python3";  ///< the interpreter
  std::string worker;              ///< path of fa_profile_worker.py
  std::string kernel;              ///< "FILE.py:FUNCTION"
  std::string name;                ///< name of the case
};

struct Question {
  std::string library;             ///< empty: `in_python`
  std::vector<std::string> files;  ///< tensor files: "TENSOR=FILE"
  std::vector<ShapeParameter> parameters;
  int device = 0;
  int draws = 9;              ///< inputs whose results are compared with the reference, at least 2
  std::int64_t calls = 3000;  ///< total calls compared, including those after the timing
  std::uint64_t seed = 0;     ///< 0: one that the worker cannot know
  bool timing = true;         ///< false: only results, no witness
  bool accept_weak_tolerance = false;
  double seconds = 120.0;  ///< limit for each answer of the library's processes; five times this plus once per draw for
                           ///< all of them
  const std::atomic<bool>* interrupted = nullptr;  ///< set by a signal's handler; may be null
  std::string program = "/proc/self/exe";          ///< a fa-profile executable, for the two processes of a library
  std::optional<PythonCase> in_python{};
};

struct Answer {
  std::uint64_t seed = 0;  ///< seed of the draws
  bool disturbed = false;  ///< something interfered that may be gone the next time
  std::string why_not;     ///< the reason why the library refuses the parameters; nothing else is set then
  Work work;
  Verification verification;
  Judgement judgement;
  std::vector<std::string> printed;  ///< last lines printed by the library
};

/// What a gate compares of a trial: durations, or the reason why there are none.
struct JudgedTime {
  std::vector<double> durations_ns;
  std::string error;    ///< it does not run
  std::string refused;  ///< a result or the speed is not as claimed
  std::string untimed;  ///< something was missing or interfered
};
JudgedTime TimeOf(const Answer& answer);

/// Judges a library's kernel. `gpu`: of the current device, for the witness; its counters must be free. Throws Error:
/// the library cannot be loaded, the tensors do not fit, or it was interrupted.
Answer JudgeKernel(const Question& question, collect::GpuApi& gpu, const std::function<void(int, int)>& progress = {});

}  // namespace fa_profile::judge
