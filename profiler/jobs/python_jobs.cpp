#include <fmt/format.h>

#include "fa_profile/bundled.h"
#include "fa_profile/error.h"
#include "fa_profile/jobs.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/notice.h"
#include "fa_profile/progress_bar.h"
#include "open_python.h"

namespace fa_profile::jobs {
namespace {

// Path of the program that runs kernels in Python.
std::string PythonRunnerFile() {
  if (const std::optional<std::string> path = FindBundled("python", "profiler/python", "fa_profile_kernel.py"))
    return *path;
  throw Error("fa_profile_kernel.py, which runs kernels in Python and comes with the program, is missing", "reinstall");
}

}  // namespace

python::PythonRunner OpenPython(const PythonOptions& options, int device, const std::atomic<bool>* interrupted) {
  python::PythonSetup setup;
  setup.python = options.python;
  setup.kernel = python::ParsePythonKernel(options.kernel);
  setup.runner = PythonRunnerFile();
  setup.device = device;
  setup.timeout_seconds = options.timeout_s;
  setup.interrupted = interrupted;
  setup.print = [](const std::string& line) { PrintToStderr(line); };
  return python::PythonRunner(std::move(setup));
}

std::vector<std::string> PythonCases(const python::PythonRunner& runner, const PythonOptions& options,
                                     const std::string& pattern) {
  return options.cases.empty() ? MatchKernels(pattern, runner.Describe().cases) : options.cases;
}

std::string PythonPairNote(const std::string& base, const std::string& candidate, const std::string& python,
                           double timeout_s) {
  if (!python::LooksLikePythonKernel(base) || !python::LooksLikePythonKernel(candidate)) return "";
  const auto describe = [&](const std::string& kernel) {
    return OpenPython({kernel, python, timeout_s, {}}, 0).Describe();
  };
  const python::PythonDescription of_base = describe(base);
  return python::ContractNote(of_base, describe(candidate));
}

bool VerifyPythonKernel(const VerifyOptions& options) {
  const python::PythonRunner runner = OpenPython(options.python, options.device);
  const python::PythonDescription description = runner.Describe();
  const std::vector<std::string> cases = MatchKernels(options.kernel_pattern, description.cases);
  constexpr int kDefaultDraws = 10;
  ProgressBar bar;
  bar.Show("verify", options.python.kernel, 0, static_cast<int>(cases.size()));
  const auto results = runner.Verify(cases, options.draws > 0 ? options.draws : kDefaultDraws, options.seed);
  bar.Clear();
  fmt::print("{}: |error| <= {} + {}*|reference|, compared in float64\n", options.python.kernel,
             description.absolute_tolerance, description.relative_tolerance);
  int wrong = 0;
  for (const python::PythonVerification& result : results) {
    if (!result.verification.correct()) ++wrong;
    fmt::print("{:<40} {}\n", result.name, Describe(result));
  }
  fmt::print("{}: {} comparisons, {} not correct\n", wrong == 0 ? "PASS" : "FAIL", results.size(), wrong);
  return wrong == 0;
}

}  // namespace fa_profile::jobs
