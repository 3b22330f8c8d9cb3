#include <fmt/format.h>

#include "fa_profile/bundled.h"
#include "fa_profile/closed_memory.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/notice.h"
#include "judge_python.h"
#include "open_python.h"

namespace fa_profile::jobs {
std::string PythonProgram(const std::string& name) {
  if (const std::optional<std::string> path = FindBundled("python", "profiler/python", name)) return *path;
  throw Error(name + ", which comes with the program, is missing", "reinstall");
}

python::PythonRunner OpenPython(const PythonOptions& options, int device, const std::atomic<bool>* interrupted) {
  python::PythonSetup setup;
  setup.python = options.python;
  setup.kernel = python::ParsePythonKernel(options.kernel);
  setup.runner = PythonProgram("fa_profile_kernel.py");
  setup.device = device;
  setup.timeout_seconds = options.timeout_s;
  setup.interrupted = interrupted;
  setup.print = [](const std::string& line) { PrintToStderr(line); };
  return python::PythonRunner(std::move(setup));
}

std::vector<std::string> PythonCases(const python::PythonRunner& runner, const PythonOptions& options) {
  return options.cases.empty() ? MatchKernels(options.pattern, runner.Describe().cases) : options.cases;
}

std::string PythonPairNote(const std::string& base, const std::string& candidate, const std::string& python,
                           double timeout_s) {
  if (!python::LooksLikePythonKernel(base) || !python::LooksLikePythonKernel(candidate)) return "";
  const auto describe = [&](const std::string& kernel) {
    return OpenPython({kernel, python, timeout_s}, 0).Describe();
  };
  const python::PythonDescription of_base = describe(base);
  return python::ContractNote(of_base, describe(candidate));
}

void VerifyCounts::Add(const Verification& verification, const std::optional<Judgement>& judgement, bool timed) {
  ++compared;
  if (!verification.correct() || (judgement && judgement->refused())) {
    ++wrong;
  } else if (timed && judgement && judgement->verdict == Judgement::Verdict::kCannotSay) {
    ++no_verdict;
  }
}

Correctness Conclude(const VerifyCounts& counts) {
  const bool fails = counts.wrong > 0;
  const char* const word = fails ? "FAIL" : counts.no_verdict > 0 ? "NO VERDICT" : "PASS";
  fmt::print("{}: {} comparisons, {} not correct", word, counts.compared, counts.wrong);
  if (counts.no_verdict > 0) fmt::print(", {} without a verdict on the time", counts.no_verdict);
  fmt::print("\n");
  if (fails) return Correctness::kNotCorrect;
  return counts.no_verdict > 0 ? Correctness::kNoVerdict : Correctness::kCorrect;
}

namespace {

// If this program sees no GPU, the kernel's own process compares its results.
VerifyCounts VerifyInRunner(const python::PythonRunner& runner, const VerifyPythonJob& job,
                            const std::vector<std::string>& cases) {
  constexpr int kDefaultDraws = 10;
  VerifyCounts counts;
  for (const python::PythonVerification& result :
       runner.Verify(cases, job.judging.draws > 0 ? job.judging.draws : kDefaultDraws, job.judging.seed)) {
    counts.Add(result.verification, Judgement{}, job.judging.timing);
    fmt::print("{:<40} {}\n", result.name, Describe(result));
  }
  if (job.judging.timing) fmt::print("cannot say whether times are real: no GPU for the judge ({})\n", WhyNoGpu());
  return counts;
}

}  // namespace

Correctness VerifyPythonKernel(const VerifyPythonJob& job) {
  const ClosedMemory closed;
  if (!job.receipt.empty()) {
    RequireReceipt(job.judging, job.receipt, {python::ParsePythonKernel(job.python.kernel).file});
  }
  const python::PythonRunner runner = OpenPython(job.python, job.device);
  const python::PythonDescription description = runner.Describe();
  const std::vector<std::string> cases = MatchKernels(job.python.pattern, description.cases);
  fmt::print("{}: |error| <= {} + {}*|reference|, compared in float64\n", job.python.kernel,
             description.absolute_tolerance, description.relative_tolerance);
  const bool judged = WhyNoGpu().empty();
  if (job.receipt.empty()) {
    return Conclude(judged ? JudgePythonCases(job, cases, nullptr) : VerifyInRunner(runner, job, cases));
  }
  if (!judged) throw Error("a receipt needs a GPU: " + WhyNoGpu(), "run it on a machine with an NVIDIA GPU");
  Receipt receipt = NewReceipt(FilesOfPython(job.python.kernel, description.sources));
  const VerifyCounts counts = JudgePythonCases(job, cases, &receipt);
  RequireUnchanged(receipt, FilesOfPython(job.python.kernel, description.sources));
  WriteWholeFile(job.receipt, ToJson(receipt));
  return Conclude(counts);
}

}  // namespace fa_profile::jobs
