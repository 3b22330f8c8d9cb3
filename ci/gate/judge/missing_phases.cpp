#include <fmt/core.h>

#include <algorithm>

#include "judge.h"

namespace fa_profile::gate {
namespace {

/// A phase with a smaller share may have had no sample.
constexpr double kLeastShare = 0.05;

bool HasCodeOf(const CaseFacts& facts, const std::string& phase) {
  return std::ranges::any_of(facts.code, [&](const CodeFacts& code) { return code.counts.contains(phase); });
}

bool CodeIsKnown(const CaseWork& work) { return !work.base->code.empty() && !work.candidate->code.empty(); }

}  // namespace

bool LostItsSamples(const CaseWork& work, const std::string& phase) {
  const auto share = work.base_shares.find(phase);
  if (share == work.base_shares.end() || share->second < kLeastShare || work.candidate == nullptr) return false;
  return !work.candidate_shares.empty() && !work.candidate_shares.contains(phase) && CodeIsKnown(work) &&
         HasCodeOf(*work.candidate, phase);
}

void JudgeMissingPhases(const JudgeContext& context, CaseWork& work) {
  if (work.candidate_shares.empty()) return;  // JudgeCounters() requires counters of phases
  for (const auto& [phase, share] : work.base_shares) {
    if (work.candidate_shares.contains(phase) || phase == kUnattributed) continue;
    const bool lost = LostItsSamples(work, phase);
    const bool gone =
        CodeIsKnown(work) ? HasCodeOf(*work.base, phase) && !HasCodeOf(*work.candidate, phase) : share >= kLeastShare;
    const Demand demand = context.DemandOn(work, phase, kPhaseTime);
    if ((!gone && !lost) || demand.severity == Severity::kOff) continue;
    Comparison comparison = Compared({phase, kPhaseTime}, share, {});
    comparison.tier = 2;
    Add(work, std::move(comparison), lost ? Verdict::kInconclusive : Verdict::kMissing,
        demand.severity == Severity::kError,
        fmt::format("the candidate has no {} {}, which had {} of the time", lost ? "sample of" : "phase",
                    OneLine(phase, 40), Percent(share)));
  }
}

}  // namespace fa_profile::gate
