#include <algorithm>
#include <cmath>

#include "fa_profile/judge.h"

namespace fa_profile::judge {

JudgedTime TimeOf(const Answer& answer) {
  const Judgement& judged = answer.judgement;
  const auto usable = [](const std::vector<double>& durations) {
    return !durations.empty() && std::ranges::all_of(durations, [](double ns) { return std::isfinite(ns) && ns > 0; });
  };
  if (!answer.why_not.empty()) return {{}, answer.why_not, {}, {}};
  if (!answer.verification.error.empty()) return {{}, answer.verification.error, {}, {}};
  switch (judged.verdict) {
    case Judgement::Verdict::kWrong:
    case Judgement::Verdict::kRefused:
      return {{}, {}, judged.reason, {}};
    case Judgement::Verdict::kCertified:
      if (usable(judged.durations_ns)) return {judged.durations_ns, {}, {}, {}};
      return {{}, "the judge saw no time", {}, {}};
    default:
      return {{}, {}, {}, judged.reason};
  }
}

}  // namespace fa_profile::judge
