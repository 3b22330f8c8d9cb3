// fa-profile release: compares the GPU code of two releases of a package, without a GPU and without a CUDA toolkit.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "fa_profile/add_option.h"
#include "fa_profile/code_files.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/judge_release.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/notice.h"
#include "fa_profile/output_path.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/release_evidence.h"
#include "fa_profile/release_report.h"
#include "fa_profile/utc_time.h"
#include "formats.h"

namespace fa_profile::cli {
namespace {

/// What is read of a package.
struct CodeChoice {
  std::string architecture;
  std::string kernel_pattern;
};

gate::Release ReadPackage(const std::string& package, const CodeChoice& choice) {
  ProgressBar progress(ProgressBar::Elsewhere::kLines);
  gate::ReleaseOptions options;
  options.architecture = choice.architecture;
  options.kernel_pattern = choice.kernel_pattern;
  options.read_package = [](const std::string& path, const auto& take, const auto& skip) {
    load::ForEachCodeFile(path, take, skip);
  };
  options.read_file = [](const std::string& name, const std::string& path, const auto& take, const auto& skip) {
    load::ForEachCodeInFile(name, path, take, skip);
  };
  options.progress = [&](int files) { progress.Show("read", "files with GPU code", files, 0); };
  return gate::ReadRelease(package, options);
}

void AddChoice(CLI::App& command, CodeChoice& choice) {
  command.add_option("--kernel", choice.kernel_pattern, "Only kernels whose C++ name matches this regular expression")
      ->type_name("REGEX");
  command.add_option("--arch", choice.architecture, "Only code for this architecture: sm_90a, 80")->type_name("SM");
}

struct ReleaseCheck {
  std::string before;
  std::string after;
  CodeChoice choice;
  std::string allow_lost;
  std::string thresholds;
  std::string today;
  bool strict = false;
  bool summary = false;
  int rows = static_cast<int>(gate::kReleaseRows);
  const Format* format = nullptr;
  std::string markdown;
  std::string json;
};

gate::Release ReadOld(const ReleaseCheck& check) {
  if (!check.before.ends_with(".json")) return ReadPackage(check.before, check.choice);
  if (!check.choice.kernel_pattern.empty() || !check.choice.architecture.empty()) {
    throw Error("--kernel and --arch have no effect on " + check.before + ", which is a saved release",
                "leave them out, or save a release of this selection");
  }
  return gate::ReleaseFromJson(ReadFile(check.before, gate::kLargestRelease), check.before);
}

/// The file for the job summary. Throws Error: there is none.
std::string SummaryFile() {
  const char* const path = std::getenv("GITHUB_STEP_SUMMARY");
  if (path == nullptr || *path == '\0') {
    throw Error("--summary needs GITHUB_STEP_SUMMARY, which is not set",
                "use it in a step of GitHub Actions; elsewhere use --markdown FILE");
  }
  return path;
}

void AppendSummary(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  if (!(file << text << '\n') || !file.flush()) {
    throw Error(path + " cannot be written", "check what GITHUB_STEP_SUMMARY names");
  }
}

int RunCheck(const ReleaseCheck& check) {
  CheckReportFiles({{"--markdown", check.markdown}, {"--json", check.json}},
                   {check.before, check.after, check.thresholds});
  if (check.markdown == "-" || check.json == "-") {
    throw Error("--markdown and --json need a file", "for JSON on stdout use --format json");
  }
  const std::string summary = check.summary ? SummaryFile() : "";
  gate::ReleaseLimits limits;
  limits.today = check.today.empty() ? UtcNow("%Y-%m-%d") : check.today;
  limits.partial = !check.choice.kernel_pattern.empty();
  if (!check.thresholds.empty()) {
    constexpr std::size_t kMostThresholdBytes = std::size_t{1} << 20U;
    limits.thresholds = gate::ParseThresholds(ReadFile(check.thresholds, kMostThresholdBytes), check.thresholds);
  }
  std::optional<KernelPattern> allowed;
  if (!check.allow_lost.empty()) {
    allowed.emplace(check.allow_lost, "--allow-lost");
    limits.may_be_lost = [&](const std::string& name) { return allowed->Finds(name); };
  }
  const gate::Release before = ReadOld(check);
  const gate::Release after = ReadPackage(check.after, check.choice);
  const gate::ReleaseResult result = gate::JudgeRelease(before, after, limits);
  const auto rows = static_cast<std::size_t>(check.rows);
  std::vector<PendingFile> files;
  if (!check.markdown.empty()) files.emplace_back(check.markdown, gate::ReleaseMarkdown(result, rows));
  if (!check.json.empty()) files.emplace_back(check.json, gate::ReleaseResultJson(result));
  for (PendingFile& file : files) file.PutInPlace();
  std::cout << check.format->release(result, rows);
  if (!summary.empty()) AppendSummary(summary, gate::ReleaseMarkdown(result, rows));
  return gate::ExitCode(result, check.strict);
}

void AddCheck(CLI::App& release, Invocation& invocation) {
  const auto arguments = std::make_shared<ReleaseCheck>();
  ReleaseCheck& check = *arguments;
  CLI::App& command = *release.add_subcommand(
      "check", "Compare two releases kernel by kernel: spills, occupancy, registers, lost kernels and architectures");
  command.add_option("old", check.before, "A wheel, folder, library, Debian package or cubin; or what save wrote")
      ->required();
  command.add_option("new", check.after, "The new release: one of these, but not what save wrote")->required();
  AddChoice(command, check.choice);
  command
      .add_option("--allow-lost", check.allow_lost,
                  "Kernels and architectures that may be lost: a regular expression for their names")
      ->type_name("REGEX");
  command.add_option("--thresholds", check.thresholds, "File of limits; default: the built-in ones")->type_name("FILE");
  command.add_option("--today", check.today, "Date by which exceptions expire")->group("");
  command.add_flag("--strict", check.strict, "Exit with code 3 if no clear verdict is reached");
  help::AddNumber(command, "--rows", check.rows, "Kernels that are listed, the worst first; 0: all", 0, 1'000'000);
  AddFormatOption(command, check.format, &Format::release);
  command.add_option("--markdown", check.markdown, "Write a comment for a pull request")->type_name("FILE");
  command.add_option("--json", check.json, "Write JSON (docs/release-check.schema.json)")->type_name("FILE");
  command.add_flag("--summary", check.summary, "Append to the job summary of GitHub Actions");
  invocation.When(command, [arguments] { return RunCheck(*arguments); });
}

void AddSave(CLI::App& release, Invocation& invocation) {
  struct Arguments {
    std::string package;
    std::string output;
    CodeChoice choice;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& command =
      *release.add_subcommand("save", "Keep what check compares of a release, to compare the next one with");
  command.add_option("package", arguments->package, "A wheel, folder, library, Debian package or cubin")->required();
  command.add_option("-o,--output", arguments->output, "File to write")->required()->type_name("FILE.json");
  AddChoice(command, arguments->choice);
  invocation.When(command, [arguments] {
    if (!arguments->output.ends_with(".json")) {
      throw Error(arguments->output + " does not end in .json: release check would take it for a package",
                  "use -o NAME.json");
    }
    CheckReportFiles({{"--output", arguments->output}}, {arguments->package});
    const gate::Release read = ReadPackage(arguments->package, arguments->choice);
    WriteWholeFile(arguments->output, gate::ToJson(read));
    Notice("saved " + arguments->output + ": " + std::to_string(read.code.size()) + " kernels");
    return kExitFine;
  });
}

}  // namespace

void AddRelease(CLI::App& app, Invocation& invocation) {
  CLI::App& release = *app.add_subcommand(
      "release", "Judge whether a new release's GPU code is worse, or lost something, without a GPU");
  release.require_subcommand(1);
  AddCheck(release, invocation);
  AddSave(release, invocation);
}

}  // namespace fa_profile::cli
