#include "baseline_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <memory>

#include "command.h"
#include "fa_profile/baseline_report.h"
#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/gate_run.h"

namespace fa_profile {
namespace {

// A pull request that could replace its baseline would be judged by itself.
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

}  // namespace

BaselineCommands::BaselineCommands(CLI::App& app) {
  command_ = app.add_subcommand("baseline", "Promote, list, show and verify the baselines of the gate");
  command_->require_subcommand(1);
  const auto add = [&](const char* name, const char* what) {
    CLI::App* const command = command_->add_subcommand(name, what);
    command->add_option("--baselines", baselines_, "Folder of the baselines")->capture_default_str();
    command->add_option("--format", format_, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    return command;
  };
  promote_ = add("promote", "Make a measurement the standard that later ones are compared with");
  promote_->add_option("files", files_, "Recordings (*.fap) and evidence (*.json) of one build")->required();
  promote_->add_option("--reason", reason_, "Why the standard changes")->required();
  promote_->add_option("--suite", suite_, "Name of the set of cases")->capture_default_str();
  promote_->add_option("--by", by_, "Who promotes; default: git's user.name and user.email");
  list_ = add("list", "List the baselines");
  show_ = add("show", "Show one baseline: environment, receipt, and the duration of each case");
  show_->add_option("baseline", shown_, "A file, or a GPU's folder: nvidia-h200")->required();
  show_->add_option("--suite", suite_, "Suite in the GPU's folder")->capture_default_str();
  add("verify", "Check content, receipt and chain of baselines; exit code 2 if one is bad")
      ->add_option("files", files_, "Files or folders; default: --baselines");
}

std::optional<int> BaselineCommands::Run() {
  if (!*command_) return std::nullopt;
  if (*promote_) return Promote();
  if (*list_) return List();
  return *show_ ? Show() : Verify();
}

int BaselineCommands::Promote() const {
  RefuseInAPullRequest();
  const std::string path = PromoteFiles(files_, baselines_, suite_, reason_, by_.empty() ? WhoPromotes() : by_);
  const StoredBaseline stored{path, ReadBaseline(path)};  // report what was written
  std::cout << (format_ == "json" ? ReceiptJson(stored) : "promoted " + path + "\n" + ReceiptText(stored));
  return kExitFine;
}

int BaselineCommands::List() const {
  std::vector<StoredBaseline> list;
  for (const std::string& path : BaselineFilesIn(baselines_)) list.push_back({path, ReadBaseline(path)});
  if (format_ == "json") {
    std::cout << BaselineListJson(list);
  } else {
    std::cout << (list.empty() ? "no baselines in " + baselines_ + "\n" : BaselineListText(list));
  }
  return kExitFine;
}

int BaselineCommands::Show() const {
  const bool is_file = shown_.find('/') != std::string::npos || shown_.ends_with(".json");
  const std::string path = is_file ? shown_ : NewestBaseline(baselines_, shown_, suite_);
  const StoredBaseline stored{path, ReadBaseline(path)};
  std::cout << (format_ == "json" ? BaselineJson(stored) : BaselineText(stored));
  return kExitFine;
}

int BaselineCommands::Verify() const {
  const BaselineCheck check = CheckBaselines(files_, baselines_);
  std::cout << (format_ == "json" ? VerificationJson(check) : VerificationText(check));
  return check.bad.empty() ? kExitFine : kExitCannot;
}

void AddBaseline(CLI::App& app, Invocation& invocation) {
  const auto commands = std::make_shared<BaselineCommands>(app);
  app.get_subcommand("baseline")->callback([commands, &invocation] {
    invocation.run = [commands] { return commands->Run().value(); };
  });
}

}  // namespace fa_profile
