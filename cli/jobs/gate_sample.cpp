#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>

#include "fa_profile/call_name.h"
#include "fa_profile/call_timer.h"
#include "fa_profile/closed_memory.h"
#include "fa_profile/cupti_api.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/evidence.h"
#include "fa_profile/gate_statistics.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/judge.h"
#include "fa_profile/kernel_selection.h"
#include "fa_profile/kernels.h"
#include "fa_profile/own_stdout.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/utc_time.h"
#include "fa_profile/version.h"
#include "judged_case.h"
#include "open_python.h"

namespace fa_profile::jobs {
namespace {

struct SampleCase {
  const Kernel* kernel;  // nullptr: the reference kernel
  Shape shape;
};

nlohmann::json EnvironmentJson(const Device& device) {
  Session session;
  session.tool_version = Version();
  session.tool_commit = Commit();
  session.created_at = UtcNow("%Y-%m-%dT%H:%M:%SZ");
  const gate::Environment environment = gate::EnvironmentOf(device, session);
  nlohmann::json json;
  for (const gate::EnvironmentField& field : gate::kEnvironmentFields) {
    if (field.text != nullptr) json[field.key] = environment.*field.text;
    if (field.hertz != nullptr) json[field.key] = environment.*field.hertz;
  }
  return json;
}

std::vector<SampleCase> CasesOf(const KernelSelection& selection, const std::vector<Shape>& shapes) {
  std::vector<SampleCase> cases = {{nullptr, {}}};
  std::string reason;
  for (const auto& [kernel, fitted] : KernelsAtShapes(selection.kernels(), shapes)) {
    // A judged library is not asked here: that would run its code.
    const bool asked = fitted.shape && !IsJudged(*fitted.shape);
    const std::string why_not = asked ? kernel->WhyNot(*fitted.shape) : fitted.why_not;
    if (why_not.empty()) {
      cases.push_back({kernel, *fitted.shape});
    } else if (cases.size() == 1 && (!fitted.other_kind || reason.empty())) {
      reason = kernel->id() + ": " + why_not;
    }
  }
  if (cases.size() > 1) return cases;
  const std::string shape = shapes.empty() ? "its own shape" : "shape " + shapes.front().ToString();
  throw Error("no kernel takes " + shape + ": " + reason, "see fa-profile list kernels");
}

constexpr int kWarmup = 5;

// The median is over launches of this one process; the test is between processes.
void AddTimes(nlohmann::json& line, const std::vector<double>& durations_ns, const std::optional<double>& sm_clock_hz) {
  const double seconds = gate::Median(durations_ns) * 1e-9;
  line["duration_seconds"] = seconds;
  line["launches"] = durations_ns.size();
  if (!sm_clock_hz) return;
  line["sm_clock_hz"] = *sm_clock_hz;
  line["duration_cycles"] = seconds * *sm_clock_hz;
}

// The judge times a library's kernel: none of its code runs in this process.
class JudgedCases {
 public:
  JudgedCases(const GateSampleJob& job, const Device& device) : job_(job), device_(device) {}

  void Time(const SampleCase& one, nlohmann::json& line) {
    judge::Question question;
    question.files = job_.kernels.tensor_files;
    question.device = job_.device;
    AddTo(line, JudgeCase(*one.kernel, one.shape, Short(question), Gpu(), bar_));
  }

  nlohmann::json TimePython(const std::string& name) {
    nlohmann::json line = {{"kernel", name}, {"shape", ""}};
    const judge::Question question = PythonQuestion(job_.python, name, job_.device);
    AddTo(line, JudgePythonCase(Short(question), job_.python, Gpu(), bar_));
    return line;
  }

 private:
  static judge::Question Short(judge::Question question) {
    question.draws = kDefaultDrawsOnTheHost;
    question.calls = 0;  // only those of the rounds
    return question;
  }

  collect::GpuApi& Gpu() {
    if (!gpu_) gpu_ = collect::OpenGpuApi(device_, /*flush_cache=*/false, {});
    return *gpu_;
  }

