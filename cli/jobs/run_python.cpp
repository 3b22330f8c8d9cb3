// A Python kernel: verified and timed by its runner, measured as a program that makes calls.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>
#include <memory>

#include "fa_profile/closed_memory.h"
#include "fa_profile/cupti_api.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/gate_statistics.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/judge.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/notice.h"
#include "fa_profile/private_folder.h"
#include "fa_profile/python_recording.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/run_injected.h"
#include "judged_case.h"
#include "open_python.h"
#include "run_setup.h"

namespace fa_profile::jobs {
namespace {

// A call is measured for this long, and until its counters are taken. Phases are sampled in the rest.
constexpr double kCallSeconds = 3.0;
// Kernels of a call whose counters are measured.
constexpr int kMostKernels = 50;

std::atomic<bool> python_interrupted{false};

inject::InjectPlan CallPlan(const PythonJob& job, const MetricSet& set) {
  inject::InjectPlan plan = PlanOf(job.metrics, set, "spread", job.file.command_line);
  plan.replay = inject::ProgramReplay::kSpread;
  plan.session.warmup_launches = job.calls.warmup_launches;
  plan.session.timed_launches = job.calls.timed_launches;
  plan.session.draws = job.calls.draws;
  plan.from_start = false;  // between the runner's calls of cudaProfilerStart and cudaProfilerStop
  plan.least_share_ratio = 0.0;
  plan.max_classes = kMostKernels;
  plan.phases = WantsPhases(job.metrics);
  plan.record_all_s = inject::kRecordAlways;
  plan.children = false;
  return plan;
}

// Only while no program runs with the injected library: RunInjected() passes signals on, and then restores the
// defaults.
void EndPythonOnSignals() {
  for (const int signal : {SIGINT, SIGTERM}) (void)std::signal(signal, [](int) { python_interrupted = true; });
}

Recording LoadWhole(const std::string& path) {
  store::LoadOptions whole;
  whole.cubins = true;
  return store::RecordingReader(path).Load(whole);
}

// Calls a case in a process with the injected library. The runner's error says more than the run's.
void MeasureCalls(const python::PythonRunner& runner, const inject::InjectPlan& wanted,
                  python::MeasuredCase& measured) {
  const PrivateFolder folder;
  const std::string answer = (folder.path() / "answer").string();
  inject::InjectPlan plan = wanted;
  plan.output = (folder.path() / "calls.fap").string();
  int status = 0;
  std::string recording;
  try {
    const inject::InjectedEnd end = inject::RunInjected(runner.RunCommand(measured.name, kCallSeconds, answer), plan);
    status = end.status;
    if (!end.recordings.empty()) recording = end.recordings.front();
  } catch (const Error&) {
    python::PythonRunner::ThrowError(answer);
    throw;
  }
  measured.calls = runner.ReadCalls(measured.name, answer, status);
  if (recording.empty() || recording.ends_with(".part")) {
    throw Error(measured.name + " was not measured: its process ended before the recording was complete",
                "a thread of the file may not end, or its exit crashes");
  }
  measured.program = LoadWhole(recording);
}

bool IsMeasured(const python::MeasuredCase& one) {
  const bool refused = one.judgement && one.judgement->verdict == Judgement::Verdict::kRefused;
  return !refused && (!one.verification || one.verification->correct());
}

// All cases, with whatever is wrong with them.
std::vector<python::MeasuredCase> JudgePython(const std::vector<std::string>& cases, const PythonJob& job,
                                              const Device& device, ProgressBar& bar) {
  std::vector<python::MeasuredCase> measured;
  for (const std::string& name : cases) measured.push_back({name, {}, {}, {}, {}, {}});
  if (job.calls.draws == 0) return measured;
  const std::unique_ptr<collect::GpuApi> gpu = collect::OpenGpuApi(device, /*flush_cache=*/false, {});
  for (python::MeasuredCase& one : measured) {
    judge::Question question = PythonQuestion(job.python, one.name, job.device);
    question.interrupted = &python_interrupted;
    judge::Answer answer = JudgePythonCase(BeforeRecording(question, job.calls.draws), job.python, *gpu, bar);
    one.verification = answer.verification;
    one.judgement = std::move(answer.judgement);
    if (!IsMeasured(one)) Notice(fmt::format("{}: {}; it is not measured", one.name, Describe(*one.judgement)));
  }
  return measured;
}

// Measurements in the kernel's process must agree with what the judge certified. False: one case does not.
bool FitJudgements(const Recording& recording) {
  bool fit = true;
  for (const Judgement& judgement : recording.judgements) {
    MeasuredCall call;
    for (const Timing& timing : recording.timings) {
      if (timing.case_id == judgement.case_id && timing.part.empty())
        call.median_ns = gate::Median(timing.durations_ns);
    }
    const std::string why = WhyNotAsCertified(judgement, call);
    if (why.empty()) continue;
    const auto of_case = std::ranges::find(recording.cases, judgement.case_id, &Case::id);
    Notice(of_case->kernel + ": " + why);
    fit = false;
  }
  return fit;
}

void TimePython(const python::PythonRunner& runner, const PythonJob& job, ProgressBar& bar,
                std::vector<python::MeasuredCase>& measured) {
  std::vector<std::string> names;
  for (const python::MeasuredCase& one : measured) {
    if (IsMeasured(one)) names.push_back(one.name);
  }
  if (job.calls.timed_launches == 0 || names.empty()) return;
  bar.Show("time", names.front(), 0, static_cast<int>(names.size()));
  std::map<std::string, python::PythonTiming> timings;
  for (python::PythonTiming& timing : runner.Time(names, job.calls.timed_launches, job.calls.warmup_launches))
    timings.emplace(timing.name, std::move(timing));
  bar.Clear();
  for (python::MeasuredCase& one : measured) {
    const auto found = timings.find(one.name);
    if (found == timings.end()) continue;
    if (!found->second.error.empty()) Notice(fmt::format("{} was not timed: {}", one.name, found->second.error));
    if (found->second.error.empty()) one.timing = std::move(found->second.timing);
  }
}

void MeasurePython(const python::PythonRunner& runner, const inject::InjectPlan& plan, ProgressBar& bar,
                   std::vector<python::MeasuredCase>& measured) {
  const int total = static_cast<int>(std::ranges::count_if(measured, IsMeasured));
  int done = 0;
  for (python::MeasuredCase& one : measured) {
    if (!IsMeasured(one)) continue;
    bar.Show("measure", one.name, done++, total);
    MeasureCalls(runner, plan, one);
    EndPythonOnSignals();
  }
  bar.Clear();
}

}  // namespace

bool RunPython(const PythonJob& job, const Report& report) {
  const ClosedMemory closed;
  const python::PythonRunner runner = OpenPython(job.python, job.device, &python_interrupted);
  RequireGpu("profiling");
  EndPythonOnSignals();
  const std::vector<std::string> cases = PythonCases(runner, job.python);
  const Device device = collect::OpenDevice(job.device);
  const MetricSet set = WantedMetrics(job.metrics, device);
  const std::string path = OutputPath(job.file);
  store::RecordingWriter writer(path, job.file.overwrite);  // so that its errors come before any measurement

  ProgressBar bar;
  const inject::InjectPlan plan = CallPlan(job, set);
  std::vector<python::MeasuredCase> measured = JudgePython(cases, job, device, bar);
  collect::ReleaseDevice();  // leaves it to the kernel's process
  const bool wrong = !std::ranges::all_of(measured, IsMeasured);
  TimePython(runner, job, bar, measured);
  MeasurePython(runner, plan, bar, measured);

  Recording base;
  base.session = plan.session;
  base.device = device;
  const std::string origin = python::ParsePythonKernel(job.python.kernel).ToString();
  const Recording recording = python::ToKernelRecording(std::move(base), origin, std::move(measured));
  store::WriteRecording(recording, nullptr, writer);
  writer.Finish();
  AddInstructions(path);
  report(path, path);
  return FitJudgements(recording) && !wrong;
}

}  // namespace fa_profile::jobs
