#include "python_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "bundled.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/notice.h"
#include "fa_profile/progress_bar.h"

namespace fa_profile::cli {

void AddPythonKernel(CLI::App& app, PythonOptions& options) {
  app.add_option("--kernel-py", options.kernel, "A kernel of your own in Python (PyTorch, Triton): FILE.py:FUNCTION")
      ->type_name("FILE.py:FUNCTION");
  app.add_option("--python", options.python, "The Python that runs it")->capture_default_str()->type_name("PROGRAM");
  app.add_option("--timeout", options.timeout_s, "Seconds that it has to load, and for each case")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS");
  app.add_option("--case", options.cases, "A case by its full name, which the file is not asked for (repeatable)")
      ->allow_extra_args(false)
      ->group("");
}

void RequirePythonKernel(const CLI::App& app, const PythonOptions& options) {
  if (!options.kernel.empty()) return;
  for (const char* const option : {"--python", "--timeout", "--case"}) {
    if (app.count(option) == 0) continue;
    throw Error(std::string(option) + " has no effect without a kernel in Python",
                "name it: --kernel-py FILE.py:FUNCTION");
  }
}

void RefuseWithPython(const CLI::App& app, const std::vector<const char*>& without_effect) {
  for (const char* const option : without_effect) {
    if (app.get_option_no_throw(option) == nullptr || app.count(option) == 0) continue;
    throw Error(std::string(option) + " has no effect on a kernel in Python",
                "leave it out; shapes are in the file, and --kernel selects cases by their name");
  }
}

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

int RunPythonVerify(const VerifyOptions& options) {
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
  return wrong == 0 ? kExitFine : kExitRegression;
}

}  // namespace fa_profile::cli
