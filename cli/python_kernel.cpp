#include "python_kernel.h"

#include "command.h"
#include "fa_profile/add_option.h"

namespace fa_profile::cli {

void AddPythonKernel(CLI::App& app, jobs::PythonOptions& options) {
  app.add_option("--kernel-py", options.kernel, "A kernel of your own in Python (PyTorch, Triton): FILE.py:FUNCTION")
      ->type_name("FILE.py:FUNCTION");
  app.add_option("--python", options.python, "The Python that runs it")->capture_default_str()->type_name("PROGRAM");
  help::AddNumber(app, "--timeout", options.timeout_s, "Seconds that it has to load, and for each case", 1.0, 86400.0)
      ->type_name("SECONDS");
  app.add_option("--case", options.cases, "A case by its full name, which the file is not asked for (repeatable)")
      ->allow_extra_args(false)
      ->group("");
}

void RequirePythonKernel(const CLI::App& app, const jobs::PythonOptions& options) {
  if (!options.kernel.empty()) return;
  RefuseOptions(app, {"--python", "--timeout", "--case"}, " has no effect without a kernel in Python",
                "name it: --kernel-py FILE.py:FUNCTION");
}

void RefuseWithPython(const CLI::App& app, const std::vector<const char*>& without_effect) {
  RefuseOptions(app, without_effect, " has no effect on a kernel in Python",
                "leave it out; shapes are in the file, and --kernel selects cases by their name");
}

}  // namespace fa_profile::cli
