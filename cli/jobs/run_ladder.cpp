#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "certified_sink.h"
#include "fa_profile/call_name.h"
#include "fa_profile/closed_memory.h"
#include "fa_profile/collector.h"
#include "fa_profile/cupti_api.h"
#include "fa_profile/device.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/jobs.h"
#include "fa_profile/judge.h"
#include "fa_profile/kernel_selection.h"
#include "fa_profile/kernels.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/notice.h"
#include "fa_profile/own_stdout.h"
#include "fa_profile/phase_collector.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/source_paths.h"
#include "fa_profile/timeline_collector.h"
#include "fa_profile/verification.h"
#include "judged_case.h"
#include "run_setup.h"
#include "verify_case.h"

namespace fa_profile::jobs {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// First Ctrl-C: end between two launches. Second: the default action, to get out of a hanging kernel.
void OnInterrupt(int signal) {
  interrupted = true;
  (void)std::signal(signal, SIG_DFL);
}

// What is known about a case before it is measured.
struct Looked {
  CaseCheck check;
  std::optional<Judgement> judgement;
};
using LookedAt = std::map<std::pair<const Kernel*, std::string>, Looked>;  // by kernel and shape

// Judges the libraries' kernels, before anything else uses counters: the judge's witness needs them.
LookedAt JudgeLibraries(const KernelSelection& selection, const LadderJob& job, collect::GpuApi& gpu,
                        ProgressBar& bar) {
  LookedAt judged;
  if (job.calls.draws == 0) return judged;
  for (const auto& [kernel, fitted] : KernelsAtShapes(selection.kernels(), job.kernels.shapes)) {
    if (!fitted.shape || !IsJudged(*fitted.shape)) continue;
    judge::Question question;
    question.files = job.kernels.tensor_files;
    question.device = job.device;
    question.interrupted = &interrupted;
    judge::Answer answer = JudgeCase(*kernel, *fitted.shape, BeforeRecording(question, job.calls.draws), gpu, bar);
    judged[{kernel, fitted.shape->ToString()}] = {{answer.why_not, answer.verification, answer.work},
                                                  std::move(answer.judgement)};
  }
  return judged;
}

// With verification turned off, a library runs in this process at once.
Looked LookAt(const Kernel& kernel, const Shape& shape, const LadderJob& job, const LookedAt& judged,
              ProgressBar& bar) {
  if (job.calls.draws == 0) {
    std::string why_not = kernel.WhyNot(shape);
    const Work work = why_not.empty() ? kernel.WorkOf(shape) : Work{};
    return {{std::move(why_not), {}, work}, {}};
  }
  if (const auto found = judged.find({&kernel, shape.ToString()}); found != judged.end()) return found->second;
  return {VerifyRung(kernel, shape, {job.calls.draws, /*seed=*/1}, bar, &interrupted), {}};
}

// nvdisasm, or what can be read without it.
collect::Disassembler DisassemblerOrStacks(std::vector<DataLoss>& losses) {
  const std::optional<std::string> nvdisasm = sass::FindNvdisasm();
  if (!nvdisasm) losses.push_back(sass::MissesNvdisasm());
  return [nvdisasm](const Cubin& cubin, const std::vector<std::string>& functions) {
    return sass::ReadCode(cubin.bytes, cubin.crc, nvdisasm, functions);
  };
}

// A shape that no kernel accepts is an error before anything runs. Libraries are not asked: that would run their code.
void RequireShapes(const KernelSelection& selection, const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes) {
    // Parameters concern libraries, which come last.
    std::vector<const Kernel*> kernels = selection.kernels();
    if (shape.parameters() != nullptr) std::ranges::reverse(kernels);
    std::string reason;
    const bool taken = std::ranges::any_of(kernels, [&](const Kernel* kernel) {
      FittedShape fitted = kernel->Fit(shape);
      if (fitted.shape && !IsLibrary(*kernel)) fitted.why_not = kernel->WhyNot(*fitted.shape);
      if (reason.empty() && !fitted.why_not.empty()) reason = kernel->id() + ": " + fitted.why_not;
      return fitted.why_not.empty();
    });
    if (!taken) throw Error("no kernel takes shape " + shape.ToString() + ": " + reason, "see fa-profile list kernels");
  }
}

