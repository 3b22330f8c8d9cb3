#include "markdown_fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "fa_profile/gate_report.h"
#include "markdown_text.h"
#include "safe_text.h"

namespace fa_profile::gate {
namespace {

constexpr std::size_t kMostNotes = 12;
constexpr std::size_t kShortCharacters = 80;  // for a headline next to columns of times
constexpr std::size_t kMostReproduceBytes = 4096;

/// "86.9 us -> 105 us | +21.0 % (+20.8 to +21.2 %)": two cells.
std::string TimeCells(const Comparison* c) {
  if (c == nullptr) return "- | -";
  const std::string interval = ShownInterval(*c);
  return fmt::format("{} -> {} | {}{}", ShownValue(c->base, c->unit), ShownValue(c->candidate, c->unit),
                     ShownChange(*c), interval.empty() ? "" : " (" + interval + ")");
}

std::string OtherRow(const CaseVerdict& of, const Comparison& c, const std::string& design) {
  const std::string interval = ShownInterval(c);
  std::string note = MarkdownProse(OwnReason(c), kMarkdownCharacters);
  if (!c.rule.empty()) note += (note.empty() ? "" : " ") + MarkdownCode(c.rule);
  return fmt::format("| {} | {} | {}{} | {} | {} | {}{} | {} | {} | {} |\n", VerdictText(c),
                     MarkdownCode(CaseTitle(of)), MarkdownProse(MetricLabel(c.metric), 60),
                     c.phase.empty() ? "" : " of " + MarkdownCode(c.phase, 60), ShownValue(c.base, c.unit),
                     ShownValue(c.candidate, c.unit), ShownChange(c), interval.empty() ? "" : " (" + interval + ")",
                     TierName(c.tier, design), ShownP(c), note.empty() ? "-" : note);
}

/// Comparisons that are neither in the table of cases nor among the reasons, worst first.
std::vector<std::string> OtherRows(const FoldedContents& contents) {
  std::set<const Comparison*> others;
  for (const ToldCase& told : contents.cases) others.insert(told.report.others.begin(), told.report.others.end());
  std::vector<std::string> rows;
  for (const RankedComparison& row : WorstFirst(contents.result)) {
    if (others.contains(row.comparison)) rows.push_back(OtherRow(*row.of, *row.comparison, contents.result.design));
  }
  return rows;
}

std::string EnvironmentTable(const GateResult& result) {
  std::string rows;
  const auto add = [&rows](const char* name, const std::string& base, const std::string& candidate) {
    if (base.empty() && candidate.empty()) return;
    rows += fmt::format("| {} | {} | {} |\n", name, MarkdownCode(base), MarkdownCode(candidate));
  };
  add("source", result.base_origin, result.candidate_origin);
  for (const EnvironmentField& field : kEnvironmentFields) {
    const auto shown = [&field](const Environment& environment) {
      if (field.text != nullptr) return environment.*field.text;
      const std::int64_t hertz = environment.*field.hertz;
      return hertz > 0 ? ShownValue(static_cast<double>(hertz), "hertz") : std::string();
    };
    add(field.label, shown(result.base), shown(result.candidate));
  }
  return rows.empty() ? "" : "\n**Environment**\n\n| | Baseline | Candidate |\n|---|---|---|\n" + rows;
}

std::string Notes(const GateResult& result) {
  std::string text;
  const std::size_t shown = std::min(result.notes.size(), kMostNotes);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string prose = MarkdownProse(result.notes[i], kMarkdownCharacters);
    if (!prose.empty()) text += "- " + prose + "\n";  // an empty item would make a heading of the line before it
  }
  if (result.notes.size() > shown) text += fmt::format("- and {} more\n", result.notes.size() - shown);
  return text.empty() ? "" : "\n**Notes**\n\n" + text;
}

std::string Commands(const GateResult& result) {
  std::string text;
  if (result.verdict == Verdict::kImproved) {
    text += "\nThis change is faster. To compare later changes with it, promote its measurement:\n" +
            MarkdownBlock("fa-profile baseline promote FILE... --reason \"why\"");
  }
  const std::string reproduce = SafeLine(result.reproduce, kMostReproduceBytes);
  if (!reproduce.empty() && result.reproduce.size() <= kMostReproduceBytes) {
    text += "\nTo reproduce:\n" + MarkdownBlock(reproduce);
  }
  return text;
}

/// Pieces under a head.
struct FoldedPart {
  std::string head;
  std::vector<std::string> pieces;
  const char* one;
  const char* several;

