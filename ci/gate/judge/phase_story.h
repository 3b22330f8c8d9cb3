#pragma once

#include <map>
#include <string>
#include <vector>

#include "judge.h"

namespace fa_profile::gate {

/// Phases of a case, base and candidate.
struct Shares {
  std::map<std::string, double> before, after;  ///< of the own kernel's time
  std::map<std::string, double> growth;         ///< in shares of the base kernel's time
  double total = 0.0;                           ///< growth of the whole kernel; 0: unknown
};

/// Least growth of a phase that counts: one point of the base kernel's time.
inline constexpr double kPhaseLine = 0.01;

Shares SharesOf(const JudgeContext& context, const CaseWork& work);

/// What a phase costs now, and what became of its share, which may move the other way: "softmax costs 12 % more and its
/// share falls from 45.0 to 40.0 %". Empty: no change that can be printed.
std::string PhaseLine(const Shares& shares, const std::string& phase);

/// The same without the shares, unless they move the other way: "softmax costs 93 % more".
std::string PhaseCost(const Shares& shares, const std::string& phase);

/// Every phase grew as the kernel did, as far as that can be told: none of them is the cause.
bool AllAlike(const Shares& shares);

/// The lines of the phases that grew most or, if `better`, shrank most; one line if all changed alike.
std::vector<std::string> PhaseLines(const Shares& shares, bool better);

/// From here on a growth is told as a factor.
inline constexpr double kFactorFrom = 2.0;

/// "11.8 %", "54 times" of what was.
std::string MoreBy(double ratio);

}  // namespace fa_profile::gate