// Setup in a first launch (cuBLAS has to make a handle) cannot be captured in a graph.
void LaunchUnverified(const Kernel& kernel, const Shape& shape) {
  kernel.MakeWorkload(shape, /*seed=*/1)->Launch(nullptr);
  if (collect::DeviceStillWorks()) return;
  throw Error("kernel '" + kernel.id() + "' (" + kernel.origin() + ") crashed on the GPU",
              "leave it out with --kernel, or find the cause with fa-profile verify --kernel " + kernel.id());
}

// Writes the verification's result. False: the kernel is not to be measured.
bool WriteVerification(const Case& entry, Looked looked, collect::CollectRun& run, ProgressBar& bar) {
  Verification& verification = looked.check.verification;
  verification.case_id = entry.id;
  run.sink.Write(verification);
  if (looked.judgement) {
    looked.judgement->case_id = entry.id;
    run.sink.Write(*looked.judgement);
  }
  run.sink.Commit();
  const bool refused = looked.judgement && looked.judgement->refused();
  if (verification.correct() && !refused) return true;
  bar.Clear();
  Notice(fmt::format("{} at {}: {}; it is not measured", entry.kernel, entry.shape->ToString(),
                     looked.judgement ? Describe(*looked.judgement) : Describe(verification)));
  return false;
}

// The cases to measure: every kernel at every shape that it accepts, unless it is wrong. Verification results go to the
// recording.
std::vector<collect::PendingCase> VerifyCases(const KernelSelection& selection, const LadderJob& job,
                                              const LookedAt& judged, collect::CollectRun& run, ProgressBar& bar,
                                              int& wrong) {
  std::vector<collect::PendingCase> cases;
  for (const auto& [kernel, fitted] : KernelsAtShapes(selection.kernels(), job.kernels.shapes)) {
    if (!fitted.shape) {
      if (!fitted.other_kind) run.sink.Write(DataLoss{"kernel_skipped", kernel->id(), fitted.why_not, 1});
      continue;
    }
    const Shape shape = *fitted.shape;
    const Looked looked = LookAt(*kernel, shape, job, judged, bar);
    if (!looked.check.why_not.empty()) {
      run.sink.Write(DataLoss{"kernel_skipped", CallName(kernel->id(), shape), looked.check.why_not, 1});
      continue;
    }
    const Case entry{run.next_id++, kernel->id(), kernel->origin(), shape, looked.check.work};
    run.sink.Write(entry);
    if (job.calls.draws == 0) {  // the recording says that the case was not verified
      run.sink.Commit();
      LaunchUnverified(*kernel, shape);
    } else if (!WriteVerification(entry, looked, run, bar)) {
      ++wrong;
      continue;
    }
    cases.push_back({entry.id, shape, [kernel = kernel, shape] { return kernel->MakeWorkload(shape, /*seed=*/1); }});
  }
  return cases;
}

// Times, counters and timelines of whole calls.
void MeasureCalls(collect::CollectRun& run, const std::vector<collect::PendingCase>& cases, const LadderJob& job,
                  const std::vector<std::string>& metrics) {
  collect::Collector collector(run, {metrics, job.kernel_replay, job.calls.warmup_launches, job.calls.timed_launches});
  collect::CollectTogether(
      run.gpu, cases, job.raw,
      [&](const std::vector<collect::CollectJob>& jobs, bool keep_images) { collector.Collect(jobs, keep_images); });
  if (!job.timeline) return;
  collect::CollectTogether(run.gpu, cases, "none", [&](const std::vector<collect::CollectJob>& jobs, bool) {
    collect::TimelineCollector(run).Collect(jobs);
  });
}

// Writes what was measured until then. The first error is the one to report.
void WriteAfterError(collect::PhaseCollector& phases) noexcept {
  try {
    phases.Close();
    phases.Write();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it cannot be written either
  }
}

