// fa-profile lint: from files with GPU code to what the compiler alone tells of their kernels.
#include "fa_profile/lint.h"

#include <algorithm>
#include <iostream>

#include "commands.h"
#include "fa_profile/error.h"
#include "fa_profile/explain.h"
#include "fa_profile/lint_files.h"
#include "fa_profile/lint_report.h"
#include "terminal_options.h"

namespace fa_profile {

int RunLint(const LintCommand& command) {
  if (!command.explain.empty()) {
    WriteExplanation(std::cout, RequireLintFinding(command.explain), TerminalOptions());
    return kExitFine;
  }
  if (command.files.empty()) {
    throw Error("lint needs a file", "give a cubin, object file, program or library: fa-profile lint FILE...");
  }
  if (command.format == Format::kCsv) throw Error("lint writes text or json, not csv", "use --format json");
  for (const std::string& id : command.fail_on) (void)RequireLintFinding(id);

  const std::vector<KernelLint> lints = LintFiles(command);
  if (const auto& map = command.options.phase_map) {
    for (const std::string& phase : RequirePhases(lints, *map)) {
      std::cerr << "fa-profile: phase '" << phase << "' of the " << map->name << " matches no instruction\n";
    }
  }
  if (command.format == Format::kJson) {
    WriteJsonLint(std::cout, lints);
  } else {
    WriteTextLint(std::cout, lints, TerminalOptions());
  }

  int exit_code = kExitFine;
  for (const KernelLint& lint : lints) {
    for (const Finding& finding : lint.findings) {
      if (std::ranges::find(command.fail_on, finding.id) == command.fail_on.end()) continue;
      std::cerr << "fa-profile: " << finding.id << " in " << lint.name << '\n';
      exit_code = kExitRegression;
    }
  }
  return exit_code;
}

}  // namespace fa_profile
