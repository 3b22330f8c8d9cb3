#include "finding_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/findings.h"
#include "fa_profile/lint.h"
#include "fa_profile/units.h"
#include "finding_thresholds.h"

namespace fa_profile::analyze {
namespace {

/// The thresholds' names in texts: changing a number changes what --explain says.
std::string WithThresholds(std::string_view text) {
  const auto percent = [](double ratio) { return Percent(ratio, 0); };
  return fmt::format(fmt::runtime(text),                                                        //
                     fmt::arg("serial_threads", kSerialThreads),                                //
                     fmt::arg("serial_time", percent(kSerialTime)),                             //
                     fmt::arg("tensor_idle", percent(kTensorIdle)),                             //
                     fmt::arg("most_time", percent(kMostTime)),                                 //
                     fmt::arg("tensor_work", FormatValue(kTensorWork, "count")),                //
                     fmt::arg("conflicts", percent(kConflicts)),                                //
                     fmt::arg("small_phase", percent(kSmallPhase)),                             //
                     fmt::arg("coalescing", percent(kCoalescing)),                              //
                     fmt::arg("sectors_per_load", kSectorsPerLoad),                             //
                     fmt::arg("local_traffic", percent(kLocalTraffic)),                         //
                     fmt::arg("few_warps", percent(kFewWarps)),                                 //
                     fmt::arg("latency_stalls", percent(kLatencyStalls)),                       //
                     fmt::arg("idle_issue_slots", percent(kIdleIssueSlots)),                    //
                     fmt::arg("busy_pipe", percent(kBusyPipe)),                                 //
                     fmt::arg("small_grid", kSmallGrid),                                        //
                     fmt::arg("exponentials", percent(kExponentials)),                          //
                     fmt::arg("reduced_clock", percent(kReducedClock)),                         //
                     fmt::arg("gaps", percent(kGaps)),                                          //
                     fmt::arg("softmax_bound", percent(kSoftmaxBound)),                         //
                     fmt::arg("computed_again", kComputedAgain),                                //
                     fmt::arg("setup", percent(kSetup)),                                        //
                     fmt::arg("little_overlap", percent(kLittleOverlap)),                       //
                     fmt::arg("late_copy", percent(kLateCopy)),                                 //
                     fmt::arg("copy_wait", percent(kCopyWait)),                                 //
                     fmt::arg("low_theoretical_occupancy", percent(kLowTheoreticalOccupancy)),  //
                     fmt::arg("row_loop_depth", kRowLoopDepth));
}

/// Where a section's text goes; `list`: for "By stall reason".
std::string& Section(FindingRule& rule, std::string& list, std::string_view name) {
  if (name == "Fires when") return rule.condition;
  if (name == "Weight") return rule.weight;
  if (name == "Source") return rule.source;
  if (name == "What to do") return rule.cure;
  if (name == "By stall reason") return list;
  throw Error(fmt::format("the text of finding '{}' has a section '{}', which is not known", rule.id, name));
}

const FindingRule& Require(const std::vector<FindingRule>& rules, std::string_view id) {
  if (const FindingRule* const rule = FindRule(rules, id)) return *rule;
  std::vector<std::string> ids;
  for (const FindingRule& rule : rules) ids.push_back(rule.id);
  throw Error(fmt::format("there is no finding '{}'{}", id, DidYouMean(id, ids)),
              fmt::format("the findings are {}", fmt::join(ids, ", ")));
}

}  // namespace

FindingRule ReadFindingText(std::string_view id) {
  const auto found = std::ranges::find(FindingTexts(), id, &EmbeddedText::id);
  if (found == FindingTexts().end()) {
    throw Error(fmt::format("the text of the finding '{}' is missing", id),
                fmt::format("add {}.md to profiler/analyze/findings/report/ or lint/, and build again", id));
  }
  FindingRule rule;
  rule.id = id;
  std::string stalls;
  std::string* section = &rule.story;
  bool new_paragraph = false;
  std::istringstream lines(WithThresholds(found->text));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) {
      rule.title = line.substr(2);
    } else if (line.starts_with("## ")) {
      section = &Section(rule, stalls, std::string_view(line).substr(3));
    } else if (!line.empty()) {
      if (!section->empty()) *section += new_paragraph || line.starts_with("- ") ? '\n' : ' ';
      *section += line.substr(line.find_first_not_of(' '));
    }
    new_paragraph = line.empty();
  }
  std::istringstream items(stalls);  // "- reason: what helps"
  for (std::string item; std::getline(items, item);) {
    const std::size_t colon = item.find(": ");
    rule.cure_of_stall[item.substr(2, colon - 2)] = item.substr(colon + 2);
  }
  return rule;
}

const FindingRule* FindRule(const std::vector<FindingRule>& rules, std::string_view id) {
  const auto found = std::ranges::find(rules, id, &FindingRule::id);
  return found == rules.end() ? nullptr : &*found;
}

const FindingRule& RequireFinding(std::string_view id) {
  if (FindRule(LintRules(), id) != nullptr) {
    throw Error(fmt::format("'{}' is a finding of lint, not of a report", id),
                fmt::format("fa-profile lint --explain {}", id));
  }
  return Require(FindingRules(), id);
}

const FindingRule& RequireLintFinding(std::string_view id) {
  if (FindRule(FindingRules(), id) != nullptr) {
    throw Error(fmt::format("'{}' is a finding of a report, not of lint", id),
                fmt::format("fa-profile report FILE.fap --explain {}", id));
  }
  return Require(LintRules(), id);
}

}  // namespace fa_profile::analyze
