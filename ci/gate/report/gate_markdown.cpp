#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <tuple>

#include "fa_profile/gate_report.h"
#include "markdown_text.h"
#include "safe_text.h"

namespace fa_profile::gate {
namespace {

// GitHub's limit in characters, applied to bytes.
constexpr std::size_t kMostBytes = 65536;
constexpr std::size_t kMostNotes = 12;
constexpr std::size_t kMostReasons = 8;
constexpr std::size_t kMostReproduceBytes = 4096;
constexpr std::size_t kTextCharacters = 240;

/// A line of a list; nothing for blank text: an empty item would turn the line before it into a heading.
std::string Item(const std::string& indent, const std::string& line) {
  const std::string prose = MarkdownProse(line, kTextCharacters);
  return prose.empty() ? "" : fmt::format("{}- {}\n", indent, prose);
}

/// At most `most` lines of a list, then the number of the others.
std::string List(const std::vector<std::string>& lines, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) text += Item("", lines[i]);
  if (lines.size() > most) text += fmt::format("- and {} more\n", lines.size() - most);
  return text;
}

std::string Head(const GateResult& result) {
  const std::string verdict = ToString(result.verdict);
  std::string headline = MarkdownProse(result.headline, kTextCharacters);
  if (headline.empty()) headline = verdict;
  if (!headline.starts_with(verdict)) headline = verdict + ": " + headline;
  std::string text = std::string(kCommentMarker) + "\n### " + headline + "\n";
  if (!result.incomparable.empty()) {
    text += "\nBaseline and candidate cannot be compared:\n\n" + List(result.incomparable, kMostReasons);
  }
  return text;
}

std::string CaseRow(const std::string& verdict, const CaseVerdict& of, const Comparison* comparison,
                    const std::string& design) {
  if (comparison == nullptr) {
    const char* const what = of.incorrect ? "correctness" : of.identical ? "same machine code" : "-";
    return fmt::format("| {} | {} | - | {} | - | - | - | - | - |\n", verdict, MarkdownCode(CaseTitle(of)), what);
  }
  const Comparison& c = *comparison;
  const std::string interval = ShownInterval(c);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {}{} | {} | {} |\n", verdict, MarkdownCode(CaseTitle(of)),
                     MarkdownCode(c.phase, 60), MarkdownProse(MetricLabel(c.metric), 60), ShownValue(c.base, c.unit),
                     ShownValue(c.candidate, c.unit), ShownChange(c), interval.empty() ? "" : " (" + interval + ")",
                     TierName(c.tier, design), ShownP(c));
}

/// Worst first: one row for each comparison except a plain PASS, and one for each case without such a row: its
/// duration, or only its verdict. Wrong cases come first.
std::vector<std::string> Rows(const GateResult& result) {
  struct Ranked {
    std::tuple<bool, bool, Verdict> badness;
    std::string row;
  };
  std::vector<Ranked> ranked;
  std::set<const CaseVerdict*> told;
  for (const RankedComparison& row : WorstFirst(result)) {
    const Comparison& c = *row.comparison;
    const bool blocks = c.blocking && IsBad(c.verdict);
    const bool loud = blocks && c.verdict == Verdict::kRegression;
    const std::string verdict = VerdictText(c);
    ranked.push_back(
        {{false, blocks, c.verdict}, CaseRow(loud ? "**" + verdict + "**" : verdict, *row.of, &c, result.design)});
    told.insert(row.of);
  }
  for (const CaseVerdict& of : result.cases) {
    if (told.contains(&of) && !of.incorrect) continue;
    const auto duration = std::ranges::find_if(
        of.comparisons, [](const Comparison& c) { return c.metric == kDuration && c.phase.empty(); });
    const bool bare = of.incorrect || duration == of.comparisons.end();
    const std::string verdict = ToString(of.verdict);
    ranked.push_back(
        {{of.incorrect, IsBad(of.verdict), of.verdict},
         CaseRow(of.incorrect ? "**" + verdict + "**" : verdict, of, bare ? nullptr : &*duration, result.design)});
  }
  std::ranges::stable_sort(ranked, std::greater(), &Ranked::badness);
  std::vector<std::string> rows;
  for (Ranked& each : ranked) rows.push_back(std::move(each.row));
  return rows;
}

