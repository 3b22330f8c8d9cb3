// fa-profile lint: finds problems in compiled kernels, without a GPU.
#include "fa_profile/lint.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "command.h"
#include "fa_profile/error.h"
#include "fa_profile/explain.h"
#include "fa_profile/lint_files.h"
#include "fa_profile/lint_package.h"
#include "fa_profile/notice.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/stop_signals.h"
#include "formats.h"
#include "terminal_options.h"

namespace fa_profile::cli {

namespace {

struct LintCommand : load::LintRequest {
  const Format* format = nullptr;
  std::vector<std::string> fail_on;  ///< ids of findings that make the exit code 1
  std::string explain;               ///< explains this finding instead; empty: lints
  std::string package;               ///< a wheel or a folder, instead of files
};

/// Throws Error for options that do not affect a package's table.
void RefuseForPackage(const LintCommand& command) {
  const auto refuse = [](const std::string& option, const char* cure) {
    throw Error(option + " has no effect with --from-wheel", cure);
  };
  if (!command.files.empty()) throw Error("lint takes files or --from-wheel, not both", "run it twice");
  if (command.options.threads) refuse("--threads", "leave it out");
  if (command.options.dynamic_shared_memory_bytes) refuse("--smem", "leave it out");
  if (command.options.phase_source == PhaseSource::kFunctions) refuse("--phase-from functions", "leave it out");
  if (command.options.phase_source == PhaseSource::kOpcodes) refuse("--phase-from opcodes", "leave it out");
  if (const auto& map = command.options.phase_map) {
    for (const char* const phase : {"qk", "pv"}) {
      if (std::ranges::find(map->rules, phase, &PhaseRule::phase) != map->rules.end()) continue;
      throw Error("the " + map->name + " has no phase '" + phase + "'; lint needs it to recognise attention kernels",
                  "name the phases of both products qk and pv, or lint files by themselves: fa-profile lint FILE...");
    }
  }
  if (!command.fail_on.empty()) {
    throw Error("--fail-on cannot check a package: the table has its attention kernels only",
                "check its files by themselves: fa-profile lint FILE... --fail-on FINDING");
  }
}

/// CSV has no place for unread files. `count`: all of them, including those not listed.
void NoteSkipped(const std::vector<SkippedFile>& files, int count) {
  for (const SkippedKind& kind : KindsOf(files)) Notice("skipped " + SkippedText(kind));
  const auto more = count - static_cast<int>(files.size());
  if (more > 0) Notice("skipped " + std::to_string(more) + " more");
}

/// Once what was read so far is printed.
void EndStopped(const StopSignals& stop) {
  std::cout.flush();
  Notice("stopped by a signal: this is what was read so far");
  stop.EndBySignal();
}

/// Ends the process if a signal requests that, once what was read so far is printed.
PackageLint LintOnePackage(const LintCommand& command) {
  ProgressBar progress(ProgressBar::Elsewhere::kLines);
  const auto writer = command.format->package(std::cout, TerminalOptions());
  const StopSignals stop;
  PackageLint package =
      load::LintPackage(command.package, command,
                        {.progress = [&](int done, int total) { progress.Show("lint", "cubins", done, total); },
                         .kernel =
                             [&](const KernelLint& kernel) {
                               progress.Clear();
                               writer->Kernel(command.package, kernel);
                               std::cout.flush();
                             },
                         .stop = stop.descriptor(),
                         .stopped =
                             [&](const PackageLint& so_far) {
                               progress.Clear();
                               writer->End(so_far);
                               EndStopped(stop);
                             }});
  progress.Clear();
  writer->End(package);
  std::cout.flush();
  stop.EndBySignal();  // too late for the rest
  return package;
}

int RunLint(const LintCommand& command) {
  if (!command.explain.empty()) {
    exporters::WriteExplanation(std::cout, analyze::RequireLintFinding(command.explain), TerminalOptions());
    return kExitFine;
  }
  if (!command.package.empty()) RefuseForPackage(command);
  if (command.files.empty() && command.package.empty()) {
    throw Error("lint needs a file",
                "give a cubin, object file, program or library: fa-profile lint FILE..., or --from-wheel");
  }
  for (const std::string& id : command.fail_on) (void)analyze::RequireLintFinding(id);

  const bool from_package = !command.package.empty();
  const bool is_csv = command.format->name == std::string_view("csv");
  PackageLint package;
  FileLint of_files;
  std::size_t unread_files = 0;
  std::optional<StopSignals> stop;
  if (from_package) {
    package = LintOnePackage(command);
  } else {
    const auto refuse = [&](const Error& why) {
      ++unread_files;
      NoticeOf("error", why);
    };
    stop.emplace();
    const auto stopped = [&](const FileLint& so_far) {
      command.format->lint(std::cout, so_far, TerminalOptions());
      EndStopped(*stop);
    };
    of_files = load::LintFiles(command, refuse, {stop->descriptor(), stopped});
    if (unread_files == command.files.size()) return kExitCannot;
  }
  const std::vector<KernelLint>& lints = from_package ? package.attention : of_files.kernels;
  if (const auto& map = command.options.phase_map) {
    for (const std::string& phase : load::RequirePhases(lints, *map)) {
      Notice("phase '" + phase + "' of the " + map->name + " matches no instruction");
    }
  }
  if (!from_package) {
    command.format->lint(std::cout, of_files, TerminalOptions());
    std::cout.flush();
    stop->EndBySignal();  // too late for the rest
  }
  if (is_csv && from_package) NoteSkipped(package.skipped, package.skipped_files);
  if (is_csv && !from_package) NoteSkipped(of_files.skipped, of_files.skipped_files);

  int exit_code = kExitFine;
  for (const KernelLint& lint : lints) {
    for (const Finding& finding : lint.findings) {
      if (std::ranges::find(command.fail_on, finding.id) == command.fail_on.end()) continue;
      Notice(lint.file + ": " + std::string(finding.id) + " in " + lint.name + " (" + lint.architecture + ")");
      exit_code = kExitRegression;
    }
  }
  if (unread_files > 0) return kExitCannot;  // they were named
  if (exit_code == kExitFine && !command.fail_on.empty() && of_files.skipped_files > 0) {
    throw Error(std::to_string(of_files.skipped_files) + " of " + std::to_string(of_files.found) +
                    " cubins were not read: --fail-on cannot tell what is in them, the first: " +
                    of_files.skipped.front().file + ": " + of_files.skipped.front().why,
                "build them again, choose others with --arch, or leave --fail-on out");
  }
  return exit_code;
}

}  // namespace

void AddLint(CLI::App& app, Invocation& invocation) {
  const auto arguments = std::make_shared<LintCommand>();
  LintCommand& lint = *arguments;
  CLI::App* const command = app.add_subcommand("lint", "Find problems in compiled kernels, without a GPU");
  command->add_option("files", lint.files, "Cubins, or objects, programs and libraries with cubins in them");
  command->add_option("--from-wheel", lint.package,
                      "A wheel, or the folder of a Python package: its attention kernels in one table");
  command->add_option("--kernel", lint.kernel_pattern, "Only kernels whose C++ name matches this regular expression")
      ->type_name("REGEX");
  command->add_option("--arch", lint.architecture, "Only code for this architecture: sm_90a, 80");
  command->add_option("--threads", lint.options.threads, "Threads per block; default: what the kernel was compiled for")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--smem", lint.options.dynamic_shared_memory_bytes,
                   "Bytes of dynamic shared memory per block; default: 0, or unknown "
                   "where a kernel has no other")
      ->check(CLI::Range(0, 1 << 20));
  AddFormatOption(*command, lint.format, &Format::lint);
  command->add_option("--fail-on", lint.fail_on, "Findings that make the exit code 1, comma-separated")
      ->delimiter(',')
      ->allow_extra_args(false);
  AddPhaseMap(*command, invocation);
  command->add_option("--explain", lint.explain, "Explain a finding, instead of a report");
  invocation.When(*command, [arguments, &invocation] {
    arguments->options.phase_source = ReadPhaseSource(invocation);
    arguments->options.phase_map = ReadPhaseMap(invocation);
    return RunLint(*arguments);
  });
}

}  // namespace fa_profile::cli
