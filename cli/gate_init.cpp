#include "gate_init.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "bundled.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gate_init.h"
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

// `compares`: the workflow names a file that was given.
std::string NextSteps(const std::string& host, const std::string& from, bool compares) {
  if (host.empty()) return "next: fa-profile gate --explain --static BASE HEAD\n";
  std::string text = "next: in the workflow, write how your library is built";
  if (from.starts_with("OWNER/")) text += ", and who hosts fa-profile instead of OWNER";
  if (!compares) {
    text += fmt::format(", and what it builds instead of {} ({})", gate::kSomeLibrary,
                        host == "gitlab" ? "GATE_BASE and GATE_HEAD" : "base: and head:");
  }
  if (host == "gitlab") text += "; then include it in .gitlab-ci.yml";
  return text + " (docs/gate-adopt.md)\n";
}

}  // namespace

void GateInitCommand::AddTo(CLI::App& gate) {
  init_ = gate.add_subcommand("init", "Write a first threshold file for this repository, and its workflow");
  init_->add_option("FILES", files_, "Kernel libraries, cubins, build folders or recordings whose kernels are listed");
  init_->add_option("-o,--output", thresholds_, "The threshold file to write")->capture_default_str();
  init_->add_option("--workflow", workflow_, "Also write the workflow of this code host")
      ->check(help::OneOf({"github", "gitlab"}));
  init_->add_option("--from", from_, "With --workflow: the repository that hosts fa-profile")->capture_default_str();
}

int GateInitCommand::Run() const {
  if (workflow_.empty() && init_->count("--from") > 0) {
    throw Error("--from has no effect without --workflow", "add --workflow github or gitlab, or leave it out");
  }
  if (init_->count("--output") > 0) CheckOutputPath(thresholds_);  // only the default's folder is made
  gate::GateInitOptions options;
  options.files = files_;
  options.thresholds = thresholds_;
  options.from = from_;
  options.has_groups = workflow_ == "gitlab";
  options.version = fmt::format("v{}", Version());
  options.workflows = WorkflowsOf(workflow_);
  const std::vector<std::string> written = gate::InitGate(options);
  if (std::ranges::find(written, thresholds_) == written.end()) std::cout << "kept " << Printable(thresholds_) << "\n";
  for (const std::string& path : written) std::cout << "wrote " << Printable(path) << "\n";
  std::cout << NextSteps(workflow_, from_, gate::ComparedFile(files_).has_value());
  return kExitFine;
}

}  // namespace fa_profile::cli