Session LadderSession(const LadderJob& job, const std::string& metric_set) {
  Session session = collect::NewSession(job.file.command_line, metric_set);
  session.replay_mode = job.kernel_replay ? "kernel" : "user";
  session.cache_policy = job.flush_cache ? "flush" : "warm";
  session.warmup_launches = job.calls.warmup_launches;
  session.timed_launches = job.calls.timed_launches;
  session.draws = job.calls.draws;
  return session;
}

}  // namespace

bool RunLadder(const LadderJob& job, const Report& report) {
  collect::PrepareProcessForNvtx();
  auto own_stdout = std::make_optional<OwnStdout>();  // what measured code prints must not be in the report
  std::optional<ClosedMemory> closed;
  if (!job.kernels.libraries.empty()) closed.emplace();
  const KernelSelection selection(job.kernels.pattern, job.kernels.libraries, job.kernels.tensor_files);
  RequireShapes(selection, job.kernels.shapes);

  const Device device = collect::OpenDevice(job.device);
  const MetricSet set = WantedMetrics(job.metrics, device);
  const std::string path = OutputPath(job.file);
  store::RecordingWriter writer(path, job.file.overwrite);
  if (writer.kept_aside()) {
    Notice(fmt::format("{} was left by a run that was killed; it is kept as {}", writer.part_path(),
                       *writer.kept_aside()));
  }
  writer.Write(LadderSession(job, set.name));
  writer.Write(device);
  std::vector<DataLoss> losses;
  writer.Write(collect::ReadClocks(device, "before", losses));
  for (const MetricSet::Omitted& omitted : set.omitted) {
    writer.Write(DataLoss{"metric_not_a_counter", omitted.metric, omitted.reason, 1});
  }
  writer.Commit();

  (void)std::signal(SIGINT, OnInterrupt);
  (void)std::signal(SIGTERM, OnInterrupt);
  ProgressBar bar;
  const std::unique_ptr<collect::GpuApi> gpu = collect::OpenGpuApi(device, job.flush_cache, collect::PlanCacheFolder());
  load::PortableSink portable(writer);
  CertifiedSink sink(portable);
  collect::CollectRun run{device, *gpu, sink, 1, ShowOn(bar), [] { return interrupted.load(); }};
  const LookedAt judged = JudgeLibraries(selection, job, *gpu, bar);
  closed.reset();  // from here on the library may run in this process
  // Before the first kernel is loaded: CUPTI knows no other code inside.
  std::optional<collect::PhaseCollector> phases;
  if (WantsPhases(job.metrics)) phases.emplace(run, DisassemblerOrStacks(losses));

  // Correctness of everything comes first: nothing is measured before, so an error here loses no measurement.
  int wrong = 0;
  const std::vector<collect::PendingCase> cases = VerifyCases(selection, job, judged, run, bar, wrong);
  if (cases.empty() && wrong == 0) {
    throw Error("no kernel takes the shape", "fa-profile verify --kernel-lib FILE --shape SHAPE prints why");
  }
  // The code is disassembled while the counters are measured: it takes half a second.
  try {
    if (phases) {
      collect::CollectTogether(*gpu, cases, "none",
                               [&](const std::vector<collect::CollectJob>& jobs, bool) { phases->Measure(jobs); });
      phases->Close();  // the range profiler needs this
    }
    MeasureCalls(run, cases, job, set.metrics);
  } catch (...) {
    if (phases) WriteAfterError(*phases);
    throw;
  }
  if (phases) phases->Write();
  writer.Write(collect::ReadClocks(device, "after", losses));
  for (const DataLoss& loss : losses) writer.Write(loss);
  writer.Finish();
  bar.Clear();
  own_stdout.reset();
  report(path, path);
  const std::vector<std::string> contradictions = sink.Contradictions();
  for (const std::string& line : contradictions) Notice(line);
  return wrong == 0 && contradictions.empty();
}

}  // namespace fa_profile::jobs
