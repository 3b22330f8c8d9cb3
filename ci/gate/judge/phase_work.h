#pragma once

#include <string>

#include "phase_story.h"

namespace fa_profile::gate {

/// Logarithm of the factor by which a counter changed; infinite from or to 0.
double Distance(const Comparison& comparison);

/// The comparison that best shows that a phase does more work: among its counts that tier 1 calls worse, the one that
/// grew by the largest factor. Null: it does no more. Valid until the case's comparisons change.
const Comparison* MoreWork(const CaseVerdict& verdict, const std::string& phase);

/// The phase that does more work, if it is the only one and its own warps spend more time in it, waits included. Time
/// of waiting warps counts for the phase that they wait for; if phases overlap, that phase need not have changed.
/// Empty: no such phase, or several.
std::string OnlyPhaseWithMoreWork(const JudgeContext& context, const CaseWork& work, const Shares& shares);

/// Missing registers are spilled wherever the compiler chose, which slows down whatever waits for them there and
/// elsewhere. Returns the largest growth of local sectors, if it is at least a twentieth of its phase's instructions,
/// and if the phases with such growth account for half of the kernel's growth, waits included. Null: no such growth.
/// Valid until the case's comparisons change.
const Comparison* MostSpills(const JudgeContext& context, const CaseWork& work, const Shares& shares);

/// The phase whose warps wait longer for asynchronous copies and other roles, if that wait grew by more than the warp
/// time of any other phase. Those waits are in no phase's time. Empty: no such phase.
std::string PhaseThatWaitsMore(const JudgeContext& context, const CaseWork& work, const Shares& shares);

/// "sync waits 25.5 % of the warps' time (was 11.5 %)".
std::string WaitLine(const JudgeContext& context, const CaseWork& work, const std::string& phase);

/// "softmax executes 21 % more instructions", "sync executes 147,456 barriers instead of none".
std::string WorkLine(const Comparison& more);

}  // namespace fa_profile::gate
