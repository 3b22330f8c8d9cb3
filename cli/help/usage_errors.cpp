#include "fa_profile/usage_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <ranges>
#include <string_view>

#include "fa_profile/edit_text.h"
#include "fa_profile/help_text.h"
#include "fa_profile/text.h"

namespace fa_profile::help {
namespace {

/// The name in errors: "report", "gate selftest", "fa-profile".
std::string ShortName(const CLI::App& command) {
  return command.get_parent() == nullptr ? command.get_name() : PathOf(command);
}

std::string HelpHint(const CLI::App& command) {
  return FullName(command) + " --help lists the " + (command.get_subcommands({}).empty() ? "" : "commands and ") +
         "options";
}

/// "--kernel", or "RECORDING" for a positional argument.
std::string Shown(const CLI::Option& option) {
  const std::string name = option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
  return option.get_positional() ? Upper(name) : name;
}

std::string WithMeaning(const CLI::Option& option) { return Shown(option) + ": " + option.get_description(); }

/// The command with its positional arguments: "fa-profile diff BEFORE AFTER".
std::string Usage(const CLI::App& command) {
  std::string line = FullName(command);
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_positional() || option->get_required()) {
      line += " " + Shown(*option);
      if (!option->get_positional()) line += " " + option->get_type_name();
      if (option->get_items_expected_max() > 1) line += "...";
    }
  }
  return line;
}

std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* const each : ShownCommands(command)) names.push_back(each->get_name());
  return names;
}

Error UnknownOption(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  return Error(ShortName(command) + " has no option " + Printable(name) + DidYouMean(name, OptionNames(command)),
               HelpHint(command));
}

/// For a word where only commands can follow.
Error UnknownCommand(const CLI::App& command, const std::string& word, const ProgramUsage& program) {
  const std::vector<std::string> commands = CommandNames(command);
  const bool is_main = command.get_parent() == nullptr;
  std::vector<std::string> names = commands;
  if (is_main) names.insert(names.end(), program.other_commands.begin(), program.other_commands.end());
  const std::string near = DidYouMean(word, names);
  std::string hint = fmt::format("the commands are {}", fmt::join(commands, ", "));
  if (is_main && (word == "help" || word == "version")) {
    hint = "write " + command.get_name() + " --" + word;
  } else if (is_main && near.empty() && program.alternative) {
    hint = program.alternative(word) + hint;
  }
  return Error(ShortName(command) + " has no command '" + Printable(word) + "'" + near, hint);
}

Error UnknownWord(const CLI::App& command, const std::string& word, const ProgramUsage& program) {
  if (program.unknown_word) {
    if (const std::optional<Error> own = program.unknown_word(command, word)) return *own;
  }
  if (!ShownCommands(command).empty()) return UnknownCommand(command, word, program);
  return Error(ShortName(command) + " takes no further argument: '" + Printable(word) + "'", Usage(command));
}

Error MissingArgument(const CLI::App& command, const CLI::ParseError& error) {
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_required() && option->count() == 0) {
      return Error(ShortName(command) + " needs " + WithMeaning(*option),
                   "give it: " + Usage(command) + "; " + HelpHint(command));
    }
  }
  const std::vector<std::string> commands = CommandNames(command);
  if (!commands.empty()) {
    return Error(ShortName(command) + " needs a command",
                 fmt::format("the commands are {}", fmt::join(commands, ", ")));
  }
  return Error(error.what(), HelpHint(command));
}

/// The option that a CLI11 message begins with: "--pairs: ..." or "Could not convert: --pairs = ...". A command may
/// have an option with the main job's name: the innermost command given is meant.
const CLI::Option* OptionOf(const std::vector<const CLI::App*>& commands, std::string message) {
  constexpr std::string_view kNoNumber = "Could not convert: ";
  if (message.starts_with(kNoNumber)) message.erase(0, kNoNumber.size());
  const CLI::Option* without_value = nullptr;
  for (const CLI::App* const command : std::views::reverse(commands)) {
    for (const CLI::Option* const option : command->get_options()) {
      const std::string name = option->get_name();
      if (name.empty() || (!message.starts_with(name + ":") && !message.starts_with(name + " = "))) continue;
      if (option->count() > 0) return option;
      if (without_value == nullptr) without_value = option;
    }
  }
  return without_value;
}

Error WrongCount(const CLI::Option& option) {
  const int most = option.get_items_expected_max();
  const int given = static_cast<int>(option.results().size());
  const int least = option.get_items_expected_min();
  if (given < least && least > 1)
    return Error(fmt::format("{} needs {} values", Shown(option), least), WithMeaning(option));
  if (given <= most) return Error(Shown(option) + " needs a value", WithMeaning(option));
  if (most == 1) return Error(fmt::format("{} is given {} times", Shown(option), given), "give it once");
  return Error(fmt::format("{} takes at most {} values and is given {}", Shown(option), most, given),
               WithMeaning(option));
}

Error WrongNumber(const CLI::Option& option, const std::string& wanted, const std::string& given) {
  return Error(fmt::format("{} must be a {}, not '{}'", Shown(option), wanted, Printable(given)), WithMeaning(option));
}

