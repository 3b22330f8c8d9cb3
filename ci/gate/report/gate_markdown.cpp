#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <tuple>

#include "fa_profile/gate_report.h"
#include "report/markdown_text.h"
#include "report/safe_text.h"

namespace fa_profile {
namespace {

// GitHub's limit is in characters. Counted in bytes, which are never fewer.
constexpr std::size_t kMostBytes = 65536;
constexpr std::size_t kMostNotes = 12;
constexpr std::size_t kMostReasons = 8;
constexpr std::size_t kMostReproduceBytes = 4096;
constexpr std::size_t kTextCharacters = 240;

/// A line of a list; nothing for a blank text: an item without any would make a heading of the line before it.
std::string Item(const std::string& indent, const std::string& line) {
  const std::string prose = MarkdownProse(line, kTextCharacters);
  return prose.empty() ? "" : fmt::format("{}- {}\n", indent, prose);
}

/// At most `most` lines of a list, and how many there are more.
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

std::string Row(const std::string& verdict, const CaseVerdict& of, const Comparison* comparison,
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

/// Worst first: one row for each comparison that says something, and one for each case of which there is none: its
/// duration, or its verdict alone. A case that is wrong comes before everything.
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
        {{false, blocks, c.verdict}, Row(loud ? "**" + verdict + "**" : verdict, *row.of, &c, result.design)});
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
         Row(of.incorrect ? "**" + verdict + "**" : verdict, of, bare ? nullptr : &*duration, result.design)});
  }
  std::ranges::stable_sort(ranked, std::greater(), &Ranked::badness);
  std::vector<std::string> rows;
  for (Ranked& each : ranked) rows.push_back(std::move(each.row));
  return rows;
}

/// One block of lines for each case that is no plain PASS.
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
  const auto hertz = [](std::int64_t value) {
    return value > 0 ? ShownValue(static_cast<double>(value), "hertz") : std::string();
  };
  const Environment &a = result.base, &b = result.candidate;
  const std::array<std::array<std::string, 3>, 11> facts{
      {{"taken from", result.base_origin, result.candidate_origin},
       {"GPU", a.gpu_name, b.gpu_name},
       {"UUID", a.gpu_uuid, b.gpu_uuid},
       {"driver", a.driver_version, b.driver_version},
       {"CUDA runtime", a.cuda_runtime_version, b.cuda_runtime_version},
       {"CUPTI", a.cupti_version, b.cupti_version},
       {"SM clock, most", hertz(a.sm_clock_max_hz), hertz(b.sm_clock_max_hz)},
       {"memory clock, most", hertz(a.memory_clock_max_hz), hertz(b.memory_clock_max_hz)},
       {"fa-profile", a.tool_version, b.tool_version},
       {"commit", a.tool_commit, b.tool_commit},
       {"taken at", a.taken_at, b.taken_at}}};
  std::string rows;
  for (const auto& [name, base, candidate] : facts) {
    if (base.empty() && candidate.empty()) continue;
    rows += fmt::format("| {} | {} | {} |\n", name, MarkdownCode(base), MarkdownCode(candidate));
  }
  return rows.empty() ? "" : "\n**Environment**\n\n| | Baseline | Candidate |\n|---|---|---|\n" + rows;
}

std::string Controls(const GateResult& result, const std::string& error_rate) {
  std::string text;
  if (result.control) {
    const ControlResult& control = *result.control;
    text += fmt::format("- Controls of this run: {}. Baseline against itself: {} of {} called worse",
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
  return text.empty() ? "" : "\n**How far to trust this**\n\n" + text;
}

std::string Tail(const GateResult& result, const std::string& error_rate) {
  std::string text = EnvironmentTable(result) + Controls(result, error_rate);
  if (!result.notes.empty()) text += "\n**Notes**\n\n" + List(result.notes, kMostNotes);
  if (result.verdict == Verdict::kImproved) {
    text +=
        "\nFaster, and proven to be. To hold later changes against this one, a person promotes what was measured:\n" +
        MarkdownBlock("fa-profile baseline promote FILE... --reason \"why\"");
  }
  const std::string reproduce = SafeLine(result.reproduce, kMostReproduceBytes);
  if (!reproduce.empty() && result.reproduce.size() <= kMostReproduceBytes) {
    text += "\nTo see it again:\n" + MarkdownBlock(reproduce);
  }
  return text;
}

/// As many of `pieces`, from the first, as fit in `room` together with the line that counts the rest.
std::string Fitting(const std::vector<std::string>& pieces, std::size_t room, const char* what) {
  const auto left_out = [&](std::size_t count) {
    return fmt::format("\n{} {} left out: too long for a comment.\n", count, what);
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
  // The table comes first; where both are long the reasons still get a third.
  const std::vector<std::string> blocks = Whys(result);
  std::size_t blocks_bytes = 0;
  for (const std::string& block : blocks) blocks_bytes += block.size();
  const std::string rows = Fitting(Rows(result), room - std::min(blocks_bytes, room / 3), "rows were");
  const std::string reasons = Fitting(blocks, room - rows.size(), "reasons were");
  return head + (rows.empty() ? "" : table + rows) + (reasons.empty() ? "" : why + reasons) + tail;
}

}  // namespace fa_profile
