#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>

#include "command.h"
#include "fa_profile/child_process.h"
#include "fa_profile/edit_text.h"
#include "fa_profile/error.h"
#include "fa_profile/help_text.h"
#include "fa_profile/notice.h"
#include "fa_profile/text.h"
#include "fa_profile/usage_errors.h"
#include "fa_profile/version.h"

namespace fa_profile::cli {
namespace {

std::string CommandLine(int argc, char** argv) {
  std::string line = "fa-profile";
  for (int i = 1; i < argc; ++i) line.append(" ").append(argv[i]);
  return line;
}

bool IsRecordingName(const std::string& word) {
  std::error_code failed;
  return word.ends_with(".fap") || word.ends_with(".part") || std::filesystem::is_regular_file(word, failed);
}

std::optional<Error> UnknownWord(const CLI::App& command, const std::string& word) {
  const bool is_main = command.get_parent() == nullptr;
  if (is_main && IsRecordingName(word)) {
    return Error("fa-profile takes no file without a command: " + Printable(word),
                 "fa-profile report " + Printable(word) + " reports from a recording");
  }
  if (command.get_name() == "gate" && IsRecordingName(word)) {
    return Error("gate takes no file without an option: " + Printable(word),
                 "write the option before each file: --candidate A.fap --candidate B.fap; --baseline C.fap names what "
                 "they are compared with");
  }
  if (is_main && word == "demo") {
    return Error("demo is a command of the script ./fa-profile alone, at the top of a checkout",
                 "there, run ./fa-profile demo (docs/demo.md)");
  }
  return std::nullopt;
}

help::ProgramUsage OwnUsage() {
  const auto measure = [](const std::string& word) {
    return "to measure a program: fa-profile -- " + Printable(word) + "; ";
  };
  return {UnknownWord, /*other_commands=*/{"demo"}, measure, /*shared_options=*/{"--phase-map", "--phase-from"}};
}

// The story of a finding and the list of limits are prose: a program that asked for JSON must not get it.
void RefuseExplainInAFormat(const CLI::App& app) {
  for (const CLI::App* const command : help::GivenCommands(app)) {
    const CLI::Option* const explain = command->get_option_no_throw("--explain");
    const CLI::Option* const format = command->get_option_no_throw("--format");
    if (explain == nullptr || format == nullptr || explain->count() == 0 || format->count() == 0) continue;
    const std::string name = Lower(format->as<std::string>());
    if (name == "text") continue;
    throw Error("--explain has no format '" + Printable(name) + "': it prints text", "leave out --format or --explain");
  }
}

// A command takes no program.
void RefuseProgram(const CLI::App& app) {
  if (app.get_subcommands().empty()) return;
  const std::string command = app.get_subcommands().front()->get_name();
  throw Error("a program after -- has no effect on '" + command + "'",
              "profile a program without a command: fa-profile [options] -- PROGRAM ARGUMENTS...; give arguments of " +
                  command + " without --");
}

int Dispatch(int argc, char** argv) {
  CLI::App app{"fa-profile: which part of a GPU kernel costs what, why, and did that change?"};
  app.set_version_flag("--version", "fa-profile " + std::string(Version()) + " (" + std::string(Commit()) + ")");
  app.name("fa-profile");
  app.formatter(std::make_shared<help::HelpText>());
  app.footer(
      "fa-profile [options] -- PROGRAM ARGUMENTS... profiles any CUDA program.\n"
      "./fa-profile demo, in a checkout, starts Prometheus and Alertmanager on a simulated fleet (docs/demo.md).\n"
      "Exit codes: 0 success; 1 a kernel is wrong or its time not real, lint --fail-on or selftest failed, or\n"
      "gate or release check found a regression; 2 an error; 3 --strict or verify reached no clear verdict.");
  app.require_subcommand(0, 1);
  Invocation invocation;
  invocation.command_line = CommandLine(argc, argv);
  for (const auto add : Commands()) add(app, invocation);

  // What follows `--` is a program's own command line, which CLI11 must not parse.
  char** const program = std::find(argv, argv + argc, std::string_view("--"));
  if (program != argv + argc) invocation.program.assign(program + 1, argv + argc);
  if (program != argv + argc && invocation.program.empty()) {
    throw Error("the program after -- is missing", "fa-profile [options] -- PROGRAM ARGUMENTS...");
  }
  try {
    app.parse(static_cast<int>(program - argv), argv);
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> unknown = app.remaining();
    const bool wrong_word =
        std::ranges::any_of(unknown, [](const std::string& word) { return !word.starts_with('-'); });
    if (error.get_exit_code() == 0 && !wrong_word) return app.exit(error);  // --help and --version
    if (!invocation.program.empty()) RefuseProgram(app);
    throw help::UsageError(app, error, OwnUsage());
  }
  if (!invocation.program.empty()) RefuseProgram(app);
  help::CheckUsage(app, OwnUsage());
  RefuseExplainInAFormat(app);
  return invocation.run();
}

}  // namespace
}  // namespace fa_profile::cli

int main(int argc, char** argv) {
  fa_profile::IgnoreFileSizeSignal();
  try {
    const int code = fa_profile::cli::Dispatch(argc, argv);
    // A listing that was not written is a failure, whichever stream it went through.
    if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw fa_profile::Error("the output could not be written",
                              "check that the disk is not full and standard output is open");
    }
    return code;
  } catch (const std::bad_alloc&) {
    fa_profile::Notice("error: out of memory");
    fa_profile::PrintToStderr("  hint: use a smaller metric set or fewer shapes at once");
  } catch (const std::exception& error) {
    fa_profile::NoticeOf("error", error);
  }
  return fa_profile::cli::kExitCannot;
}
