#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/python_kernel.h"
#include "fa_profile/recording.h"

namespace fa_profile::python {

/// Python code may crash, hang, end its process or print. So the runner, fa_profile_kernel.py, runs it in separate
/// processes, and answers in a file.

/// How its processes are started.
struct PythonSetup {
  std::string python = "python3";
  std::string runner;  ///< path of fa_profile_kernel.py
  PythonKernel kernel;
  int device = 0;
  double timeout_seconds = 120.0;                   ///< limit for loading the file, and for each case
  const std::atomic<bool>* interrupted = nullptr;   ///< set by a signal's handler; nullptr: never
  std::function<void(const std::string&)> print{};  ///< receives lines that the file printed, safe for a terminal
};

struct PythonDescription {
  std::vector<std::string> cases;  ///< "softmax@rows=4096,cols=1024"; unique
  /// Equal when two files have equal shapes, tolerance, inputs() and reference().
  std::string contract;
  double absolute_tolerance = 0.0;
  double relative_tolerance = 0.0;
  std::vector<std::string> sources{};  ///< files that it imports from its own folder or below, relative to that
};

/// What a verdict on two files must mention: their contracts differ. Empty: they do not.
std::string ContractNote(const PythonDescription& base, const PythonDescription& candidate);

struct PythonVerification {
  std::string name;           ///< the case's
  Verification verification;  ///< `error`: the kernel raised, crashed or hung; case_id is not set
  std::string worst;          ///< "output at [3, 17] is 1.5, the reference 0.5"; empty: correct, or an error
};

/// "correct, 10 of 10 draws, max error 4.1e-04", or what is wrong and where.
std::string Describe(const PythonVerification& result);

struct PythonTiming {
  std::string name;   ///< the case's
  Timing timing;      ///< case_id and part are not set
  std::string error;  ///< why it was not timed; empty: it was
};

/// What a process that called a case for measurement did.
struct PythonCalls {
  std::int64_t calls = 0;          ///< between cudaProfilerStart and cudaProfilerStop
  std::int64_t counted_calls = 0;  ///< the last of them, in the NVTX range kCountRange
};
inline constexpr const char* kCountRange = "fa-profile: one call";

/// Asks about one kernel. Every member throws Error, with the cure: there is no such python; the file cannot be loaded;
/// torch or its GPU is missing; inputs() or reference() fails; it was interrupted; the answer is not one.
class PythonRunner {
 public:
  explicit PythonRunner(PythonSetup setup) : setup_(std::move(setup)) {}

  PythonDescription Describe() const;

  /// Verifies the cases in this order. If a case ends the process, it is not correct, and another process continues
  /// with the rest.
  std::vector<PythonVerification> Verify(const std::vector<std::string>& cases, int draws, std::uint64_t seed) const;

  /// Times the cases in this order, `launches` samples each.
  std::vector<PythonTiming> Time(const std::vector<std::string>& cases, int launches, int warmup) const;

  /// The command for a process that calls a case between cudaProfilerStart and cudaProfilerStop, for `seconds` and
  /// until its counters are taken; SIGALRM ends it at the time limit. It writes to the file `answer`.
  std::vector<std::string> RunCommand(const std::string& name, double seconds, const std::string& answer) const;
  /// Throws the Error in its answer, if any.
  static void ThrowError(const std::string& answer);
  /// Reads its answer. `status`: as returned by waitpid().
  PythonCalls ReadCalls(const std::string& name, const std::string& answer, int status) const;

 private:
  struct Reply;

  std::vector<std::string> Command(const std::string& mode, const std::string& answer) const;
  Reply Ask(const std::string& mode, const std::vector<std::string>& options,
            const std::vector<std::string>& cases) const;
  void Print(const std::string& text) const;
  template <typename Result, typename Read, typename Blame>
  std::vector<Result> AskCases(const std::string& mode, const std::vector<std::string>& options,
                               std::vector<std::string> cases, const char* key, const Read& read,
                               const Blame& blame) const;

  PythonSetup setup_;
};

}  // namespace fa_profile::python
