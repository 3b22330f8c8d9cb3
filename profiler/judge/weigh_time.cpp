#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "fa_profile/verification.h"
#include "floor.h"
#include "trial.h"

namespace fa_profile::judge {
namespace {

// Of the instructions of a verified call that a timed one may lack: waiting loops differ from run to run.
constexpr double kInstructionSlack = 0.02;
constexpr double kTensorSlack = 0.10;
// A call in a chain may take less than one alone, by the gap between graphs and by what dependent launch hides.
constexpr double kGapNs = 3000.0;
constexpr double kPythonGapNs = 40000.0;  // as long as Python may take to launch a graph
constexpr double kChainPart = 0.65;
// From the question to the first work, and from the last work to the answer.
constexpr double kMostIdleNs = 1.5e6;

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
  const double spread =
      std::min(alone_.highest_instructions - alone_.lowest_instructions, kMostSpread * alone_.lowest_instructions);
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
  if (std::isfinite(least_idle_ns_) && least_idle_ns_ > kMostIdleNs) {
    Refuse(
        fmt::format("in each burst the calls take {:.3g} ms more than the GPU works: results may come from elsewhere",
                    least_idle_ns_ / 1e6));
  }
  const double call_ns = CallNs(judged).value_or(0.0);
  if (apart_ns_ > 0 && apart_instructions_ < timed_.lowest_instructions * (1.0 - kMostSpread)) {
    Refuse("calls in separate graphs execute fewer instructions than those in a chain, so that overlap cannot be seen");
  }
  if (call_ns < kChainPart * (apart_ns_ - (question_.in_python ? kPythonGapNs : kGapNs))) {
    Refuse(fmt::format("a call takes {:.4g} us in a chain of calls, and {:.4g} us in a separate graph: calls overlap",
                       call_ns / 1e3, apart_ns_ / 1e3));
  }
  std::vector<NumberFormat> formats;
  for (const Tensor& tensor : sets_->tensors()) formats.push_back(tensor.description.format);
  const std::string below = WhyBelowFloor(call_ns, answer_.work, formats, static_cast<double>(sets_->bytes_a_set()),
                                          CeilingsOf(question_.device));
  if (!below.empty()) Refuse(below);
}

// Results that are right for one draw must not be right for another: else a kept or constant one passes.
void Trial::CompareDraws() {
  const auto all_same = [](const std::vector<std::uint64_t>& hashes) {
    return std::ranges::adjacent_find(hashes, std::ranges::not_equal_to()) == hashes.end();
  };
  if (all_same(drawn_)) {
    Refuse("the inputs are the same in every draw, so that results may be kept ones");
  } else if (all_same(expected_hashes_)) {
    Refuse("the reference gives the same results for all inputs, so that constant ones pass");
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
  const bool has_inputs = std::ranges::any_of(statement_.tensors, &TensorDescription::is_drawn);
  if (has_inputs) CompareDraws();
  if (!refused_.empty()) return say(Verdict::kRefused, refused_);
  if (!has_inputs) return say(Verdict::kCannotSay, "the kernel has no inputs: a kept result is always right");
  if (!witness_) return say(Verdict::kCannotSay, why_no_witness_);
  const bool complete = alone_.sum.complete && timed_.sum.complete;
  answer_.disturbed = !alone_on_gpu_ || !complete;
  if (!alone_on_gpu_) return say(Verdict::kCannotSay, "another process works on this GPU");
  if (!complete) return say(Verdict::kCannotSay, "readings of the GPU's counters were lost");
  WeighTime();
  if (!refused_.empty()) return say(Verdict::kRefused, refused_);
  say(Verdict::kCertified, "");
}

namespace {

Answer JudgeOnce(Question question, collect::GpuApi& gpu, const std::function<void(int, int)>& progress) {
  while (question.seed == 0) {
    std::random_device device;
    question.seed = (static_cast<std::uint64_t>(device()) << 32U) | device();
  }
  Answer answer;
  try {
    answer = Trial(question, gpu, progress).Run();
  } catch (const nlohmann::json::exception&) {  // of another type than the protocol's
    answer.verification.error = "its process sent an answer that cannot be read";
    answer.verification.draws = 1;
    answer.judgement.verdict = Judgement::Verdict::kWrong;
    answer.judgement.reason = fa_profile::Describe(answer.verification);
  }
  answer.seed = question.seed;
  return answer;
}

}  // namespace

ClosedMemory::ClosedMemory() : before_(prctl(PR_GET_DUMPABLE)) { (void)prctl(PR_SET_DUMPABLE, 0); }

ClosedMemory::~ClosedMemory() { (void)prctl(PR_SET_DUMPABLE, before_); }

Answer JudgeKernel(const Question& question, collect::GpuApi& gpu, const std::function<void(int, int)>& progress) {
  const ClosedMemory closed;
  Answer answer = JudgeOnce(question, gpu, progress);
  if (answer.disturbed) answer = JudgeOnce(question, gpu, progress);
  return answer;
}

}  // namespace fa_profile::judge
