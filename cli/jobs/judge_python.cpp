// Judges Python kernels.
#include "judge_python.h"

#include <fmt/format.h>

#include <memory>

#include "fa_profile/closed_memory.h"
#include "fa_profile/cupti_api.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/judge.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/text.h"
#include "fa_profile/verification.h"
#include "judged_case.h"
#include "open_python.h"

namespace fa_profile::jobs {

judge::Question PythonQuestion(const PythonOptions& options, const std::string& name, int device) {
  judge::Question question;
  question.in_python = judge::PythonCase{options.python, PythonProgram("fa_profile_worker.py"), options.kernel, name};
  question.device = device;
  question.seconds = options.timeout_s;
  return question;
}

judge::Answer JudgePythonCase(const judge::Question& question, const PythonOptions& options, collect::GpuApi& gpu,
                              ProgressBar& bar) {
  const std::string& name = question.in_python->name;
  judge::Answer answer = AskJudge(question, name, options.kernel, gpu, bar);
  if (answer.judgement.verdict == Judgement::Verdict::kCannotSay && answer.verification.draws == 0) {
    constexpr int kDraws = 10;
    answer.verification = OpenPython(options, question.device).Verify({name}, kDraws, /*seed=*/1).front().verification;
  }
  return answer;
}

namespace {

judge::Question QuestionOf(const VerifyPythonJob& job, const std::string& name) {
  judge::Question question = PythonQuestion(job.python, name, job.device);
  if (job.judging.draws > 0) question.draws = job.judging.draws;
  question.calls = job.judging.calls;
  question.timing = job.judging.timing;
  question.accept_weak_tolerance = job.judging.accept_weak_tolerance;
  return question;
}

}  // namespace

void MeasurePythonReceipt(const ReceiptJob& job, const Receipt& given, Receipt& now) {
  const ClosedMemory closed;
  VerifyPythonJob as_before{job.python, {}, job.device, {}};
  for (const bool accepted : {false, true}) {
    as_before.judging.accept_weak_tolerance = accepted;
    std::vector<std::string> cases;
    for (const ReceiptCase& one : given.cases) {
      if (one.accepted_weak_tolerance == accepted) cases.push_back(one.kernel);
    }
    if (!cases.empty()) (void)JudgePythonCases(as_before, cases, &now);
  }
}

VerifyCounts JudgePythonCases(const VerifyPythonJob& job, const std::vector<std::string>& cases, Receipt* receipt) {
  const Device device = collect::OpenDevice(job.device, /*counters=*/job.judging.timing);
  const std::unique_ptr<collect::GpuApi> gpu = collect::OpenGpuApi(device, /*flush_cache=*/false, {});
  ProgressBar bar;
  if (receipt != nullptr) AddMachine(device, *receipt);
  VerifyCounts counts;
  for (const std::string& name : cases) {
    const judge::Answer answer = JudgePythonCase(QuestionOf(job, name), job.python, *gpu, bar);
    if (receipt != nullptr) {
      receipt->cases.push_back({name, "", fmt::format("{:016x}", answer.seed), answer.verification, answer.judgement,
                                job.judging.accept_weak_tolerance});
    }
    counts.Add(answer.verification, answer.judgement, job.judging.timing);
    if (answer.judgement.verdict != Judgement::Verdict::kWrong)
      fmt::print("{:<40} {}\n", name, Printable(Describe(answer.verification)));
    fmt::print("{:<40} {}\n", name, Printable(Describe(answer.judgement)));
    if (!answer.judgement.conditions.empty()) fmt::print("{:<40}   {}\n", "", answer.judgement.conditions);
  }
  return counts;
}

}  // namespace fa_profile::jobs