  static void AddTo(nlohmann::json& line, const judge::Answer& answer) {
    const judge::JudgedTime time = judge::TimeOf(answer);
    for (const auto& [key, text] :
         {std::pair{"error", &time.error}, {"refused", &time.refused}, {"untimed", &time.untimed}}) {
      if (!text->empty()) line[key] = *text;
    }
    if (!time.durations_ns.empty()) AddTimes(line, time.durations_ns, std::nullopt);
  }

  const GateSampleJob& job_;
  const Device& device_;
  std::unique_ptr<collect::GpuApi> gpu_;
  ProgressBar bar_;
};

nlohmann::json TimeCase(const SampleCase& one, int launches, JudgedCases* judged) {
  nlohmann::json line = {{"kernel", one.kernel != nullptr ? one.kernel->id() : gate::kReferenceKernel},
                         {"shape", one.kernel != nullptr ? one.shape.ToString() : ""}};
  try {
    if (one.kernel != nullptr && IsJudged(one.shape)) {
      judged->Time(one, line);
      return line;
    }
    const std::unique_ptr<Workload> workload =
        one.kernel != nullptr ? one.kernel->MakeWorkload(one.shape, /*seed=*/1) : MakeGateReference();
    const collect::CallTiming timing = collect::TimeCalls(*workload, kWarmup, launches);
    AddTimes(line, timing.durations_ns, timing.sm_clock_hz);
  } catch (const Error& error) {
    // After a crash nothing works, and later cases would be blamed.
    if (!collect::DeviceStillWorks()) throw;
    line["error"] = error.what();
  }
  return line;
}

std::vector<nlohmann::json> TimePythonCases(const GateSampleJob& job, const Device& device) {
  const python::PythonRunner runner = OpenPython(job.python, job.device);
  std::vector<std::string> cases = PythonCases(runner, job.python);
  std::shuffle(cases.begin(), cases.end(), std::mt19937_64(job.order));
  JudgedCases judged(job, device);
  std::vector<nlohmann::json> lines = {TimeCase({nullptr, {}}, job.launches, nullptr)};
  for (const std::string& name : cases) lines.push_back(judged.TimePython(name));
  return lines;
}

std::vector<nlohmann::json> TimeCases(const KernelSelection& selection, const GateSampleJob& job,
                                      const Device& device) {
  JudgedCases judged(job, device);
  const std::vector<SampleCase> cases = CasesOf(selection, job.kernels.shapes);
  std::vector<std::size_t> order(cases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(job.order));
  std::vector<nlohmann::json> lines(cases.size());
  for (const std::size_t index : order) lines[index] = TimeCase(cases[index], job.launches, &judged);
  return lines;
}

}  // namespace

void RunGateSample(const GateSampleJob& job) {
  const OwnStdout own;  // what a kernel library prints must not be in the sample
  const ClosedMemory closed;
  const bool is_python = !job.python.kernel.empty();
  std::optional<KernelSelection> selection;
  if (!is_python) selection.emplace(job.kernels.pattern, job.kernels.libraries, job.kernels.tensor_files);
  RequireGpu("gate-sample");
  const Device device = collect::OpenDevice(job.device);
  std::vector<DataLoss> losses;
  const std::vector<nlohmann::json> lines =
      is_python ? TimePythonCases(job, device) : TimeCases(*selection, job, device);

  const ClockSample clocks = collect::ReadClocks(device, "after", losses);
  nlohmann::json sample = {{"version", 1},
                           {"environment", EnvironmentJson(device)},
                           {"throttled", !collect::ThrottleReasons(clocks).empty()},
                           {"throttle_reasons", collect::ThrottleReasons(clocks)},
                           {"cases", lines}};
  if (clocks.temperature_celsius) sample["temperature_celsius"] = *clocks.temperature_celsius;
  std::vector<double> hertz;
  for (const nlohmann::json& line : lines) {
    if (line.contains("sm_clock_hz")) hertz.push_back(line["sm_clock_hz"].get<double>());
  }
  if (!hertz.empty()) sample["sm_clock_hz"] = gate::Median(hertz);
  own.Write(sample.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + '\n');
}

}  // namespace fa_profile::jobs
