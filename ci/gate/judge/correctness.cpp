#include <fmt/core.h>

#include "judge.h"

namespace fa_profile::gate {
namespace {

enum class Correctness { kUnknown, kCorrect, kWrong, kRefused };

/// A verification without draws and without an error proves nothing.
Correctness Of(const CaseFacts* facts) {
  if (facts == nullptr) return Correctness::kUnknown;
  if (!facts->refused.empty() && (!facts->verification || facts->verification->correct())) return Correctness::kRefused;
  if (!facts->verification) return Correctness::kUnknown;
  const Verification& verification = *facts->verification;
  if (verification.correct()) return Correctness::kCorrect;
  return verification.draws == 0 && verification.error.empty() ? Correctness::kUnknown : Correctness::kWrong;
}

/// What is wrong, in plain words.
std::string Wrong(const CaseFacts& facts) {
  if (Of(&facts) == Correctness::kRefused) return "not certified: " + OneLine(facts.refused, 300);
  const Verification& verification = *facts.verification;
  if (!verification.error.empty()) return "it fails to run: " + OneLine(verification.error);
  if (verification.nonfinite > 0) return fmt::format("{} outputs are NaN or infinite", verification.nonfinite);
  if (verification.unwritten > 0) return fmt::format("{} outputs are not written", verification.unwritten);
  return fmt::format("the error is {:.4g} times the tolerance (largest error {:.4g}), {} of {} draws passed",
                     verification.max_error_ratio, verification.max_abs_error, verification.draws_passed,
                     verification.draws);
}

}  // namespace

void JudgeCorrectness(const JudgeContext& context, CaseWork& work) {
  const Correctness before = Of(work.base);
  const Correctness after = Of(work.candidate);
  if (work.candidate == nullptr) return;
  const auto flag = [](Correctness of) {
    return of == Correctness::kUnknown ? std::nullopt : std::optional(of == Correctness::kCorrect ? 1.0 : 0.0);
  };
  const auto add = [&](Verdict verdict, const std::string& reason) {
    Comparison comparison = Compared({"", "correct"}, flag(before), flag(after));
    comparison.change.reset();
    Add(work, std::move(comparison), verdict, true, reason);
  };
  const auto works = [](Correctness of) { return of == Correctness::kUnknown || of == Correctness::kCorrect; };
  if (!works(after)) {
    work.verdict.incorrect = true;
    work.compare_speed = false;
    work.verdict.refused = after == Correctness::kRefused;
    const std::string wrong = (work.verdict.refused ? "" : "wrong: ") + Wrong(*work.candidate);
    if (works(before) || (before == Correctness::kRefused && after == Correctness::kWrong)) {
      add(Verdict::kRegression, wrong);
    } else if (before == Correctness::kWrong && after == Correctness::kWrong) {
      add(Verdict::kInconclusive, "wrong in base and candidate: " + Wrong(*work.candidate));
    } else {
      add(Verdict::kInconclusive, wrong + "; so was the base: " + Wrong(*work.base));
    }
  } else if (before == Correctness::kRefused) {
    // The base never had its result: being faster or slower than that means nothing.
    work.compare_speed = false;
    add(Verdict::kInconclusive, "the base is " + Wrong(*work.base));
  } else if (before == Correctness::kWrong) {
    // The time of a wrong kernel means nothing, and without verification the candidate may still be wrong.
    work.compare_speed = false;
    const bool mended = after == Correctness::kCorrect;
    add(mended ? Verdict::kImproved : Verdict::kInconclusive,
        (mended ? "correct now; in the base " : "not verified; in the base ") + Wrong(*work.base));
  } else if (before == Correctness::kCorrect && after == Correctness::kUnknown && context.Dynamic()) {
    add(Verdict::kInconclusive, "not verified, unlike the base: verify it in the same run (--draws)");
  }
  if (!work.compare_speed) return;
  // A library can cause this, with a process that it leaves behind.
  for (const CaseFacts* side : {work.candidate, work.base}) {
    if (side == nullptr || side->untimed.empty()) continue;
    work.compare_speed = false;
    return add(Verdict::kInconclusive, "the judge cannot time it: " + OneLine(side->untimed, 300));
  }
}

}  // namespace fa_profile::gate