  std::string Count() const { return fmt::format("{} {}", pieces.size(), pieces.size() == 1 ? one : several); }
  std::size_t Bytes() const {
    std::size_t bytes = head.size();
    for (const std::string& piece : pieces) bytes += piece.size();
    return bytes;
  }
  std::string LeftOut(std::size_t count) const {
    return fmt::format("\n{} {} do not fit into a comment.\n", count, several);
  }
  /// The first pieces that fit in `room` together with the line that counts the rest.
  std::string Fitting(std::size_t room) const {
    if (pieces.empty()) return {};
    std::string text = head;
    std::size_t taken = 0;
    for (; taken < pieces.size(); ++taken) {
      const std::size_t rest = pieces.size() - taken - 1;
      if (text.size() + pieces[taken].size() + (rest > 0 ? LeftOut(rest).size() : 0) > room) break;
      text += pieces[taken];
    }
    if (taken < pieces.size()) text += LeftOut(pieces.size() - taken);
    return text;
  }
};

std::array<FoldedPart, 3> PartsOf(const FoldedContents& contents) {
  FoldedPart kernels{"\n**More kernels**\n\n" + contents.table.Head() + "\n", {}, "more kernel", "more kernels"};
  for (std::size_t i = contents.rows; i < contents.cases.size(); ++i) {
    kernels.pieces.push_back(contents.table.Row(contents.cases[i]) + "\n");
  }
  FoldedPart reasons{"\n**More reasons**\n\n", contents.reasons, "more reason", "more reasons"};
  FoldedPart others{
      "\n**Other comparisons**\n\n"
      "| Verdict | Kernel | Metric | Baseline | Candidate | Change (95 %) | Tier | p | Note |\n"
      "|---|---|---|--:|--:|--:|---|--:|---|\n",
      OtherRows(contents), "other comparison", "other comparisons"};
  return {std::move(kernels), std::move(reasons), std::move(others)};
}

std::string Summary(const std::array<FoldedPart, 3>& parts, const std::string& notes, const std::string& environment,
                    const std::string& commands, std::size_t note_count) {
  std::vector<std::string> names;
  for (const FoldedPart& part : parts) {
    if (!part.pieces.empty()) names.push_back(part.Count());
  }
  if (!notes.empty()) names.push_back(fmt::format("{} note{}", note_count, note_count == 1 ? "" : "s"));
  if (!environment.empty()) names.emplace_back("environment");
  if (!commands.empty()) names.emplace_back("commands");
  return fmt::format("\n<details><summary>{}</summary>\n", fmt::join(names, ", "));
}

}  // namespace

std::string CaseTable::Head() const {
  return timed ? "| Verdict | Kernel | Duration | Change (95 %) | Cycles | Change (95 %) |\n|---|---|--:|--:|--:|--:|"
               : "| Verdict | Kernel | Found |\n|---|---|---|";
}

bool CaseTable::HasHeadline(const ToldCase& told) const {
  return !timed || (told.of.comparisons.empty() && !told.of.incorrect);
}

std::string CaseTable::Row(const ToldCase& told) const {
  const CaseVerdict& of = told.of;
  const char* const bold = of.verdict == Verdict::kRegression ? "**" : "";
  const std::string begin = fmt::format("| {0}{1}{0} | {2} |", bold, ToString(of.verdict), MarkdownCode(CaseTitle(of)));
  if (timed && of.incorrect) return begin + (of.refused ? " not certified" : " wrong result") + " | - | - | - |";
  if (HasHeadline(told)) {
    const std::string headline = MarkdownProse(of.headline, timed ? kShortCharacters : kMarkdownCharacters);
    return fmt::format("{} {} |{}", begin, headline.empty() ? "-" : headline, timed ? " - | - | - |" : "");
  }
  return fmt::format("{} {} | {} |", begin, TimeCells(told.report.time), TimeCells(told.report.cycles));
}

std::string FoldedMarkdown(const FoldedContents& contents, std::size_t room) {
  const std::array<FoldedPart, 3> parts = PartsOf(contents);
  const std::string notes = Notes(contents.result);
  const std::string environment = EnvironmentTable(contents.result);
  const std::string commands = Commands(contents.result);
  const bool empty = std::ranges::all_of(parts, [](const FoldedPart& part) { return part.pieces.empty(); });
  if (empty && notes.empty() && environment.empty() && commands.empty()) return {};
  const std::string begin = Summary(parts, notes, environment, commands, contents.result.notes.size());
  const std::string end = notes + environment + commands + "\n</details>\n";
  // Each part may use a third, and what the parts before it leave.
  std::size_t left = room - begin.size() - end.size();
  const std::size_t third = left / parts.size();
  std::string text = begin;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::size_t later = 0;
    for (std::size_t j = i + 1; j < parts.size(); ++j) later += std::min(parts[j].Bytes(), third);
    const std::string part = parts[i].Fitting(left - later);
    left -= part.size();
    text += part;
  }
  return text + end;
}

}  // namespace fa_profile::gate