/// One block of lines for each case except a plain PASS.
std::vector<std::string> Whys(const GateResult& result) {
  std::vector<std::string> blocks;
  for (const CaseVerdict& of : result.cases) {
    std::string block;
    for (const std::string& line : of.why) block += Item("  ", line);
    for (const Comparison& c : of.comparisons) {
      if (c.reason.empty()) continue;
      block +=
          fmt::format("  - {}{}{}: {}{}\n", MarkdownProse(MetricLabel(c.metric), 60), c.phase.empty() ? "" : " of ",
                      c.phase.empty() ? "" : MarkdownCode(c.phase, 60), MarkdownProse(c.reason, kTextCharacters),
                      c.rule.empty() ? "" : " (" + MarkdownCode(c.rule) + ")");
    }
    if (block.empty() && of.verdict == Verdict::kPass) continue;
    const std::string headline = MarkdownProse(of.headline, kTextCharacters);
    blocks.push_back(fmt::format("- {} {}{}\n", ToString(of.verdict), MarkdownCode(CaseTitle(of)),
                                 headline.empty() ? "" : ": " + headline) +
                     block);
  }
  return blocks;
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

std::string Controls(const GateResult& result, const std::string& error_rate) {
  std::string text;
  if (result.control) {
    const ControlResult& control = *result.control;
    text += fmt::format("- Controls of this run: {}. Baseline against itself: {} of {} judged worse",
                        control.passed ? "passed" : "failed", control.false_positives, control.trials);
    if (control.reference_change) {
      text += fmt::format("; the reference kernel, whose code never changes, moved by {:+.2f} %",
                          *control.reference_change * 100.0);
    }
    text += ".";
    if (!control.reason.empty()) text.append(" ").append(MarkdownProse(control.reason, kTextCharacters));
    text += "\n";
  }
  if (!error_rate.empty()) text += "- Error rate of this gate: " + MarkdownProse(error_rate, kTextCharacters) + "\n";
  return text.empty() ? "" : "\n**Reliability**\n\n" + text;
}

std::string Tail(const GateResult& result, const std::string& error_rate) {
  std::string text = EnvironmentTable(result) + Controls(result, error_rate);
  if (!result.notes.empty()) text += "\n**Notes**\n\n" + List(result.notes, kMostNotes);
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

/// The first `pieces` that fit in `room` together with the line that counts the rest.
std::string Fitting(const std::vector<std::string>& pieces, std::size_t room, const char* what) {
  const auto left_out = [&](std::size_t count) {
    return fmt::format("\n{} more {} do not fit into a comment.\n", count, what);
  };
  std::string text;
  std::size_t taken = 0;
  for (; taken < pieces.size(); ++taken) {
    const std::size_t rest = pieces.size() - taken - 1;
    if (text.size() + pieces[taken].size() + (rest > 0 ? left_out(rest).size() : 0) > room) break;
    text += pieces[taken];
  }
  if (taken < pieces.size()) text += left_out(pieces.size() - taken);
  return text;
}

}  // namespace

std::string GateMarkdown(const GateResult& result, const std::string& error_rate) {
  const std::string table =
      "\n| Verdict | Kernel | Phase | Metric | Baseline | Candidate | Change (95 % interval) | Tier | p |\n"
      "|---|---|---|---|--:|--:|--:|---|--:|\n";
  const std::string why = "\n**Why**\n\n";
  const std::string head = Head(result);
  const std::string tail = Tail(result, error_rate);
  const std::size_t room = kMostBytes - head.size() - tail.size() - table.size() - why.size();
  // If both are long, the table gets two thirds and the reasons one.
  const std::vector<std::string> blocks = Whys(result);
  std::size_t blocks_bytes = 0;
  for (const std::string& block : blocks) blocks_bytes += block.size();
  const std::string rows = Fitting(Rows(result), room - std::min(blocks_bytes, room / 3), "rows");
  const std::string reasons = Fitting(blocks, room - rows.size(), "reasons");
  return head + (rows.empty() ? "" : table + rows) + (reasons.empty() ? "" : why + reasons) + tail;
}

}  // namespace fa_profile::gate
