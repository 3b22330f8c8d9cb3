// Copies of source files with what their lines cost in a left margin.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "fa_profile/call_name.h"
#include "fa_profile/code_report.h"
#include "fa_profile/edit_text.h"
#include "fa_profile/text.h"
#include "fa_profile/units.h"

namespace fa_profile::exporters {
namespace {

constexpr std::size_t kTabColumns = 4;
constexpr std::size_t kPhaseColumns = 14;
constexpr std::size_t kStallColumns = 22;

std::string WithoutTabs(std::string_view line) {
  std::string text;
  for (const char c : line) {
    if (c == '\t') {
      text.append(kTabColumns - text.size() % kTabColumns, ' ');
    } else {
      text += c;
    }
  }
  return text;
}

std::string Fill(const std::string& text, std::size_t columns) {
  const std::string cut = Truncate(text, columns);
  return cut + std::string(columns - std::min(columns, DisplayWidth(cut)), ' ');
}

std::string MarginOf(const ListedLine* line) {
  if (line == nullptr) return std::string(6 + 2 + kPhaseColumns + 2 + kStallColumns, ' ');
  const double share = line->cost.share_ratio.value_or(0.0);
  std::string phase = line->phases.empty() ? "" : Printable(line->phases.front().phase);
  if (line->phases.size() > 1) phase += " +";  // and another
  std::string stall;
  if (!line->cost.stalls.empty()) {
    const StallShare& top = line->cost.stalls.front();
    stall = Printable(top.reason) + " " + ShortPercent(top.ratio);
  }
  return fmt::format("{:>6}  {}  {}", share > 0.0 ? fmt::format("{:.2f}", 100.0 * share) : "",
                     Fill(phase, kPhaseColumns), Fill(stall, kStallColumns));
}

std::string KernelsText(const std::vector<SourceListing>& listings) {
  std::string text;
  for (const SourceListing& listing : listings) {
    const ListedCode& code = listing.code;
    if (code.samples <= 0.0) continue;
    text += (text.empty() ? "" : ", ") + Printable(CallName(code.kernel, code.shape, code.part));
  }
  return text;
}

bool IsPlain(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-'; }

/// Of the file's own name what any system takes.
std::string PlainName(const std::string& file) {
  constexpr std::size_t kMost = 80;
  std::string name = file.substr(file.find_last_of('/') + 1);
  if (name.size() > kMost) name.erase(0, name.size() - kMost);  // the end tells what it is
  std::ranges::replace_if(
      name, [](char c) { return !IsPlain(c); }, '_');
  name.erase(0, std::min(name.find_first_not_of('.'), name.size()));
  return name.empty() ? "source" : name;
}

}  // namespace

std::string AnnotatedSource(const SourceText& source, const std::vector<ListedLine>& lines,
                            const std::vector<SourceListing>& listings) {
  std::string text = "% of the samples of " + KernelsText(listings) +
                     "\nphase with the most samples of the line; + : and another\n" +
                     "top stall, % of the line's samples\n" + Printable(source.file) + "\n";
  if (source.changed) text += "This file changed after the recording was made: lines may have moved.\n";
  text += "\n";
  double elsewhere = 0.0;
  std::vector<const ListedLine*> by_line(source.lines.size(), nullptr);
  for (const ListedLine& line : lines) {
    if (line.file != source.file) continue;
    if (line.line >= 1 && static_cast<std::size_t>(line.line) <= by_line.size()) {
      by_line[static_cast<std::size_t>(line.line) - 1] = &line;
    } else {
      elsewhere += line.cost.share_ratio.value_or(0.0);
    }
  }
  const std::size_t digits = std::to_string(source.lines.size()).size();
  for (std::size_t i = 0; i < by_line.size(); ++i) {
    std::string row =
        fmt::format("{} |{:>{}} {}", MarginOf(by_line[i]), i + 1, digits, Printable(WithoutTabs(source.lines[i])));
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  if (elsewhere > 0.0) text += fmt::format("\n{} at lines that this file does not have\n", Percent(elsewhere, 2));
  return text;
}

std::vector<std::string> AnnotatedNames(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  std::set<std::string> taken;  // in lower case: some file systems know no other
  for (const std::string& file : files) {
    const std::string plain = PlainName(file);
    std::string name = plain + ".txt";
    const auto take = [&] { return taken.insert(Lower(name)).second; };
    for (int i = 2; !take(); ++i) name = fmt::format("{}-{}.txt", plain, i);
    names.push_back(name);
  }
  return names;
}

}  // namespace fa_profile::exporters
