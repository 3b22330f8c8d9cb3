#include "fa_profile/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "fa_profile/edit_text.h"
#include "fa_profile/help_text.h"

namespace fa_profile::help {
namespace {

/// Words to offer, each with a tab and a description if known, and which files the shell should add.
struct Offer {
  std::string files;  ///< "files .fap .json": folders, and files with one of these endings; "folders"; "words": none
  std::vector<std::string> words;
};

// " .fap .json" from "Recordings (*.fap) and evidence (*.json)".
std::string FileEndings(std::string_view description) {
  std::set<std::string> endings;
  for (std::size_t at = 0; (at = description.find("*.", at)) != std::string_view::npos;) {
    std::size_t end = ++at + 1;
    const auto is_part = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.'; };
    while (end < description.size() && is_part(description[end])) ++end;
    while (description[end - 1] == '.') --end;  // the sentence's own
    if (end > at + 1) endings.emplace(description.substr(at, end - at));
  }
  return endings.empty() ? "" : fmt::format(" {}", fmt::join(endings, " "));
}

Offer ValuesOf(const CLI::App& command, const CLI::Option& option, const KnownValues& values) {
  std::vector<std::string> words = ChoicesOf(option);
  if (words.empty() && values.words) words = values.words(command, option.get_name());
  if (!words.empty()) return {"words", std::move(words)};
  const std::string type = TypeOf(option);
  if (type == "FOLDER" || type == "DIR") return {"folders", {}};
  static const std::set<std::string, std::less<>> kNoFiles{"INT",   "UINT", "FLOAT", "N",       "SECONDS", "DURATION",
                                                           "REGEX", "NAME", "SHAPE", "FINDING", "URL",     "USER"};
  if (kNoFiles.contains(type) || values.texts.contains(option.get_name()) || RangeOf(option)) return {"words", {}};
  return {"files" + FileEndings(option.get_description()), {}};
}

bool TakesValue(const CLI::Option& option) {
  return option.get_type_size() != 0 && option.get_items_expected_max() > 0;
}

/// A word with the first sentence of its description, at most 100 bytes of ASCII.
std::string Described(const std::string& word, const std::string& description) {
  constexpr std::size_t kLongest = 100;
  std::string text = description.substr(0, std::min(description.find(". "), description.find("; ")));
  std::erase_if(text, [](unsigned char c) { return c < ' ' || c > '~'; });
  return word + "\t" + (text.size() <= kLongest ? text : text.substr(0, kLongest - 3) + "...");
}

const CLI::Option* FindOption(const CLI::App& command, std::string_view name) {
  for (const CLI::Option* const option : ShownOptions(command)) {
    const std::vector<std::string> names = NamesOf(*option);
    if (std::ranges::find(names, name) != names.end()) return option;
  }
  return nullptr;
}

/// The option or argument whose value the last word is, if any, and the command that it belongs to.
struct Place {
  const CLI::App* command;
  const CLI::Option* option = nullptr;
  std::size_t arguments = 0;  ///< arguments of the command before the last word
};

Place PlaceOf(const CLI::App& app, const std::vector<std::string>& words) {
  Place place{&app};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (place.option != nullptr && !word.starts_with('-')) {
      if (!IsList(*place.option)) place.option = nullptr;
      continue;
    }
    place.option = nullptr;
    const std::vector<const CLI::App*> commands = ShownCommands(*place.command);
    const auto command = std::ranges::find(commands, word, [](const CLI::App* each) { return each->get_name(); });
    if (word.starts_with('-')) {
      const CLI::Option* const option = FindOption(*place.command, word);
      if (option != nullptr && TakesValue(*option)) place.option = option;
    } else if (command != commands.end()) {
      place = {*command};
    } else {
      ++place.arguments;
    }
  }
  return place;
}

Offer OptionsOf(const CLI::App& command) {
  Offer offer{"words", {}};
  for (const CLI::Option* const option : ShownOptions(command)) {
    for (const std::string& name : NamesOf(*option)) {
      offer.words.push_back(Described(name, option->get_description()));
    }
  }
  return offer;
}

Offer ArgumentsOf(const Place& place, const KnownValues& values) {
  Offer offer{"words", {}};
  std::size_t number = 0;
  for (const CLI::Option* const option : ShownOptions(*place.command)) {
    if (!option->get_positional() || (number++ < place.arguments && !IsList(*option))) continue;
    offer = ValuesOf(*place.command, *option, values);
    break;
  }
  for (const CLI::App* const each : ShownCommands(*place.command)) {
    offer.words.push_back(Described(each->get_name(), each->get_description()));
  }
  return offer;
}

Offer OfferFor(const CLI::App& app, const std::vector<std::string>& words, const KnownValues& values) {
  const Place place = PlaceOf(app, words);
  const std::string& typed = words.back();
  if (!typed.starts_with('-')) {
    return place.option != nullptr ? ValuesOf(*place.command, *place.option, values) : ArgumentsOf(place, values);
  }
  const std::size_t end = typed.find('=');  // end of the name in --format=json
  if (end == std::string::npos) return OptionsOf(*place.command);
  const CLI::Option* const option = FindOption(*place.command, typed.substr(0, end));
  if (option == nullptr) return {"words", {}};
  Offer offer = ValuesOf(*place.command, *option, values);
  for (std::string& word : offer.words) word.insert(0, typed.substr(0, end + 1));
  return {"words", std::move(offer.words)};
}

// Each asks the program what may come next, and completes whatever follows -- as its own command line. @NAME@ is the
// program's name, @ID@ the same as part of a shell identifier, @PROGRAM@ what to call.
constexpr const char* kBash = R"bash(# shellcheck shell=bash
_@ID@() {
  local cur=${COMP_WORDS[COMP_CWORD]} i
  local -a words=() answer kind
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} = -- && $i -lt $COMP_CWORD ]]; then _@ID@_program $((i + 1)); return; fi
    if [[ ${COMP_WORDS[i]} != '=' ]]; then words+=("=${COMP_WORDS[i]}"); fi
  done
  if [[ $cur = '=' ]]; then cur='' words+=('='); fi
  mapfile -t answer < <(@PROGRAM@ complete "${words[@]}" 2>/dev/null)
  read -ra kind <<<"${answer[0]}"
  COMPREPLY=()
  if [[ ${kind[0]} = files ]]; then _@ID@_files "${kind[@]:1}"; fi
  if [[ ${kind[0]} = folders ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
  fi
  answer=("${answer[@]:1}")
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "${answer[*]%%$'\t'*}" -- "$cur")
}

