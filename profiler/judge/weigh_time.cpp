#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fa_profile/verification.h"
#include "trial.h"

namespace fa_profile::judge {
namespace {

// Of the instructions of a verified call that a timed one may lack: waiting loops differ from run to run.
constexpr double kInstructionSlack = 0.02;
constexpr double kTensorSlack = 0.05;
constexpr double kTensorPart =
    0.02;  // of the SM cycles; fewer tensor cycles are noise: kernels without products have some
// A call in a chain may take less than one alone, by the gap between graphs and by what dependent launch hides.
constexpr double kGapNs = 3000.0;
constexpr double kChainPart = 0.65;

double Median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

// Whether the timed calls did the work of the verified ones, all of it while they were timed.
void Trial::WeighTime() {
  Judgement& judged = answer_.judgement;
  judged.instructions = alone_.sum.instructions / alone_.calls;
  judged.tensor_cycles = alone_.sum.tensor_cycles / alone_.calls;
  judged.sm_cycles = alone_.sum.sm_cycles / alone_.calls;
  judged.timed_instructions = timed_.sum.instructions / timed_.calls;
  judged.timed_tensor_cycles = timed_.sum.tensor_cycles / timed_.calls;
  judged.timed_sm_cycles = timed_.sum.sm_cycles / timed_.calls;
  if (!alone_.sum.quiet_before || !timed_.sum.quiet_before) {
    Refuse("the GPU works for the library before a call is asked for");
  }
  if (!alone_.sum.quiet_after || !timed_.sum.quiet_after) {
    Refuse("the GPU still works when the calls' stream is done: work is on another stream, or comes later");
  }
  const double spread = alone_.highest_instructions - alone_.lowest_instructions;
  const double least = alone_.lowest_instructions * (1.0 - kInstructionSlack) - spread;
  if (timed_.lowest_instructions < least) {
    Refuse(fmt::format("a timed call executes {:.4g} instructions, a verified one {:.4g}: timed calls do less",
                       timed_.lowest_instructions, alone_.lowest_instructions));
  }
  if (judged.tensor_cycles > kTensorPart * judged.sm_cycles &&
      judged.timed_tensor_cycles < judged.tensor_cycles * (1.0 - kTensorSlack)) {
    Refuse(fmt::format("a timed call keeps tensor cores busy for {:.4g} cycles, a verified one for {:.4g}",
                       judged.timed_tensor_cycles, judged.tensor_cycles));
  }
  const double call_ns = Median(judged.durations_ns);
  if (call_ns < kChainPart * (apart_ns_ - kGapNs)) {
    Refuse(fmt::format("a call takes {:.4g} us in a chain of calls, and {:.4g} us in a separate graph: calls overlap",
                       call_ns / 1e3, apart_ns_ / 1e3));
  }
  if (std::ranges::adjacent_find(drawn_, std::ranges::not_equal_to()) == drawn_.end()) {
    Refuse("the inputs are the same in every draw, so that results may be kept ones");
  }
}

void Trial::Conclude() {
  Judgement& judged = answer_.judgement;
  using Verdict = Judgement::Verdict;
  const auto say = [&judged](Verdict verdict, std::string reason) {
    judged.verdict = verdict;
    judged.reason = std::move(reason);
  };
  // Calls that were wrong after the draws had passed.
  if (judged.wrong_calls > 0 || !answer_.verification.where.empty()) {
    answer_.verification.draws_passed = std::min(answer_.verification.draws_passed, answer_.verification.draws - 1);
  }
  if (!answer_.verification.correct()) {
    const bool rare = judged.wrong_calls > 0;
    std::string reason = fa_profile::Describe(answer_.verification);
    if (rare)
      reason = fmt::format("WRONG: {} of {} calls; {}", judged.wrong_calls, judged.calls, answer_.verification.where);
    if (!judged.weak_tolerance.empty() && !question_.accept_weak_tolerance) {
      reason += fmt::format("; the tolerance also accepts {}, so a part of it was applied", judged.weak_tolerance);
    }
    return say(Verdict::kWrong, reason);
  }
  if (!witness_) return say(Verdict::kCannotSay, why_no_witness_);
  if (!alone_on_gpu_) return say(Verdict::kCannotSay, "another process works on this GPU");
  if (!alone_.sum.complete || !timed_.sum.complete) {
    return say(Verdict::kCannotSay, "readings of the GPU's counters were lost");
  }
  WeighTime();
  if (!refused_.empty()) return say(Verdict::kRefused, refused_);
  say(Verdict::kCertified, "");
}

std::string Describe(const Judgement& judgement) {
  using Verdict = Judgement::Verdict;
  switch (judgement.verdict) {
    case Verdict::kWrong:
      return judgement.reason;
    case Verdict::kRefused:
      return "REFUSED: " + judgement.reason;
    case Verdict::kCannotSay:
      return "cannot say: " + judgement.reason;
    default:
      break;
  }
  std::string text = fmt::format("certified: {:.4g} us a call, {} of {} calls wrong",
                                 Median(judgement.durations_ns) / 1e3, judgement.wrong_calls, judgement.calls);
  // Of no error in n trials: 1 - 0.05^(1/n), which is 3/n.
  if (judgement.wrong_calls == 0 && judgement.calls > 0) {
    text += fmt::format(" (95 %: under {:.2g} %)",
                        100.0 * (1.0 - std::pow(0.05, 1.0 / static_cast<double>(judgement.calls))));
  }
  if (judgement.same_bits == false) text += "; equal inputs give other bits";
  if (!judgement.weak_tolerance.empty()) text += "; weak tolerance, which also accepts " + judgement.weak_tolerance;
  return text;
}

Answer JudgeKernel(const Question& question, collect::GpuApi& gpu, const std::function<void(int, int)>& progress) {
  return Trial(question, gpu, progress).Run();
}

}  // namespace fa_profile::judge
