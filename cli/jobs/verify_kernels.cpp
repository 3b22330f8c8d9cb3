#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <set>
#include <utility>

#include "fa_profile/closed_memory.h"
#include "fa_profile/cupti_api.h"
#include "fa_profile/demangle.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/judge.h"
#include "fa_profile/kernel_selection.h"
#include "fa_profile/kernels.h"
#include "fa_profile/library_server.h"
#include "fa_profile/notice.h"
#include "fa_profile/own_stdout.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/text.h"
#include "fa_profile/verification.h"
#include "judge_python.h"
#include "judged_case.h"
#include "receipt.h"
#include "verify_case.h"

namespace fa_profile::jobs {
namespace {

constexpr int kDefaultDraws = 100;

// A kernel with the shape to verify it at, and how often.
struct ToVerify {
  const Kernel* kernel;
  FittedShape fitted;
  int draws;
};

bool HasParameters(const FittedShape& fitted) { return fitted.shape && IsJudged(*fitted.shape); }

// Adds the kernels that take attention shapes, at the suite's shapes.
void AddSuite(const KernelSelection& selection, int draws, std::vector<ToVerify>& cases) {
  for (const SuiteShape& entry : CorrectnessSuite()) {
    for (const Kernel* const kernel : selection.kernels()) {
      FittedShape fitted = kernel->Fit(entry.shape);
      if (!fitted.other_kind) cases.push_back({kernel, std::move(fitted), draws > 0 ? draws : entry.draws});
    }
  }
}

std::vector<ToVerify> CasesToVerify(const KernelSelection& selection, const VerifyJob& job) {
  std::vector<ToVerify> cases;
  if (job.kernels.shapes.empty()) AddSuite(selection, job.judging.draws, cases);
  for (KernelAtShape& entry : KernelsAtShapes(selection.kernels(), job.kernels.shapes)) {
    const bool on_host = HasParameters(entry.fitted);
    if (job.kernels.shapes.empty() && !on_host) continue;  // in the suite
    const int draws = job.judging.draws > 0 ? job.judging.draws : on_host ? kDefaultDrawsOnTheHost : kDefaultDraws;
    cases.push_back({entry.kernel, std::move(entry.fitted), draws});
  }
  return cases;
}

ReceiptCase ReceiptOf(const Kernel& kernel, const Shape& shape, const judge::Answer& answer, bool accepted_weak) {
  return {kernel.id(),         shape.ToString(), fmt::format("{:016x}", answer.seed),
          answer.verification, answer.judgement, accepted_weak};
}

judge::Question QuestionOf(const VerifyJob& job, int draws) {
  judge::Question question;
  question.files = job.kernels.tensor_files;
  question.device = job.device;
  question.draws = draws;
  question.calls = job.judging.calls;
  question.timing = job.judging.timing;
  question.accept_weak_tolerance = job.judging.accept_weak_tolerance;
  return question;
}

// Kernels that a library launches; none if all are on one stream.
std::vector<std::string> KernelsOnStreams(const std::function<void()>& calls) {
  std::set<std::pair<std::uint32_t, std::string>> kernels;
  std::set<std::uint32_t> streams;
  const Device device = collect::OpenDevice(0, /*counters=*/false);
  for (const Launch& launch : collect::OpenGpuApi(device, /*flush_cache=*/false, {})->Trace(calls).launches) {
    kernels.emplace(launch.stream, launch.kernel_name);
    streams.insert(launch.stream);
  }
  std::vector<std::string> lines;
  if (streams.size() < 2) return lines;
  for (const auto& [stream, name] : kernels) lines.push_back(fmt::format("{} on stream {}", ShortName(name), stream));
  return lines;
}

}  // namespace

void MeasureReceipt(const ReceiptJob& job, const Receipt& given, Receipt& now) {
  const ClosedMemory closed;
  const KernelSelection selection("", {job.library}, job.tensor_files);
  const Device device = collect::OpenDevice(job.device);
  AddMachine(device, now);
  const std::unique_ptr<collect::GpuApi> gpu = collect::OpenGpuApi(device, /*flush_cache=*/false, {});
  ProgressBar bar;
  for (const ReceiptCase& one : given.cases) {
    const Shape shape = Shape::Parse(one.shape);
    if (!IsJudged(shape)) throw Error("the receipt has a shape without parameters: " + Printable(one.shape));
    for (const Kernel* const kernel : selection.kernels()) {
      if (!IsLibrary(*kernel) || kernel->id() != one.kernel || !kernel->Fit(shape).why_not.empty()) continue;
      VerifyJob as_before;
      as_before.kernels.tensor_files = job.tensor_files;
      as_before.device = job.device;
      as_before.judging.accept_weak_tolerance = one.accepted_weak_tolerance;
      const judge::Answer answer = JudgeCase(*kernel, shape, QuestionOf(as_before, kDefaultDrawsOnTheHost), *gpu, bar);
      if (answer.why_not.empty()) now.cases.push_back(ReceiptOf(*kernel, shape, answer, one.accepted_weak_tolerance));
    }
  }
}

Correctness VerifyKernels(const VerifyJob& job) {
  std::optional<ClosedMemory> closed;
  if (!job.kernels.libraries.empty()) closed.emplace();
  std::optional<Receipt> receipt;
  if (!job.receipt.empty()) {
    std::vector<std::string> inputs = job.kernels.libraries;
    for (const std::string& file : job.kernels.tensor_files) inputs.push_back(file.substr(file.find('=') + 1));
    RequireReceipt(job.judging, job.receipt, inputs);
    if (job.kernels.libraries.size() != 1) {
      throw Error("--receipt is for one kernel library", "give one --kernel-lib FILE");
    }
    receipt = NewReceipt(FilesOf(job.kernels.libraries.front(), job.kernels.tensor_files));
  }
  const KernelSelection selection(job.kernels.pattern, job.kernels.libraries, job.kernels.tensor_files);
  RequireGpu("verify");
  const std::vector<ToVerify> cases = CasesToVerify(selection, job);
  const bool of_libraries =
      std::ranges::any_of(cases, [](const ToVerify& entry) { return HasParameters(entry.fitted); });
  const Device device = collect::OpenDevice(job.device, /*counters=*/of_libraries && job.judging.timing);
  const std::unique_ptr<collect::GpuApi> gpu =
      of_libraries ? collect::OpenGpuApi(device, /*flush_cache=*/false, {}) : nullptr;
  fmt::print("{}, driver {}: |error| <= 1e-3 + 1e-3*|reference| against float64{}\n", device.name,
             device.driver_version, of_libraries ? "; of a library as it says" : "");
  VerifyCounts counts;
  std::string why_not;
  ProgressBar bar;
  for (const ToVerify& entry : cases) {
    const Kernel& kernel = *entry.kernel;
    const std::optional<Shape>& shape = entry.fitted.shape;
    CaseCheck outcome{entry.fitted.why_not, {}};
    std::optional<Judgement> judgement;
    if (shape && HasParameters(entry.fitted)) {
      judge::Answer answer = JudgeCase(kernel, *shape, QuestionOf(job, entry.draws), *gpu, bar);
      outcome = {answer.why_not, answer.verification, answer.work};
      if (receipt && answer.why_not.empty()) {
        receipt->cases.push_back(ReceiptOf(kernel, *shape, answer, job.judging.accept_weak_tolerance));
      }
      judgement = std::move(answer.judgement);
    } else if (shape) {
      outcome = VerifyRung(kernel, *shape, {entry.draws, job.judging.seed}, bar, nullptr);
    }
    const std::string start = fmt::format("{:<16} {:<22}", kernel.id(), shape ? shape->ToString() : "");
    if (!outcome.why_not.empty()) {
      if (why_not.empty() || !entry.fitted.other_kind) why_not = kernel.id() + ": " + outcome.why_not;
      if (entry.fitted.other_kind) continue;
      fmt::print("{} skipped: {}\n", start, outcome.why_not);
      continue;
    }
    counts.Add(outcome.verification, judgement, job.judging.timing);
    const bool wrong_results = judgement && judgement->verdict == Judgement::Verdict::kWrong;
    if (!wrong_results) fmt::print("{} {}\n", start, Printable(Describe(outcome.verification)));
    if (judgement) fmt::print("{} {}\n", start, Printable(Describe(*judgement)));
    if (judgement && !judgement->conditions.empty()) fmt::print("{:<39}   {}\n", "", judgement->conditions);
  }
  if (counts.compared == 0) {
    throw Error("nothing was verified: no kernel takes the shape", why_not.empty() ? "choose another" : why_not);
  }
  if (receipt) {
    if (receipt->cases.empty()) {
      throw Error("no receipt was written: no kernel was judged", "a receipt is for a kernel library (docs/honest.md)");
    }
    AddMachine(device, *receipt);
    RequireUnchanged(*receipt, FilesOf(job.kernels.libraries.front(), job.kernels.tensor_files));
    WriteWholeFile(job.receipt, ToJson(*receipt));
  }
  return Conclude(counts);
}

void ServeKernelLibrary(const KernelChoice& kernels) {
  fa_profile::ServeKernelLibrary(kernels.libraries.front(), kernels.tensor_files, KernelsOnStreams);
}

void DescribeKernelLibrary(const KernelChoice& kernels) {
  const OwnStdout own;  // before the library's code runs
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  own.Write(fa_profile::DescribeKernelLibrary(kernels.libraries.front(), kernels.tensor_files));
  (void)std::fflush(nullptr);
  _exit(0);  // the library's destructors do not run: they cannot change the answer
}

}  // namespace fa_profile::jobs