_@ID@_program() {
  if declare -F _command_offset >/dev/null; then _command_offset "$1"; return; fi
  if ((COMP_CWORD == $1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  else
    _@ID@_files
  fi
}

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

complete -F _@ID@ @NAME@
)bash";

constexpr const char* kZsh = R"zsh(#compdef @NAME@
_@NAME@() {
  local -i end=${words[(i)--]} ret=1
  if (( end < CURRENT )); then
    shift $end words; (( CURRENT -= end )); _normal; return
  fi
  local -a answer kind
  answer=("${(@f)$(@PROGRAM@ complete "${(@)words[2,CURRENT]/#/=}" 2>/dev/null)}")
  kind=(${=answer[1]})
  shift answer
  answer=("${(@)${(@)answer//:/\\:}/$'\t'/:}")
  if (( $#answer )); then _describe word answer && ret=0; fi
  case $kind[1] in
    files) if (( $#kind > 1 )); then _files -g "*(${(j:|:)kind[2,-1]})"; else _files; fi && ret=0 ;;
    folders) _files -/ && ret=0 ;;
  esac
  return ret
}
if [ "$funcstack[1]" = "_@NAME@" ]; then _@NAME@ "$@"; else compdef _@NAME@ @NAME@; fi
)zsh";

constexpr const char* kFish = R"fish(function __@ID@_offer
    set -l words (commandline -opc)[2..] "$(commandline -ct)"
    set -l answer (@PROGRAM@ complete =$words 2>/dev/null)
    set -l kind (string split ' ' -- $answer[1])
    printf '%s\n' $answer[2..]
    switch $kind[1]
        case files
            __fish_complete_suffix $kind[2..]
        case folders
            __fish_complete_directories
    end
end

function __@ID@_program
    contains -- -- (commandline -opc)
end

complete -c @NAME@ -f
complete -c @NAME@ -n 'not __@ID@_program' -k -a '(__@ID@_offer)'
complete -c @NAME@ -n '__@ID@_program; and test (commandline -opc)[-1] = --' -a '(__fish_complete_command)'
complete -c @NAME@ -n '__@ID@_program; and test (commandline -opc)[-1] != --' -F
)fish";

}  // namespace

std::string Complete(const CLI::App& app, const std::vector<std::string>& words, const KnownValues& values) {
  const Offer offer = OfferFor(app, words, values);
  return fmt::format("{}\n{}{}", offer.files, fmt::join(offer.words, "\n"), offer.words.empty() ? "" : "\n");
}

std::string CompletionScript(const std::string& name, const std::string& shell, const std::string& program) {
  const std::string script = shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
  // A quotation that works in all three shells.
  const std::string quoted = "'" + Replaced(program, "'", "'\\''") + "'";
  return Replaced(Replaced(Replaced(script, "@PROGRAM@", quoted), "@ID@", Replaced(name, "-", "_")), "@NAME@", name);
}

}  // namespace fa_profile::help