/// For CLI11's "--top: Value abc not in range 1 to 10000", which it also prints when the value is not a number.
std::optional<Error> NotInRange(const CLI::Option& option, const std::string& message) {
  constexpr std::string_view kValue = ": Value ";
  const std::size_t value = message.find(kValue);
  const std::size_t end = message.rfind(" not in range ");
  const auto range = RangeOf(option);
  if (!range || value == std::string::npos || end == std::string::npos) return std::nullopt;
  const std::size_t begin = value + kValue.size();
  return WrongNumber(option, (range->is_whole ? "whole number from " : "number from ") + range->text,
                     message.substr(begin, end - begin));
}

// CLI11 takes what follows an option for its value, also another option.
std::optional<Error> OptionAsValue(const CLI::App& command) {
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_items_expected_max() == 0 || option->get_positional()) continue;
    for (const std::string& value : option->results()) {
      if (!value.starts_with('-') || command.get_option_no_throw(value) == nullptr) continue;
      return Error(Shown(*option) + " needs a value before " + value, WithMeaning(*option));
    }
  }
  return std::nullopt;
}

void RefuseWrongValues(const CLI::App& command) {
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    for (const std::string& value : option->results()) {
      // CLI11 takes "-5" for a negative number, but no argument is one.
      if (option->get_positional() && value.size() > 1 && value.front() == '-') throw UnknownOption(command, value);
      if (value.empty()) {
        throw Error(Shown(*option) + " is empty", "give it a value (" + option->get_description() + ")" +
                                                      (option->get_required() ? "" : ", or leave it out"));
      }
    }
  }
}

// CLI11's ranges let "nan" through: it is neither too small nor too large.
void RefuseNotANumber(const CLI::App& command) {
  for (const CLI::Option* const option : command.get_options()) {
    const auto range = RangeOf(*option);
    if (!range || range->is_whole) continue;
    for (const std::string& value : option->results()) {
      if (!std::isnan(std::strtod(value.c_str(), nullptr))) continue;
      throw WrongNumber(*option, "number from " + range->text, value);
    }
  }
}

// An option of the main job in front of a command has no effect on the command: it is refused.
void RefuseOptionsBeforeCommand(const CLI::App& app, const std::vector<std::string>& shared_options) {
  if (app.get_subcommands().empty()) return;
  const CLI::App& given = *app.get_subcommands().front();
  const std::string command = given.get_name();
  for (const CLI::Option* const option : app.get_options()) {
    const bool shared =
        std::ranges::any_of(shared_options, [&](const std::string& name) { return option->check_name(name); }) &&
        given.get_option_no_throw(option->get_name()) != nullptr;
    if (option->count() == 0 || shared) continue;
    throw Error(option->get_name() + " has no effect before '" + command + "'",
                "put options after the command; " + FullName(given) + " --help lists them");
  }
}

}  // namespace

Error UsageError(const CLI::App& app, const CLI::ParseError& error, const ProgramUsage& program) {
  const std::vector<const CLI::App*> commands = GivenCommands(app);
  const CLI::App& command = *commands.back();
  for (const CLI::App* const each : commands) {
    if (const auto value = OptionAsValue(*each)) return *value;
  }
  // Words unknown to CLI11 come first: its other complaints are often a consequence.
  for (const CLI::App* const each : commands) {
    const std::vector<std::string> unknown = each->remaining();
    const auto option = std::ranges::find_if(unknown, [](const std::string& word) { return word.starts_with('-'); });
    if (option != unknown.end()) return UnknownOption(*each, *option);
    if (!unknown.empty()) return UnknownWord(*each, unknown.front(), program);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return MissingArgument(command, error);
  const std::string message = error.what();
  const CLI::Option* const of = OptionOf(commands, message);
  if (of == nullptr) return Error(message, HelpHint(command));
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr && of->count() > 0 &&
      message.starts_with("Could not convert")) {
    return WrongNumber(*of, "number", of->results().front());
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return WrongCount(*of);
  if (const auto not_in_range = NotInRange(*of, message)) return *not_in_range;
  // A check of ours continues the option's name.
  const std::size_t must = message.find(": must be ");
  return Error(must == std::string::npos ? message : Shown(*of) + message.substr(must + 1), WithMeaning(*of));
}

void CheckUsage(const CLI::App& app, const ProgramUsage& program) {
  RefuseOptionsBeforeCommand(app, program.shared_options);
  for (const CLI::App* const command : GivenCommands(app)) {
    if (const auto value = OptionAsValue(*command)) throw Error(*value);
    RefuseWrongValues(*command);
    RefuseNotANumber(*command);
  }
}

std::string Listed(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} or {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

CLI::Validator OneOf(const std::vector<std::string>& choices) {
  return CLI::Validator(
      [choices](const std::string& given) -> std::string {
        if (std::ranges::find(choices, given) != choices.end()) return "";
        constexpr std::size_t kFew = 4;  // few enough to read at a glance
        return fmt::format("must be {}, not '{}'{}", Listed(choices), Printable(given),
                           choices.size() > kFew ? DidYouMean(given, choices) : "");
      },
      fmt::format("{{{}}}", fmt::join(choices, ",")));
}

}  // namespace fa_profile::help
