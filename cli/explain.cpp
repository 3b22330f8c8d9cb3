#include "explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "fa_profile/call_name.h"
#include "fa_profile/error.h"
#include "fa_profile/findings.h"
#include "fa_profile/lint.h"

namespace fa_profile {
namespace {

constexpr std::size_t kIndent = 12;

/// Words wrapped at the width; lines after the first are indented.
void Wrap(std::ostream& out, const std::string& lead, const std::string& text, std::size_t indent, std::size_t width) {
  std::string line = lead;
  line.resize(std::max(line.size(), indent), ' ');
  bool first = line.empty() || line.back() == ' ';
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!first && line.size() + 1 + word.size() > width) {
      out << line << '\n';
      line.assign(indent, ' ');
      first = true;
    }
    line += (first ? "" : " ") + word;
    first = false;
  }
  out << line << '\n';
}

}  // namespace

void RequireFinding(const std::string& id) {
  if (FindFindingRule(id) != nullptr) return;
  std::vector<std::string> ids;
  for (const FindingRule& rule : FindingRules()) ids.push_back(rule.id);
  if (std::ranges::find(LintRules(), id, &FindingRule::id) != LintRules().end()) {
    throw Error("'" + id + "' is a finding of lint, not of a report", "fa-profile lint --explain " + id);
  }
  throw Error("there is no finding '" + id + "'" + DidYouMean(id, ids),
              fmt::format("the findings are {}", fmt::join(ids, ", ")));
}

void ExplainRule(std::ostream& out, const FindingRule& rule, int width) {
  const auto columns = static_cast<std::size_t>(width);
  out << rule.id << ": " << rule.title << "\n\n";
  std::istringstream paragraphs(rule.story);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    Wrap(out, {}, paragraph, 0, columns);
    out << '\n';
  }
  Wrap(out, "fires when", rule.condition, kIndent, columns);
  if (!rule.weight.empty()) Wrap(out, "weight", rule.weight, kIndent, columns);
  Wrap(out, "source", rule.source, kIndent, columns);
  Wrap(out, "cure", rule.cure, kIndent, columns);
}

void Explain(std::ostream& out, const std::string& id, const Profile& profile, int width) {
  RequireFinding(id);
  ExplainRule(out, *FindFindingRule(id), width);
  const auto columns = static_cast<std::size_t>(width);
  out << '\n';
  std::size_t found = 0;
  for (const ProfileEntry& entry : profile.entries) {
    for (const Finding& finding : entry.findings) {
      if (finding.id != id) continue;
      if (found++ == 0) out << "In this recording:\n";
      Wrap(out, "  " + CallName(entry.kernel, entry.shape, entry.part) + ":", finding.evidence, 4, columns);
    }
  }
  if (found == 0) out << "Nowhere in this recording.\n";
}

}  // namespace fa_profile
