#include "fa_profile/explain.h"

#include <algorithm>
#include <sstream>

#include "fa_profile/call_name.h"
#include "fa_profile/text_page.h"

namespace fa_profile::exporters {
void WriteExplanation(std::ostream& out, const FindingRule& rule, const ReportOptions& options) {
  TextPage page(out, options);
  page.Paragraph({}, rule.id + ": " + rule.title);
  std::istringstream story(rule.story);
  for (std::string paragraph; std::getline(story, paragraph);) {
    page.Line();
    page.Paragraph({}, paragraph);
  }
  page.Line();
  page.Paragraph("fires when  ", rule.condition);
  if (!rule.weight.empty()) page.Paragraph("weight      ", rule.weight);
  page.Paragraph("source      ", rule.source);
  page.Paragraph("what to do  ", rule.cure);
  for (const auto& [reason, cure] : rule.cure_of_stall) page.Paragraph("  " + reason + ": ", cure);
}

void WriteExplanation(std::ostream& out, const FindingRule& rule, const Profile& profile,
                      const ReportOptions& options) {
  WriteExplanation(out, rule, options);
  TextPage page(out, options);
  page.Line();
  bool found = false;
  for (const ProfileEntry& entry : profile.entries) {
    for (const Finding& finding : entry.findings) {
      if (finding.id != rule.id) continue;
      if (!found) page.Line("In this recording:");
      found = true;
      page.Paragraph("  - ", page.Safe(CallName(entry.kernel, entry.shape, entry.part) + ": " + finding.evidence));
    }
  }
  if (!found) page.Line("This recording does not have it.");
}

bool WriteLosses(std::ostream& out, const std::string& kind, const Profile& profile, const ReportOptions& options) {
  if (std::ranges::find(profile.losses, kind, &DataLoss::kind) == profile.losses.end()) return false;
  TextPage page(out, options);
  page.Paragraph({}, page.Safe(kind) + ": not a finding, but something that this recording lacks or that disturbed it");
  page.Line();
  for (const DataLoss& loss : profile.losses) {
    if (loss.kind == kind) page.Paragraph("  - ", page.Safe(loss.subject + ": " + loss.reason));
  }
  return true;
}

}  // namespace fa_profile::exporters
