// fa-profile help, completion and man: what cli/help writes from the command line's own description.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "command.h"
#include "fa_profile/completion.h"
#include "fa_profile/edit_text.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/findings.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/help_text.h"
#include "fa_profile/lint.h"
#include "fa_profile/man_pages.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/notice.h"
#include "fa_profile/output_path.h"
#include "fa_profile/text.h"
#include "fa_profile/usage_errors.h"
#include "fa_profile/version.h"

namespace fa_profile::cli {
namespace {

std::vector<std::string> IdsOf(const std::vector<FindingRule>& rules) {
  std::vector<std::string> ids;
  for (const FindingRule& rule : rules) ids.emplace_back(rule.id);
  return ids;
}

// Of fa-profile help and man: "gate", "gate-selftest", and "selftest" after "gate".
std::vector<std::string> CommandWords(const CLI::App& app) {
  std::set<std::string> words;
  for (const CLI::App* const command : help::ShownApps(app)) {
    if (command == &app) continue;
    words.insert(command->get_name());
    words.insert(Replaced(help::PathOf(*command), " ", "-"));
  }
  return {words.begin(), words.end()};
}

// Words of options that take any text, or a list: others are possible.
std::vector<std::string> KnownWords(const CLI::App& command, const std::string& option) {
  const bool is_lint = command.get_name() == "lint";
  if (option == "COMMAND") return CommandWords(*command.get_parent());
  if (option == "--ncu-set") return MetricSetNames();
  if (option == "--kernel" && !is_lint) return jobs::KnownKernels();
  if (option == "--chip") return MetricSetChips();
  if (option == "--explain") return IdsOf(is_lint ? analyze::LintRules() : analyze::FindingRules());
  if (option == "--fail-on") return IdsOf(analyze::LintRules());
  return {};
}

help::KnownValues OwnValues() {
  return {KnownWords,
          {"--kernel", "--nvtx", "--match", "--reason", "--by", "--suite", "--arch", "--group", "--job", "--listen",
           "--gpu", "--from"}};
}

// What --help after these words prints. "gate selftest" and "gate-selftest" are the same command.
int PrintHelp(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string wanted = fmt::format("{}", fmt::join(words, "-"));
  std::vector<std::string> names;
  for (const CLI::App* const command : help::ShownApps(app)) {
    const std::string path = help::PathOf(*command);
    if (Replaced(path, " ", "-") == wanted) {
      std::cout << command->get_formatter()->make_help(command, help::FullName(*command), CLI::AppFormatMode::Normal);
      return kExitFine;
    }
    names.push_back(path);
  }
  const std::string given = fmt::format("{}", fmt::join(words, " "));
  throw Error(app.get_name() + " has no command '" + Printable(given) + "'" + DidYouMean(given, names),
              app.get_name() + " --help lists the commands");
}

struct ManArguments {
  std::vector<std::string> command;
  std::string folder;
};

int RunMan(const CLI::App& app, const ManArguments& arguments) {
  if (!arguments.folder.empty()) {
    if (!arguments.command.empty()) throw Error("--output writes every page", "leave out the command, or --output");
    CheckOutputPath(arguments.folder + "/" + app.get_name() + ".1");
    std::vector<PendingFile> files;
    for (const help::ManPage& page : help::ManPages(app, Version())) {
      files.emplace_back(arguments.folder + "/" + page.name + ".1", page.text);
    }
    for (PendingFile& file : files) file.PutInPlace();
    Notice(fmt::format("wrote {} pages to {}", files.size(), arguments.folder));
    return kExitFine;
  }
  // "gate selftest", "gate-selftest" and "fa-profile-gate-selftest" are the same page.
  std::string wanted = fmt::format("{}", fmt::join(arguments.command, "-"));
  if (wanted != app.get_name() && !wanted.starts_with(app.get_name() + "-")) {
    wanted = app.get_name() + (wanted.empty() ? "" : "-" + wanted);
  }
  std::vector<std::string> names;
  for (const help::ManPage& page : help::ManPages(app, Version())) {
    if (page.name == wanted) {
      std::cout << page.text;
      return kExitFine;
    }
    names.push_back(page.name);
  }
  throw Error("no manual page " + Printable(wanted) + DidYouMean(wanted, names),
              "fa-profile --help lists the commands; a page is named fa-profile man gate selftest");
}

}  // namespace

void AddHelp(CLI::App& app, Invocation& invocation) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* const help = app.add_subcommand("help", "Print the help of a command");
  help->add_option("COMMAND", *words, "A command: gate selftest; default: the help of fa-profile itself")
      ->type_name("NAME");
  invocation.When(*help, [words, &app] { return PrintHelp(app, *words); });
}

void AddCompletion(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    std::string shell;
    std::string program;
    std::vector<std::string> words;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command = app.add_subcommand("completion", "Print what completes command lines in a shell");
  command->add_option("SHELL", arguments->shell, "bash, zsh or fish")
      ->required()
      ->check(help::OneOf({"bash", "zsh", "fish"}));
  command->add_option("--program", arguments->program, "The fa-profile that the shell asks; default: this one")
      ->type_name("NAME");
  invocation.When(*command, [arguments, &app] {
    std::string& program = arguments->program;
    if (program.empty()) program = std::filesystem::read_symlink("/proc/self/exe").string();
    std::cout << help::CompletionScript(app.get_name(), arguments->shell, program);
    return kExitFine;
  });

  // What the scripts ask. '=' before each word: so none is an option of ours.
  CLI::App* const complete = app.add_subcommand("complete", "Print what may come in a command line")->group("");
  complete->add_option("words", arguments->words)->required();
  invocation.When(*complete, [arguments, &app] {
    for (std::string& word : arguments->words) word.erase(0, 1);
    std::cout << help::Complete(app, arguments->words, OwnValues());
    return kExitFine;
  });
}

void AddManPages(CLI::App& app, Invocation& invocation) {
  const auto arguments = std::make_shared<ManArguments>();
  CLI::App* const man = app.add_subcommand("man", "Print a manual page, or write all of them into a folder");
  man->add_option("COMMAND", arguments->command, "A command: gate selftest; default: the page of fa-profile itself")
      ->type_name("NAME");
  man->add_option("-o,--output", arguments->folder, "Folder to write every page to")->type_name("FOLDER");
  invocation.When(*man, [arguments, &app] { return RunMan(app, *arguments); });
}

}  // namespace fa_profile::cli
