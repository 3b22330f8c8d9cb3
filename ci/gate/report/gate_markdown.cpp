#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "case_report.h"
#include "fa_profile/gate_report.h"
#include "markdown_fold.h"
#include "markdown_text.h"
#include "safe_text.h"

namespace fa_profile::gate {
namespace {

// GitHub's limit in characters, applied to bytes.
constexpr std::size_t kMostBytes = 65536;
constexpr std::size_t kMostOverviewBytes = 24'000;
/// What a reader sees before unfolding anything: lines of the text, including blank ones, and the two around the fold.
constexpr std::size_t kMostShownLines = 40;
constexpr std::size_t kFoldLines = 3;
constexpr std::size_t kMostRows = 8;
constexpr std::size_t kMostBlock = 13;  // lines of reasons per case
constexpr std::size_t kMostIncomparable = 4;
constexpr std::size_t kRateCharacters = 500;

/// The lines before the fold: none twice.
class Overview {
 public:
  /// Room for this text and `reserved` more lines. Long texts of wide characters may not fill the whole comment.
  bool HasRoom(const std::vector<std::string>& lines, std::size_t shown, std::size_t reserved) const {
    std::size_t bytes = text_.size();
    for (std::size_t i = 0; i < shown; ++i) bytes += lines[i].size();
    return lines_ + shown + reserved + kFoldLines <= kMostShownLines && bytes <= kMostOverviewBytes;
  }
  void Put(const std::string& line) {
    if (!line.empty() && !seen_.insert(line).second) return;
    text_ += line + "\n";
    ++lines_;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::set<std::string> seen_;
  std::size_t lines_ = 0;
};

void PutHead(const GateResult& result, Overview& overview) {
  const std::string verdict = ToString(result.verdict);
  std::string headline = MarkdownProse(result.headline, kMarkdownCharacters);
  if (headline.empty()) headline = verdict;
  if (!headline.starts_with(verdict)) headline = verdict + ": " + headline;
  overview.Put(kCommentMarker);
  overview.Put("### " + headline);
  if (result.incomparable.empty()) return;
  overview.Put("");
  overview.Put("Baseline and candidate cannot be compared:");
  overview.Put("");
  const std::size_t shown = std::min(result.incomparable.size(), kMostIncomparable);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string prose = MarkdownProse(result.incomparable[i], kMarkdownCharacters);
    if (!prose.empty()) overview.Put("- " + prose);  // an empty item would make a heading of the line before it
  }
  if (result.incomparable.size() > shown)
    overview.Put(fmt::format("- and {} more", result.incomparable.size() - shown));
}

/// "3 REGRESSION, 289 PASS": counts the cases from `from` on.
std::string Counted(const std::vector<ToldCase>& cases, std::size_t from) {
  std::map<Verdict, std::size_t, std::greater<>> counts;
  for (std::size_t i = from; i < cases.size(); ++i) ++counts[cases[i].of.verdict];
  std::vector<std::string> texts;
  for (const auto& [verdict, count] : counts) texts.push_back(fmt::format("{} {}", count, ToString(verdict)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Puts the table's first rows; returns their number.
std::size_t PutTable(const CaseTable& table, const std::vector<ToldCase>& cases, Overview& overview) {
  if (cases.empty()) return 0;
  const std::string head = table.Head();
  const std::size_t line = head.find('\n');
  overview.Put("");
  overview.Put(head.substr(0, line));
  overview.Put(head.substr(line + 1));
  const std::size_t shown = std::min(cases.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) overview.Put(table.Row(cases[i]));
  if (shown == cases.size()) return shown;
  overview.Put("");
  overview.Put(fmt::format("And {} more, folded below: {}.", cases.size() - shown, Counted(cases, shown)));
  return shown;
}

std::vector<std::string> ReasonLines(const CaseReport& report, const std::string& indent) {
  std::vector<std::string> lines;
  for (const ReportLine& line : report.lines) {
    const std::string prose = MarkdownProse(line.text, kMarkdownCharacters);
    if (prose.empty()) continue;
    const bool below = line.cure && !lines.empty();  // the line that it cures; else that is the headline
    lines.push_back(fmt::format("{}{}- {}{}{}", indent, below ? "  " : "", line.cure ? "What to do: " : "", prose,
                                line.rule.empty() ? "" : " (" + MarkdownCode(line.rule) + ")"));
  }
  return lines;
}

/// The lines of one case, under its name if there are several cases. Empty: there is nothing to explain.
std::vector<std::string> BlockOf(const ToldCase& told, bool named, const CaseTable& table) {
  if (!named) return ReasonLines(told.report, "");
  std::vector<std::string> lines = ReasonLines(told.report, "  ");
  const std::string headline = table.HasHeadline(told) ? "" : MarkdownProse(told.of.headline, kMarkdownCharacters);
  if (lines.empty() && (headline.empty() || told.of.verdict == Verdict::kPass)) return {};
  lines.insert(lines.begin(), fmt::format("- {} {}{}", ToString(told.of.verdict), MarkdownCode(CaseTitle(told.of)),
                                          headline.empty() ? "" : ": " + headline));
  return lines;
}

std::vector<std::vector<std::string>> Blocks(const std::vector<ToldCase>& cases, const CaseTable& table) {
  std::vector<std::vector<std::string>> blocks;
  for (const ToldCase& told : cases) {
    std::vector<std::string> block = BlockOf(told, cases.size() > 1, table);
    if (!block.empty()) blocks.push_back(std::move(block));
  }
  return blocks;
}

/// Puts as many blocks as fit, leaving `reserved` lines; returns the rest, each with its own lines.
std::vector<std::string> PutBlocks(const std::vector<std::vector<std::string>>& blocks, std::size_t reserved,
                                   Overview& overview) {
  if (blocks.empty()) return {};
  overview.Put("");
  overview.Put("**Why**");
  overview.Put("");
  std::vector<std::string> rest;
  for (const std::vector<std::string>& block : blocks) {
    const std::size_t shown = std::min(block.size(), kMostBlock);
    const bool fits = rest.empty() && overview.HasRoom(block, shown, reserved + 2);
    for (std::size_t i = 0; fits && i < shown; ++i) overview.Put(block[i]);
    const auto left = block.begin() + static_cast<std::ptrdiff_t>(fits ? shown : 0);
    if (left != block.end()) rest.push_back(fmt::format("{}\n", fmt::join(left, block.end(), "\n")));
  }
  if (rest.empty()) return rest;
  overview.Put("");
  overview.Put(fmt::format("The reasons of {} more are folded below.", rest.size()));
  return rest;
}

/// "8 pairs of fresh processes", "8 to 14 pairs ..."; empty: none.
std::string PairCount(const std::vector<ToldCase>& cases) {
  std::set<int> counts;
  for (const ToldCase& told : cases) {
    for (const Comparison* const one : {told.report.time, told.report.cycles}) {
      if (one != nullptr && one->pairs > 0) counts.insert(one->pairs);
    }
  }
  if (counts.empty()) return {};
  const std::string most = std::to_string(*counts.rbegin());
  const std::string least = counts.size() == 1 ? "" : fmt::format("{} to ", *counts.begin());
  return least + most + " pairs of fresh processes";
}

std::string ControlText(const ControlResult& control) {
  const std::string reference =
      control.reference_change ? fmt::format("; reference kernel: {:+.2f} %", *control.reference_change * 100.0) : "";
  const std::string reason = MarkdownProse(control.reason, kMarkdownCharacters);
  return fmt::format("controls {} ({}{}){}{}", control.passed ? "passed" : "failed", ControlCounts(control), reference,
                     reason.empty() ? "" : ": ", reason);
}

/// Why to believe the times, in one line.
std::string TrustLine(const GateResult& result, const std::vector<ToldCase>& cases, const std::string& error_rate) {
  std::vector<std::string> parts;
  const std::string gpu = MarkdownProse(result.base.gpu_name, 80);
  const std::string pairs = PairCount(cases);
  const bool timed = std::ranges::any_of(cases, [](const ToldCase& told) { return told.report.time != nullptr; });
  const std::string rate = timed ? MarkdownProse(error_rate, kRateCharacters) : "";
  if (!gpu.empty()) parts.push_back(gpu);
  if (!pairs.empty()) parts.push_back(pairs);
  if (result.control) parts.push_back(ControlText(*result.control));
  if (!result.complete) parts.emplace_back("not everything was compared, see the notes");
  if (!rate.empty()) parts.push_back("error rate of this gate: " + rate);
  return parts.empty() ? "" : fmt::format("**Trust:** {}.", fmt::join(parts, "; "));
}

}  // namespace

std::string GateMarkdown(const GateResult& result, const std::string& error_rate) {
  std::vector<ToldCase> cases;
  for (const CaseVerdict& of : result.cases) cases.push_back({of, ReportOf(of)});
  FoldedContents folded{result, cases, CaseTable{result.design != "static"}, 0, {}};
  Overview overview;
  PutHead(result, overview);
  folded.rows = PutTable(folded.table, cases, overview);
  const std::string trust = TrustLine(result, cases, error_rate);
  folded.reasons = PutBlocks(Blocks(cases, folded.table), trust.empty() ? 0 : 2, overview);
  if (!trust.empty()) {
    overview.Put("");
    overview.Put(trust);
  }
  return overview.text() + FoldedMarkdown(folded, kMostBytes - overview.text().size());
}

}  // namespace fa_profile::gate
