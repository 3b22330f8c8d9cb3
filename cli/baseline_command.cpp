#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <memory>

#include "command.h"
#include "fa_profile/add_option.h"
#include "fa_profile/baseline_files.h"
#include "fa_profile/baseline_report.h"
#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/gate_run.h"
#include "fa_profile/text.h"

namespace fa_profile::cli {
namespace {

// Otherwise a pull request could replace the baseline that judges it.
void RefuseInAPullRequest() {
  const char* const event = std::getenv("GITHUB_EVENT_NAME");
  const bool github = event != nullptr && std::string_view(event).starts_with("pull_request");
  const char* const gitlab = std::getenv("CI_MERGE_REQUEST_IID");
  if (github || (gitlab != nullptr && *gitlab != '\0')) {
    throw Error("a pull request cannot promote a baseline: it would be judged by itself",
                "promote by hand, on the branch that the pull request targets");
  }
}

// "Name <mail>" from git's configuration; empty if it has none.
std::string WhoPromotes() {
  const auto ask = [](const char* key) -> std::string {
    try {
      const ChildOutput answer = CaptureChild("git", {"git", "config", key});
      return answer.status == 0 ? answer.text.substr(0, answer.text.find('\n')) : "";
    } catch (const Error&) {
      return "";  // git is not installed
    }
  };
  const std::string name = ask("user.name");
  const std::string mail = ask("user.email");
  return mail.empty() ? name : fmt::format("{}{}<{}>", name, name.empty() ? "" : " ", mail);
}

/// Arguments of `fa-profile baseline promote | list | show | verify` (docs/gate-reference.md).
struct BaselineArguments {
  std::string baselines = gate::kBaselines;
  std::string suite = "ladder";
  std::string format = "text";
  std::vector<std::string> files;
  std::string reason;
  std::string by;
  std::string shown;

  bool json() const { return format == "json"; }
};

int RunPromote(const BaselineArguments& given) {
  RefuseInAPullRequest();
  const std::string path = gate::PromoteFiles(given.files, given.baselines, given.suite, given.reason,
                                              given.by.empty() ? WhoPromotes() : given.by);
  const gate::StoredBaseline stored{path, gate::ReadBaseline(path)};  // report what was written
  std::cout << (given.json() ? gate::ReceiptJson(stored)
                             : "promoted " + Printable(path) + "\n" + gate::ReceiptText(stored));
  return kExitFine;
}

int RunListBaselines(const BaselineArguments& given) {
  std::vector<gate::StoredBaseline> list;
  for (const std::string& path : gate::BaselineFilesIn(given.baselines))
    list.push_back({path, gate::ReadBaseline(path)});
  if (given.json()) {
    std::cout << gate::BaselineListJson(list);
  } else {
    std::cout << (list.empty() ? "no baselines in " + Printable(given.baselines) + "\n" : gate::BaselineListText(list));
  }
  return kExitFine;
}

int RunShow(const BaselineArguments& given) {
  const std::string path = gate::BaselineToShow(given.shown, given.baselines, given.suite);
  const gate::StoredBaseline stored{path, gate::ReadBaseline(path)};
  std::cout << (given.json() ? gate::BaselineJson(stored) : gate::BaselineText(stored));
  return kExitFine;
}

int RunVerifyBaselines(const BaselineArguments& given) {
  const gate::BaselineCheck check = gate::CheckBaselines(given.files, given.baselines);
  std::cout << (given.json() ? gate::VerificationJson(check) : gate::VerificationText(check));
  return check.bad.empty() ? kExitFine : kExitCannot;
}

}  // namespace

void AddBaseline(CLI::App& app, Invocation& invocation) {
  const auto arguments = std::make_shared<BaselineArguments>();
  CLI::App& baseline = *app.add_subcommand("baseline", "Promote, list, show and verify the baselines of the gate");
  baseline.require_subcommand(1);
  const auto add = [&](const char* name, const char* what, int (*run)(const BaselineArguments&)) {
    CLI::App* const command = baseline.add_subcommand(name, what);
    command->add_option("--baselines", arguments->baselines, "Folder of the baselines")
        ->capture_default_str()
        ->type_name("FOLDER");
    help::AddChoice(*command, "--format", arguments->format, "text or json", {"text", "json"});
    invocation.When(*command, [arguments, run] { return run(*arguments); });
    return command;
  };
  CLI::App* const promote =
      add("promote", "Make a measurement the standard that later ones are compared with", RunPromote);
  promote->add_option("files", arguments->files, "Recordings (*.fap) and evidence (*.json) of one build")->required();
  promote->add_option("--reason", arguments->reason, "Why the standard changes")->required();
  promote->add_option("--suite", arguments->suite, "Name of the set of cases")->capture_default_str();
  promote->add_option("--by", arguments->by, "Who promotes; default: git's user.name and user.email");
  add("list", "List the baselines", RunListBaselines);
  CLI::App* const show = add("show", "Show one baseline: environment, receipt, and the duration of each case", RunShow);
  show->add_option("baseline", arguments->shown, "A file, or a GPU in --baselines: nvidia-h200")->required();
  show->add_option("--suite", arguments->suite, "Suite in the GPU's folder")->capture_default_str();
  add("verify", "Check content, receipt and chain of baselines; exit code 2 if one is bad", RunVerifyBaselines)
      ->add_option("files", arguments->files, "Files or folders; default: --baselines");
}

}  // namespace fa_profile::cli
