#include <fmt/format.h>

#include <algorithm>

#include "case_report.h"
#include "fa_profile/gate_report.h"
#include "safe_text.h"

namespace fa_profile::gate {
namespace {

constexpr std::size_t kWidth = 100;

class Page {
 public:
  /// `lead`, then words wrapped at the width; the following lines are indented by `indent`.
  void Put(const std::string& lead, std::string_view text, std::size_t indent) {
    std::string line = lead;
    bool empty = true;  // no words yet
    const auto end_line = [&] {
      text_ += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line.assign(indent, ' ');
      empty = true;
    };
    const std::string safe = SafeLine(text, 2000);
    for (std::size_t start = 0; start < safe.size();) {
      const std::size_t end = std::min(safe.find(' ', start), safe.size());
      const std::string word = Harmless(safe.substr(start, end - start));
      start = end + 1;
      if (word.empty()) continue;
      if (!empty && CountCharacters(line) + 1 + CountCharacters(word) > kWidth) end_line();
      line += (empty ? "" : " ") + word;
      empty = false;
    }
    end_line();
  }
  /// Not wrapped: meant for copying, or one of several lines to compare.
  void Unwrapped(const std::string& lead, std::string_view text) {
    text_ += lead + Harmless(SafeLine(text, 4096)) + "\n";
  }
  void Line(const std::string& text = {}) { text_ += text + "\n"; }
  std::string Finish() { return std::move(text_); }

 private:
  /// A CI system obeys "::name" at the start of a line and "##[name]" anywhere in it.
  static std::string Harmless(const std::string& word) {
    std::string harmless;
    for (std::size_t i = 0; i < word.size(); ++i) {
      harmless += word[i];
      if ((i == 0 && word.starts_with("::")) || std::string_view(word).substr(i).starts_with("##[")) harmless += ' ';
    }
    return harmless;
  }
  std::string text_;
};

std::string Padded(const std::string& text, std::size_t width) {
  const std::size_t used = CountCharacters(text);
  return text + std::string(used < width ? width - used : 0, ' ');
}

void PutComparison(Page& page, const Comparison& c, const std::string& design) {
  const std::string interval = ShownInterval(c);
  std::string numbers = ShownNumbers(c);
  if (!interval.empty()) numbers += " (95 %: " + interval + ")";
  const std::string p = ShownP(c);
  const std::string tier = TierName(c.tier, design);
  if (tier != "times") numbers += ", " + tier;  // the metric says it
  if (p != "-") numbers += ", p " + p;
  if (c.pairs > 0) numbers += fmt::format(", {} pairs", c.pairs);
  if (c.verdict != Verdict::kPass) numbers += ": " + VerdictText(c);
  page.Put("  ", MetricTitle(c) + ": " + numbers, 6);
}

/// `reason` and the line of its rule.
void PutReason(Page& page, const Comparison& c, const std::string& reason) {
  const std::string rule = c.rule.empty() || c.reason.empty() ? "" : "(" + c.rule + ")";
  if (reason.empty() && rule.empty()) return;
  page.Put("      ", reason + (reason.empty() || rule.empty() ? "" : " ") + rule, 6);
}

void PutCase(Page& page, const CaseVerdict& of, const std::string& design) {
  page.Put(Padded(ToString(of.verdict), 13), CaseTitle(of) + (of.headline.empty() ? "" : ": " + of.headline), 13);
  const CaseReport report = ReportOf(of);
  if (report.time != nullptr) PutComparison(page, *report.time, design);
  if (report.cycles != nullptr) PutComparison(page, *report.cycles, design);
  for (const ReportLine& line : report.lines) {
    page.Put(line.cure ? "    what to do: " : "  - ", line.text + (line.rule.empty() ? "" : " (" + line.rule + ")"), 4);
  }
  for (const Comparison* const other : report.others) {
    PutComparison(page, *other, design);
    PutReason(page, *other, OwnReason(*other));
  }
}

}  // namespace

std::string GateText(const GateResult& result) {
  Page page;
  const std::string verdict = ToString(result.verdict);
  page.Put("", result.headline.starts_with(verdict) ? result.headline : verdict + ": " + result.headline, 2);
  const Blockers blockers = BlockersOf(result);
  if (!blockers.lines.empty()) page.Line("blocked by");
  for (const std::string& line : blockers.lines) page.Unwrapped("  - ", line);
  if (blockers.more > 0) page.Line(fmt::format("  - {} more; --json FILE writes all", blockers.more));
  page.Line();
  for (const std::string& reason : result.incomparable) page.Put("  cannot be compared: ", reason, 4);
  if (!result.incomparable.empty()) page.Line();
  for (const CaseVerdict& of : result.cases) PutCase(page, of, result.design);
  if (!result.cases.empty()) page.Line();
  page.Put("baseline   ", result.base_origin + (result.base.gpu_name.empty() ? "" : ", " + result.base.gpu_name), 11);
  page.Put("candidate  ",
           result.candidate_origin + (result.candidate.gpu_name.empty() ? "" : ", " + result.candidate.gpu_name), 11);
  if (result.control) {
    const ControlResult& control = *result.control;
    std::string text = fmt::format("{}; {}", control.passed ? "passed" : "failed", ControlCounts(control));
    if (control.reference_change)
      text += fmt::format("; reference kernel {:+.2f} %", *control.reference_change * 100.0);
    page.Put("controls   ", text + (control.reason.empty() ? "" : "; " + control.reason), 11);
  }
  for (const std::string& note : result.notes) page.Put("note       ", note, 11);
  if (!result.reproduce.empty()) page.Unwrapped("reproduce  ", result.reproduce);
  return page.Finish();
}

}  // namespace fa_profile::gate
