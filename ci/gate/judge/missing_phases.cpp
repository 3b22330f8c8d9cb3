#include <fmt/core.h>

#include <algorithm>

#include "judge.h"

namespace fa_profile::gate {
namespace {

/// Where the code is not known a phase is missing only if it had this share: a short one may have had no sample.
constexpr double kLeastShare = 0.05;

bool HasCodeOf(const CaseFacts& facts, const std::string& phase) {
  return std::ranges::any_of(facts.code, [&](const CodeFacts& code) { return code.counts.contains(phase); });
}

}  // namespace

void JudgeMissingPhases(const JudgeContext& context, CaseWork& work) {
  if (work.candidate_shares.empty()) return;  // JudgeCounters() asks for counters of phases
  const bool code_known = !work.base->code.empty() && !work.candidate->code.empty();
  for (const auto& [phase, share] : work.base_shares) {
    if (work.candidate_shares.contains(phase) || phase == kUnattributed) continue;
    const bool gone =
        code_known ? HasCodeOf(*work.base, phase) && !HasCodeOf(*work.candidate, phase) : share >= kLeastShare;
    const Demand demand = context.DemandOn(work, phase, kPhaseTime);
    if (!gone || demand.severity == Severity::kOff) continue;
    Comparison comparison = Compared({phase, kPhaseTime}, share, {});
    comparison.tier = 2;
    Add(work, std::move(comparison), Verdict::kMissing, demand.severity == Severity::kError,
        fmt::format("the candidate has no phase {}, which had {} of the time", OneLine(phase, 40), Percent(share)));
  }
}

}  // namespace fa_profile::gate
