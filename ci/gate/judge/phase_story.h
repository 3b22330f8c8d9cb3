#pragma once

#include <map>
#include <string>
#include <vector>

#include "judge.h"

namespace fa_profile::gate {

/// Phases of a case in base and candidate.
struct Shares {
  std::map<std::string, double> before, after;  ///< shares of that side's kernel time
  std::map<std::string, double> growth;         ///< in shares of the base kernel's time
  double total = 0.0;                           ///< growth of the whole kernel; 0: unknown
};

/// Least growth of a phase that counts: one point of the base kernel's time.
inline constexpr double kPhaseLine = 0.01;

Shares SharesOf(const JudgeContext& context, const CaseWork& work);

/// Least growth that explains part of the kernel's: a point, and a twentieth of the kernel's growth.
double LeastGrowth(const Shares& shares);

/// A phase's change in cost, and in its share, which may move the other way: "softmax costs 12 % more and its share
/// falls from 45.0 to 40.0 %". Empty: no change that can be printed.
std::string PhaseLine(const Shares& shares, const std::string& phase);

/// The same without the shares, unless they move the other way: "softmax costs 93 % more".
std::string PhaseCost(const Shares& shares, const std::string& phase);

/// The kernel is slower as a whole: no phase is the cause.
bool EveryPhaseIsSlower(const Shares& shares);

/// Among the phases that grew more than the kernel, the one that grew most; empty: no phases are known.
std::string CauseOf(const Shares& shares);

/// The lines of the phases that grew most or, if `better`, shrank most. If every phase is slower, a line that says it
/// and those of phases that are slower than the others.
std::vector<std::string> PhaseLines(const Shares& shares, bool better);

/// A growth of this ratio or more is written as a factor.
inline constexpr double kFactorFrom = 2.0;

/// "11.8 %", or "54 times" the former value.
std::string MoreBy(double ratio);

}  // namespace fa_profile::gate
