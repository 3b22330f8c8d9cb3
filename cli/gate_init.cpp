#include "fa_profile/gate_init.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "bundled.h"
#include "command.h"
#include "fa_profile/files.h"
#include "fa_profile/output_path.h"
#include "fa_profile/text.h"
#include "fa_profile/usage_errors.h"
#include "fa_profile/version.h"

namespace fa_profile::cli {
namespace {

using Workflows = std::vector<std::pair<std::string, std::string>>;

Workflows WorkflowsOf(const std::string& host) {
  if (host.empty()) return {};
  constexpr std::size_t kMostBytes = std::size_t{1} << 16U;
  const auto text = [](const char* name) { return ReadFile(BundledWorkflow(name), kMostBytes); };
  if (host == "gitlab") return {{".gitlab/fa-profile-gate.yml", text("adopt-gitlab.yml")}};
  return {{".github/workflows/gate.yml", text("adopt-github.yml")},
          {".github/workflows/gate-comment.yml", text("adopt-github-comment.yml")}};
}

// `compares`: the workflow names a file given by the user.
std::string NextSteps(const std::string& host, const std::string& from, bool compares) {
  if (host.empty()) return "next: fa-profile gate --explain --static BASE HEAD\n";
  std::string text = "next: in the workflow, write how your library is built";
  if (from.starts_with("OWNER/")) text += ", and who hosts fa-profile instead of OWNER";
  if (!compares) {
    text += fmt::format(", and what it builds instead of {} ({})", gate::kSomeLibrary,
                        host == "gitlab" ? "GATE_BASE and GATE_HEAD" : "base: and head:");
  }
  if (host == "gitlab") text += "; then include it in .gitlab-ci.yml";
  return text + " (docs/gate.md)\n";
}

struct InitArguments {
  std::vector<std::string> files;
  std::string thresholds = "ci/thresholds.yaml";
  std::string workflow;  // empty: none
  std::string from = "OWNER/fa-profile";
};

int RunInit(const CLI::App& init, const InitArguments& given) {
  if (given.workflow.empty()) {
    RefuseOptions(init, {"--from"}, " has no effect without --workflow",
                  "add --workflow github or gitlab, or leave it out");
  }
  if (init.count("--output") > 0) CheckOutputPath(given.thresholds);  // only the default's folder is created
  gate::GateInitOptions options;
  options.files = given.files;
  options.thresholds = given.thresholds;
  options.from = given.from;
  options.has_groups = given.workflow == "gitlab";
  options.version = fmt::format("v{}", Version());
  options.workflows = WorkflowsOf(given.workflow);
  const std::vector<std::string> written = gate::InitGate(options);
  if (std::ranges::find(written, given.thresholds) == written.end()) {
    std::cout << "kept " << Printable(given.thresholds) << "\n";
  }
  for (const std::string& path : written) std::cout << "wrote " << Printable(path) << "\n";
  std::cout << NextSteps(given.workflow, given.from, gate::ComparedFile(given.files).has_value());
  return kExitFine;
}

}  // namespace

void AddGateInit(CLI::App& gate, Invocation& invocation) {
  const auto given = std::make_shared<InitArguments>();
  CLI::App& init = *gate.add_subcommand("init", "Write a first threshold file for this repository, and its workflow");
  init.add_option("FILES", given->files,
                  "Kernel libraries, cubins, build folders or recordings whose kernels are listed");
  init.add_option("-o,--output", given->thresholds, "The threshold file to write")->capture_default_str();
  init.add_option("--workflow", given->workflow, "Also write the workflow of this code host")
      ->check(help::OneOf({"github", "gitlab"}));
  init.add_option("--from", given->from, "With --workflow: the repository that hosts fa-profile")
      ->capture_default_str();
  invocation.When(init, [given, &init] { return RunInit(init, *given); });
}

}  // namespace fa_profile::cli
