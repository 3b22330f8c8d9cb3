#include "fa_profile/help_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace fa_profile::help {
namespace {

// "1e+06" as "1000000".
std::string InDigits(const std::string& number) {
  double value = 0.0;
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), value);
  return failed == std::errc() && number.find('e') != std::string::npos ? fmt::format("{:.0f}", value) : number;
}

// The words between separators.
std::vector<std::string> Split(std::string_view text, std::string_view separator) {
  std::vector<std::string> words;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    words.emplace_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + separator.size());
  }
  return words;
}

}  // namespace

// CLI11 returns the type and each check's description as one text: "INT:INT in [0 - 1000]", "TEXT:{warm,flush}".
std::string TypeOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{");
  const std::size_t end = type.find('}', std::min(begin, type.size()));
  if (begin == std::string::npos || end == std::string::npos) return {};
  return Split(std::string_view(type).substr(begin + 2, end - begin - 2), ",");
}

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool IsList(const CLI::Option& option) { return option.get_expected_max() == CLI::detail::expected_max_vector_size; }

std::vector<const CLI::App*> ShownCommands(const CLI::App& app) {
  std::vector<const CLI::App*> shown = app.get_subcommands([](const CLI::App*) { return true; });
  std::erase_if(shown, [](const CLI::App* command) { return command->get_group().empty(); });
  return shown;
}

std::vector<const CLI::App*> ShownApps(const CLI::App& app) {
  std::vector<const CLI::App*> apps{&app};
  for (const CLI::App* const command : ShownCommands(app)) {
    const std::vector<const CLI::App*> below = ShownApps(*command);
    apps.insert(apps.end(), below.begin(), below.end());
  }
  return apps;
}

std::vector<const CLI::Option*> ShownOptions(const CLI::App& app) {
  std::vector<const CLI::Option*> shown = app.get_options();
  std::erase_if(shown, [](const CLI::Option* option) { return option->get_group().empty(); });
  return shown;
}

std::string FullName(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() : FullName(*parent) + " " + command.get_name();
}

std::string PathOf(const CLI::App& command) {
  const std::string full = FullName(command);
  const std::size_t space = full.find(' ');
  return space == std::string::npos ? "" : full.substr(space + 1);
}

std::vector<const CLI::App*> GivenCommands(const CLI::App& app) {
  std::vector<const CLI::App*> given{&app};
  while (!given.back()->get_subcommands().empty()) given.push_back(given.back()->get_subcommands().front());
  return given;
}

std::optional<NumberRange> RangeOf(const CLI::Option& option) {
  constexpr std::string_view kIn = " in [";
  constexpr std::string_view kTo = " - ";
  const std::string type = option.get_type_name();
  const std::size_t in = type.rfind(kIn);
  const std::size_t to = type.find(kTo, std::min(in, type.size()));
  if (in == std::string::npos || to == std::string::npos) return std::nullopt;
  const std::size_t begin = in + kIn.size();
  const std::size_t second = to + kTo.size();
  return NumberRange{type.substr(0, in).ends_with("INT"),
                     InDigits(type.substr(begin, to - begin)) + " to " +
                         InDigits(type.substr(second, type.find(']', second) - second))};
}

std::string HelpText::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return {};  // a flag
  std::string type = TypeOf(*option);
  if (const auto choices = ChoicesOf(*option); !choices.empty() && type != "FORMAT") {
    type = fmt::format("{}", fmt::join(choices, "|"));
  } else if (type == "INT" || type == "UINT") {
    type = "N";
  } else if (type == "FLOAT") {
    type = "NUMBER";
  }
  return " " + type + (IsList(*option) ? "..." : "") + (option->get_required() ? " (required)" : "");
}

std::string HelpText::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  std::string more;
  if (const auto range = RangeOf(*option)) more = range->text;
  if (!option->get_default_str().empty()) {
    more += (more.empty() ? "" : "; ") + ("default " + option->get_default_str());
  }
  return more.empty() ? text : text + " (" + more + ")";
}

}  // namespace fa_profile::help
