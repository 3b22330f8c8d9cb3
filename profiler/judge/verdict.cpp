// The end of a trial: the verdict on the kernel, from its evidence.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <stdexcept>
#include <thread>

#include "fa_profile/closed_memory.h"
#include "fa_profile/text.h"
#include "fa_profile/verification.h"
#include "trial.h"

namespace fa_profile::judge {

// Whether the timed calls did all the work of the verified ones while they were timed.
void Trial::WeighTime() {
  Judgement& judged = answer_.judgement;
  evidence_.in_python = question_.in_python.has_value();
  evidence_.call_ns = CallNs(judged).value_or(0.0);
  evidence_.ceilings = CeilingsOf(question_.device);
  for (const Tensor& tensor : sets_->tensors()) {
    const bool is_bytes = question_.in_python && !tensor.description.is_compared();
    if (!is_bytes) evidence_.formats.push_back(tensor.description.format);
  }
  evidence_.tensor_bytes = static_cast<double>(sets_->bytes_a_set());
  judged.verified = evidence_.alone.PerCall();
  judged.timed = evidence_.timed.PerCall();
  judged.conditions = ConditionsOf(evidence_);
  if (const std::string why = WhyNotTheWork(evidence_); !why.empty()) Refuse(why + Elsewhere());
}

// For a refusal's reason: a call's kernels that are not on one stream, as seen by the worker's process.
std::string Trial::Elsewhere() {
  const Watched& alone = evidence_.alone.sum;
  const Watched& timed = evidence_.timed.sum;
  if (alone.quiet_before && alone.quiet_after && timed.quiet_before && timed.quiet_after) return {};
  try {
    const nlohmann::json traced = worker_->Require({{"do", "trace"}});
    constexpr std::size_t kMost = 8;
    constexpr std::size_t kWidest = 100;
    std::vector<std::string> kernels = traced.at("kernels");
    if (kernels.size() > kMost) kernels.resize(kMost);
    for (std::string& kernel : kernels) kernel = Truncate(kernel, kWidest);
    if (kernels.empty()) return {};
    return Printable(fmt::format("; kernels of a call: {}", fmt::join(kernels, ", ")));
  } catch (const Error&) {  // the refusal stands without it
    if (question_.interrupted != nullptr && *question_.interrupted) throw;
  } catch (const nlohmann::json::exception&) {
  }
  return {};
}

// Results that are correct for one draw must not be correct for another: otherwise stale or constant ones would pass.
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
  const std::string disturbed = alone_on_gpu_ ? WhyDisturbed(evidence_) : "another process works on this GPU";
  answer_.disturbed = !disturbed.empty();
  if (answer_.disturbed) return say(Verdict::kCannotSay, disturbed);
  WeighTime();
  if (refused_.empty()) return say(Verdict::kCertified, "");
  if (StillBusy())
    return say(Verdict::kCannotSay, "a process that is not the kernel's works on this GPU, or was left by it");
  say(Verdict::kRefused, refused_);
}

// Whether the GPU still works after the kernel's processes have ended.
bool Trial::StillBusy() {
  const bool quiet = evidence_.alone.sum.quiet_before && evidence_.alone.sum.quiet_after &&
                     evidence_.timed.sum.quiet_before && evidence_.timed.sum.quiet_after;
  if (quiet) return false;
  answer_.printed = worker_->Printed();
  (void)referee_->Printed();
  constexpr std::chrono::milliseconds kLong{50};
  try {
    return witness_->Watch([&] { std::this_thread::sleep_for(kLong); }).counts.instructions > 0;
  } catch (const Error&) {
    return false;  // the refusal stands
  }
}

namespace {

// A worker's answer is of another type than the protocol's, or names a tensor that there is not.
void CannotBeRead(Answer& answer) {
  answer.verification.error = "its process sent an answer that cannot be read";
  answer.verification.draws = 1;
  answer.judgement.verdict = Judgement::Verdict::kWrong;
  answer.judgement.reason = fa_profile::Describe(answer.verification);
}

Answer JudgeOnce(Question question, collect::GpuApi& gpu, const std::function<void(int, int)>& progress) {
  while (question.seed == 0) {
    std::random_device device;
    question.seed = (static_cast<std::uint64_t>(device()) << 32U) | device();
  }
  Answer answer;
  try {
    answer = Trial(question, gpu, progress).Run();
  } catch (const std::logic_error&) {
    CannotBeRead(answer);
  } catch (const nlohmann::json::exception&) {
    CannotBeRead(answer);
  }
  answer.seed = question.seed;
  return answer;
}

}  // namespace

Answer JudgeKernel(const Question& question, collect::GpuApi& gpu, const std::function<void(int, int)>& progress) {
  const ClosedMemory closed;
  Answer answer = JudgeOnce(question, gpu, progress);
  if (answer.disturbed) answer = JudgeOnce(question, gpu, progress);
  return answer;
}

}  // namespace fa_profile::judge
