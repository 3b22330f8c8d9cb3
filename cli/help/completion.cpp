#include "fa_profile/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "fa_profile/edit_text.h"
#include "fa_profile/help_text.h"

namespace fa_profile::help {
namespace {

// In what is written @NAME@ is the program's name and @ID@ the same as a part of a shell's names.

/// What a shell offers for a value.
struct Offer {
  enum class Kind { kNothing, kWords, kFiles, kFolders } kind = Kind::kNothing;
  std::vector<std::string> words;  ///< of kWords; of kFiles the ends of their names, ".fap"; none: any file
};

// ".fap" and ".json" of "Recordings (*.fap) and evidence (*.json)".
std::vector<std::string> FileEndings(std::string_view description) {
  std::set<std::string> endings;
  for (std::size_t at = 0; (at = description.find("*.", at)) != std::string_view::npos;) {
    std::size_t end = ++at + 1;
    const auto is_part = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.'; };
    while (end < description.size() && is_part(description[end])) ++end;
    while (description[end - 1] == '.') --end;  // of the sentence
    if (end > at + 1) endings.emplace(description.substr(at, end - at));
  }
  return {endings.begin(), endings.end()};
}

Offer OfferOf(const CLI::App& command, const CLI::Option& option, const KnownValues& values) {
  std::vector<std::string> words = ChoicesOf(option);
  if (words.empty() && values.words) words = values.words(command, option.get_name());
  if (!words.empty()) return {Offer::Kind::kWords, std::move(words)};
  const std::string type = TypeOf(option);
  if (type == "FOLDER" || type == "DIR") return {Offer::Kind::kFolders, {}};
  static const std::set<std::string, std::less<>> kNoFiles{"INT",   "UINT", "FLOAT", "N",       "SECONDS", "DURATION",
                                                           "REGEX", "NAME", "SHAPE", "FINDING", "URL",     "USER"};
  if (kNoFiles.contains(type) || values.texts.contains(option.get_name()) || RangeOf(option)) return {};
  return {Offer::Kind::kFiles, FileEndings(option.get_description())};
}

bool TakesValue(const CLI::Option& option) {
  return option.get_type_size() != 0 && option.get_items_expected_max() > 0;
}

/// For all three shells' single quotes; fish also takes a backslash in them.
std::string Quoted(const std::string& text, bool fish = false) {
  if (fish) return "'" + Replaced(Replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
  return "'" + Replaced(text, "'", "'\\''") + "'";
}

/// The first sentence, of at most 100 bytes of ASCII.
std::string Short(const std::string& description) {
  constexpr std::size_t kLongest = 100;
  std::string text = description.substr(0, std::min(description.find(". "), description.find("; ")));
  std::erase_if(text, [](unsigned char c) { return c < ' ' || c > '~'; });
  return text.size() <= kLongest ? text : text.substr(0, kLongest - 3) + "...";
}

/// Calls what(option) for the options with names, or for those without, in their order.
template <typename What>
void ForOptions(const CLI::App& command, bool positional, What what) {
  for (const CLI::Option* const option : ShownOptions(command)) {
    if (option->get_positional() == positional) what(*option);
  }
}

// bash -------------------------------------------------------------------------------------------------------------

constexpr const char* kBashCode = R"(
# The word before the one to complete decides: an option waits for its value, a command has options of its own.
_@ID@() {
  local cur=${COMP_WORDS[COMP_CWORD]} path='' option='' place=1 word i
  local commands options valued lists offer
  COMPREPLY=()
  if [[ $cur = '=' ]]; then cur=''; fi
  _@ID@_facts ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word = -- ]]; then _@ID@_program $((i + 1)); return; fi
    if [[ $word = '=' ]]; then continue; fi
    if [[ -n $option && $word != -* ]]; then
      if [[ " $lists " != *" $option "* ]]; then option=''; fi
      continue
    fi
    option=''
    if [[ $word = -* ]]; then
      if [[ " $valued " = *" $word "* ]]; then option=$word; fi
    elif [[ " $commands " = *" $word "* ]]; then
      path=${path:+$path }$word place=1
      _@ID@_facts "$path"
    else
      place=$((place + 1))
    fi
  done
  if [[ $cur = -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  else
    _@ID@_offer "$path ${option:-$place}"
    if [[ -z $option ]]; then offer="$commands $offer"; fi
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$offer" -- "$cur")
  fi
}

# What follows -- is a command line by itself.
_@ID@_program() {
  if declare -F _command_offset >/dev/null; then _command_offset "$1"; return; fi
  if ((COMP_CWORD == $1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  else
    _@ID@_files
  fi
}

# Folders, and files whose name has one of these ends; without one all files.
_@ID@_files() {
  local end
  compopt -o filenames 2>/dev/null
  if (($# == 0)); then
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  else
    mapfile -t COMPREPLY < <(
      compgen -d -- "$cur"
      for end; do compgen -f -X "!*$end" -- "$cur"; done | sort -u)
  fi
}

_@ID@_folders() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -d -- "$cur")
}

complete -F _@ID@ @NAME@
)";

std::string BashOffer(const Offer& offer) {
  const std::string words = fmt::format("{}", fmt::join(offer.words, " "));
  if (offer.kind == Offer::Kind::kNothing) return ":";
  if (offer.kind == Offer::Kind::kWords) return "offer='" + words + "'";
  if (offer.kind == Offer::Kind::kFolders) return "_@ID@_folders";
  return words.empty() ? "_@ID@_files" : "_@ID@_files " + words;
}

std::string BashFacts(const CLI::App& command) {
  std::string commands;
  std::string options;
  std::string valued;
  std::string lists;
  for (const CLI::App* const each : ShownCommands(command)) commands += " " + each->get_name();
  ForOptions(command, /*positional=*/false, [&](const CLI::Option& option) {
    for (const std::string& name : NamesOf(option)) {
      options += " " + name;
      if (TakesValue(option)) valued += " " + name;
      if (IsList(option)) lists += " " + name;
    }
  });
  return fmt::format("    {}) commands={} options={} valued={} lists={} ;;\n", Quoted(PathOf(command)),
                     Quoted(commands), Quoted(options), Quoted(valued), Quoted(lists));
}

std::string BashOffers(const CLI::App& command, const KnownValues& values) {
  std::string cases;
  ForOptions(command, /*positional=*/false, [&](const CLI::Option& option) {
    if (!TakesValue(option)) return;
    std::vector<std::string> patterns;
    for (const std::string& name : NamesOf(option)) patterns.push_back(Quoted(PathOf(command) + " " + name));
    cases += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), BashOffer(OfferOf(command, option, values)));
  });
  int place = 0;
  ForOptions(command, /*positional=*/true, [&](const CLI::Option& option) {
    const std::string pattern = IsList(option) ? Quoted(PathOf(command) + " ") + "[0-9]*"
                                               : Quoted(fmt::format("{} {}", PathOf(command), ++place));
    cases += fmt::format("    {}) {} ;;\n", pattern, BashOffer(OfferOf(command, option, values)));
  });
  return cases;
}

std::string BashCompletion(const CLI::App& app, const KnownValues& values) {
  std::string facts;
  std::string offers;
  for (const CLI::App* const command : ShownApps(app)) {
    facts += BashFacts(*command);
    offers += BashOffers(*command, values);
  }
  return "# shellcheck shell=bash disable=SC2034\n_@ID@_facts() {\n  case $1 in\n" + facts +
         "  esac\n}\n\n_@ID@_offer() {\n  offer=''\n  case $1 in\n" + offers + "  esac\n}\n" + kBashCode;
}

// zsh --------------------------------------------------------------------------------------------------------------

std::string ZshFunction(const CLI::App& command) {
  std::string name = "_@NAME@";
  if (command.get_parent() != nullptr) name += "_" + Replaced(PathOf(command), " ", "_");
  return name;
}

/// In brackets, or between colons, of a specification of _arguments.
std::string ZshText(std::string text) {
  for (const char* const special : {"\\", "[", "]", ":"}) text = Replaced(text, special, std::string("\\") + special);
  return text;
}

std::string ZshAction(const Offer& offer) {
  if (offer.kind == Offer::Kind::kNothing) return " ";
  if (offer.kind == Offer::Kind::kWords) return fmt::format("({})", fmt::join(offer.words, " "));
  if (offer.kind == Offer::Kind::kFolders) return "_files -/";
  return offer.words.empty() ? "_files" : fmt::format("_files -g \"*({})\"", fmt::join(offer.words, "|"));
}

std::string ZshOptions(const CLI::App& command, const KnownValues& values) {
  std::string specs;
  ForOptions(command, /*positional=*/false, [&](const CLI::Option& option) {
    const std::string value =
        TakesValue(option) ? ":" + ZshText(TypeOf(option)) + ":" + ZshAction(OfferOf(command, option, values)) : "";
    const std::vector<std::string> names = NamesOf(option);
    const bool repeatable = option.get_items_expected_max() > 1;
    for (const std::string& name : names) {
      const std::string others = repeatable ? "*" : fmt::format("({})", fmt::join(names, " "));
      const char* const joined = !TakesValue(option) ? "" : name.starts_with("--") ? "=" : "+";
      specs += fmt::format(
          " \\\n    {}", Quoted(others + name + joined + "[" + ZshText(Short(option.get_description())) + "]" + value));
    }
  });
  return specs;
}

std::string ZshPositionals(const CLI::App& command, const KnownValues& values) {
  std::string specs;
  int place = 0;
  ForOptions(command, /*positional=*/true, [&](const CLI::Option& option) {
    const std::string number = IsList(option) ? "*" : std::to_string(++place);
    specs += fmt::format(" \\\n    {}", Quoted(number + ":" + ZshText(option.get_name()) + ":" +
                                               ZshAction(OfferOf(command, option, values))));
  });
  return specs;
}

std::string ZshCommand(const CLI::App& command, const KnownValues& values) {
  const std::string name = ZshFunction(command);
  std::string text = name + "() {\n";
  if (command.get_parent() == nullptr) {  // what follows -- is a command line by itself
    text +=
        "  local -i end=${words[(i)--]}\n"
        "  if (( end < CURRENT )); then\n"
        "    shift $end words; (( CURRENT -= end )); _normal; return\n"
        "  fi\n";
  }
  const std::vector<const CLI::App*> commands = ShownCommands(command);
  if (commands.empty())
    return text + "  _arguments :" + ZshOptions(command, values) + ZshPositionals(command, values) + "\n}\n\n";
  text += "  local curcontext=$curcontext state line ret=1\n  typeset -A opt_args\n  local -a commands=(\n";
  std::string cases;
  for (const CLI::App* const each : commands) {
    text += "    " + Quoted(each->get_name() + ":" + ZshText(Short(each->get_description()))) + "\n";
    cases += fmt::format("      {}) {} && ret=0 ;;\n", each->get_name(), ZshFunction(*each));
  }
  text += "  )\n  _arguments -C :" + ZshOptions(command, values) + " \\\n    '1: :->command' '*:: :->rest' && ret=0\n";
  text +=
      "  case $state in\n    command) _describe -t commands command commands && ret=0 ;;\n    rest) case $line[1] in\n";
  return text + cases + "    esac ;;\n  esac\n  return ret\n}\n\n";
}

std::string ZshCompletion(const CLI::App& app, const KnownValues& values) {
  std::string text;
  for (const CLI::App* const command : ShownApps(app)) text += ZshCommand(*command, values);
  return text +
         "if [ \"$funcstack[1]\" = \"_@NAME@\" ]; then _@NAME@ \"$@\"; else compdef _@NAME@ @NAME@; "
         "fi\n";
}

// fish -------------------------------------------------------------------------------------------------------------

constexpr const char* kFishCode = R"(
# Whether the words so far name this command, and the last of them is no option that waits for its value.
function __@ID@_at
    set -l path ''
    set -l waits 0
    for word in (commandline -opc)[2..]
        if test $waits = 1
            set waits 0
        else if test "$word" = --
            return 1
        else if contains -- "$path $word" $__@ID@_valued
            set waits 1
        else if contains -- "$path $word" $__@ID@_commands
            set path (string trim -- "$path $word")
        end
    end
    test "$path" = "$argv[1]"
end

# What follows -- is a command line by itself.
function __@ID@_program
    contains -- -- (commandline -opc)
end

complete -c @NAME@ -f
complete -c @NAME@ -n '__@ID@_program; and test (commandline -opc)[-1] = --' -a '(__fish_complete_command)'
complete -c @NAME@ -n '__@ID@_program; and test (commandline -opc)[-1] != --' -F
)";

std::string FishOffer(const Offer& offer) {
  const std::string words = fmt::format("{}", fmt::join(offer.words, " "));
  if (offer.kind == Offer::Kind::kNothing) return " -x";
  if (offer.kind == Offer::Kind::kWords) return " -x -a " + Quoted(words, /*fish=*/true);
  if (offer.kind == Offer::Kind::kFolders) return " -x -a '(__fish_complete_directories)'";
  return words.empty() ? " -r -F" : " -x -k -a '(__fish_complete_suffix " + words + ")'";
}

std::string FishCommand(const CLI::App& command, const KnownValues& values) {
  const std::string begin = "complete -c @NAME@ -n " + Quoted("__@ID@_at " + Quoted(PathOf(command), true), true);
  std::string text;
  for (const CLI::App* const each : ShownCommands(command)) {
    text += begin + " -a " + each->get_name() + " -d " + Quoted(Short(each->get_description()), true) + "\n";
  }
  for (const CLI::Option* const option : ShownOptions(command)) {
    text += begin;
    for (const std::string& name : option->get_snames()) text += " -s " + name;
    for (const std::string& name : option->get_lnames()) text += " -l " + name;
    if (option->get_positional() || TakesValue(*option)) {
      std::string offer = FishOffer(OfferOf(command, *option, values));
      if (option->get_positional()) offer = Replaced(Replaced(offer, " -x", ""), " -r", "");
      text += offer;
    }
    text += " -d " + Quoted(Short(option->get_description()), true) + "\n";
  }
  return text;
}

std::string FishCompletion(const CLI::App& app, const KnownValues& values) {
  std::string valued;
  std::string commands;
  std::string text;
  for (const CLI::App* const command : ShownApps(app)) {
    for (const CLI::App* const each : ShownCommands(*command)) {
      commands += " \\\n    " + Quoted(PathOf(*command) + " " + each->get_name(), true);
    }
    ForOptions(*command, /*positional=*/false, [&](const CLI::Option& option) {
      if (!TakesValue(option)) return;
      for (const std::string& name : NamesOf(option))
        valued += " \\\n    " + Quoted(PathOf(*command) + " " + name, true);
    });
    text += FishCommand(*command, values);
  }
  return "set -g __@ID@_commands" + commands + "\nset -g __@ID@_valued" + valued + "\n" + kFishCode + text;
}

}  // namespace

std::string Completion(const CLI::App& app, const std::string& shell, std::string_view version,
                       const KnownValues& values) {
  const std::string text = fmt::format("{}# Written by @NAME@ completion {}, version {}\n{}",
                                       shell == "zsh" ? "#compdef @NAME@\n" : "", shell, version,
                                       shell == "bash"  ? BashCompletion(app, values)
                                       : shell == "zsh" ? ZshCompletion(app, values)
                                                        : FishCompletion(app, values));
  const std::string& name = app.get_name();
  return Replaced(Replaced(text, "@ID@", Replaced(name, "-", "_")), "@NAME@", name);
}

}  // namespace fa_profile::help
