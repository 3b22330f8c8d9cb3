#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "case_report.h"
#include "fa_profile/gate_report.h"
#include "safe_text.h"

namespace fa_profile::gate {
namespace {

// GitHub shows ten annotations of a kind per step and drops the rest.
constexpr std::size_t kMostAnnotations = 10;

/// Escaped as in actions/toolkit: otherwise a text could end the command, or its property, and begin another.
std::string Escaped(const std::string& text, bool property) {
  const std::string_view special = property ? "%\r\n:," : "%\r\n";
  std::string escaped;
  for (const char c : text) {
    escaped += special.find(c) == std::string_view::npos ? std::string(1, c) : fmt::format("%{:02X}", c);
  }
  return escaped;
}

struct Annotation {
  bool error;
  std::string line;
};

Annotation Annotate(bool error, const std::optional<SourcePlace>& place, const std::string& title,
                    const std::string& message) {
  std::string line = error ? "::error " : "::warning ";
  if (const std::optional<SourcePlace> inside = PlaceInside(place)) {
    line += "file=" + Escaped(inside->file, true) + ",line=" + std::to_string(inside->line) + ",";
  }
  line += "title=" + Escaped(SafeLine(title, 200), true) + "::" + Escaped(SafeLine(message, 1000), false) + "\n";
  return {error, line};
}

}  // namespace

std::string GateAnnotations(const GateResult& result) {
  std::vector<Annotation> annotations;
  for (const CaseVerdict& of : result.cases) {  // worst first
    if (IsBad(of.verdict)) {
      std::string message = of.headline.empty() ? ToString(of.verdict) : of.headline;
      for (const std::string& line : WhyAndFindings(of)) {
        if (message.find(line) != std::string::npos) continue;  // the headline may be one of them, or begin one
        const std::size_t colon = std::min(line.find(": "), line.size());
        const bool goes_on = colon < line.size() && message.ends_with(line.substr(0, colon));
        message += goes_on ? line.substr(colon) : "; " + line;
      }
      annotations.push_back(
          Annotate(of.verdict == Verdict::kRegression, of.place, ToString(of.verdict) + " " + CaseTitle(of), message));
      continue;
    }
    for (const Comparison& c : of.comparisons) {  // a case that passes can have a warning
      if (!IsBad(c.verdict)) continue;
      annotations.push_back(Annotate(false, of.place, "Warning " + CaseTitle(of),
                                     MetricTitle(c) + " " + ShownChange(c) + ": " + c.reason));
      break;
    }
  }
  // A verdict without a case: a failed control, environments that cannot be compared.
  if (annotations.empty() && IsBad(result.verdict)) {
    annotations.push_back(
        Annotate(result.verdict == Verdict::kRegression, std::nullopt, ToString(result.verdict), result.headline));
  }
  std::ranges::stable_sort(annotations, [](const Annotation& a, const Annotation& b) { return a.error > b.error; });
  if (annotations.size() > kMostAnnotations) annotations.resize(kMostAnnotations);
  std::string text;
  for (const Annotation& annotation : annotations) text += annotation.line;
  return text;
}

}  // namespace fa_profile::gate
