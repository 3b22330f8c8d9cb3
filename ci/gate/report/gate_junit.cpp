#include <fmt/format.h>

#include <array>

#include "case_report.h"
#include "fa_profile/gate_report.h"
#include "safe_text.h"

namespace fa_profile::gate {
namespace {

std::string Escaped(std::string_view text, std::size_t most = 1000) {
  constexpr std::array<std::string_view, 5> kEntities = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
  constexpr std::string_view kSpecial = "&<>\"'";
  std::string escaped;
  for (const char c : SafeLine(text, most)) {
    const std::size_t special = kSpecial.find(c);
    escaped += special == std::string_view::npos ? std::string_view(&c, 1) : kEntities[special];
  }
  return escaped;
}

/// In JUnit a regression is a failure, a wrong result an error, and an unclear verdict is skipped.
struct Suite {
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  std::string cases;

  void Add(const std::string& name, Verdict verdict, bool incorrect, const std::string& message,
           const std::vector<std::string>& lines) {
    ++tests;
    cases += fmt::format("    <testcase classname=\"fa_profile.gate\" name=\"{}\"", Escaped(name));
    if (!IsBad(verdict)) {
      if (lines.empty()) {
        cases += "/>\n";
        return;
      }
      cases += ">\n      <system-out>";
      for (std::size_t i = 0; i < lines.size(); ++i) cases.append(i == 0 ? "" : "\n").append(Escaped(lines[i]));
      cases += "</system-out>\n    </testcase>\n";
      return;
    }
    const bool failed = verdict == Verdict::kRegression;
    const char* const element = !failed ? "skipped" : incorrect ? "error" : "failure";
    ++(!failed ? skipped : incorrect ? errors : failures);
    cases += fmt::format(">\n      <{} type=\"{}\" message=\"{}\">", element,
                         incorrect ? "INCORRECT" : ToString(verdict), Escaped(message));
    for (const std::string& line : lines) cases.append("\n").append(Escaped(line));
    cases += fmt::format("</{}>\n    </testcase>\n", element);
  }
};

}  // namespace

std::string GateJunit(const GateResult& result) {
  Suite suite;
  bool told = false;
  for (const CaseVerdict& of : result.cases) {
    // For a case that passes, only the warnings.
    std::vector<std::string> lines = IsBad(of.verdict) ? WhyAndFindings(of) : std::vector<std::string>();
    for (const Comparison& c : of.comparisons) {
      if (!IsBad(c.verdict)) continue;
      lines.push_back(fmt::format("{}: {} {}{}{}", VerdictText(c), MetricTitle(c), ShownNumbers(c),
                                  c.reason.empty() ? "" : ": ", c.reason));
    }
    suite.Add(CaseTitle(of), of.verdict, of.incorrect, of.headline.empty() ? ToString(of.verdict) : of.headline, lines);
    told = told || of.verdict == result.verdict;
  }
  // The run's verdict, if no case has it: a failed control or a run without cases must not look like a pass.
  if (!told) {
    std::vector<std::string> lines = result.incomparable;
    if (result.control && !result.control->reason.empty()) lines.push_back(result.control->reason);
    suite.Add("the run as a whole", result.verdict, false, result.headline, lines);
  }
  const std::string counts = fmt::format("name=\"fa-profile gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\"",
                                         suite.tests, suite.failures, suite.errors);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite {0} skipped=\"{1}\">\n{2}  "
      "</testsuite>\n"
      "</testsuites>\n",
      counts, suite.skipped, suite.cases);
}

}  // namespace fa_profile::gate
