#include "pair_runner.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <tuple>

#include "fa_profile/error.h"

namespace fa_profile::gate {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void OnInterrupt(int) { interrupted = true; }

const char* NameOf(PairArm arm) { return arm == PairArm::kCandidate ? "candidate" : "base"; }

std::vector<std::string> HashesOf(const CaseFacts& facts) {
  std::vector<std::string> hashes;
  for (const CodeFacts& code : facts.code) hashes.push_back(code.code_hash);
  std::ranges::sort(hashes);
  return hashes;
}

// If a Python call launches many kernels, not every recording holds each one's code.
bool IsOtherCode(const CaseFacts& before, const CaseFacts& now, bool python) {
  if (!python) return HashesOf(before) != HashesOf(now);
  return std::ranges::any_of(now.code, [&](const CodeFacts& code) {
    const auto same = std::ranges::find(before.code, code.symbol, &CodeFacts::symbol);
    return same != before.code.end() && same->code_hash != code.code_hash;
  });
}

CaseFacts& CaseOf(Evidence& evidence, const CaseId& id) {
  if (const auto index = FindCase(evidence, id.first, id.second)) return evidence.cases[*index];
  CaseFacts& facts = evidence.cases.emplace_back();
  std::tie(facts.kernel, facts.shape) = id;
  return facts;
}

// Only for whole kernels: phases are sampled anyway.
std::set<std::string> RuledMetrics(const Thresholds& thresholds) {
  std::set<std::string> metrics;
  for (const ThresholdRule& rule : thresholds.rules) {
    if (rule.phase.empty()) metrics.insert(rule.metric);
  }
  return metrics;
}

std::string Tail(const std::string& text) {
  constexpr std::size_t kMost = 1500;
  const std::string tail = text.size() > kMost ? "..." + text.substr(text.size() - kMost) : text;
  return tail.empty() ? "" : "; its output:\n" + tail;
}

// Exit code 1 means that a recording was written and a kernel is not correct.
std::string WhyNoRecording(const ChildEnd& end) {
  const bool wrong_kernel = !end.timed_out && WIFEXITED(end.status) && WEXITSTATUS(end.status) == 1;
  return wrong_kernel ? "" : Describe(end);
}

std::string WhyNoSample(const ChildEnd& end) {
  if (std::string why = Describe(end); !why.empty()) return why;
  try {
    (void)ParseTimingSample(end.out);
    return "";
  } catch (const Error& error) {
    return "succeeded, but: " + error.message();
  }
}

}  // namespace

SignalsEndChildren::SignalsEndChildren() {
  interrupted = false;
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  for (std::size_t i = 0; i < kSignals.size(); ++i) (void)sigaction(kSignals[i], &action, &before_[i]);
}

SignalsEndChildren::~SignalsEndChildren() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) (void)sigaction(kSignals[i], &before_[i], nullptr);
}

PairRunner::PairRunner(const PairOptions& options)
    : options_(options),
      base_(FindGateBuild(options.base, options.tool)),
      candidate_(FindGateBuild(options.candidate, options.tool)) {
  const auto kind = [](const GateBuild& build) {
    return !build.python.empty() ? "a kernel in Python" : build.library.empty() ? "a program" : "a kernel library";
  };
  if (kind(base_) != std::string(kind(candidate_))) {
    throw Error(fmt::format("{} and {} cannot be compared: {} and {}", kind(base_), kind(candidate_), base_.path,
                            candidate_.path),
                "give two builds of fa-profile, two kernel libraries or two kernels in Python");
  }
  base_.base_id = candidate_.base_id = base_.kernel_id;
  if (base_.kernel_id != candidate_.kernel_id) {
    run_.candidate.losses.push_back(
        fmt::format("its kernel is named {}; it is compared with {}", candidate_.kernel_id, base_.kernel_id));
  }
  if (!options.candidate_note.empty()) run_.candidate.losses.push_back(options.candidate_note);
  run_.base.origin = base_.path;
  run_.candidate.origin = candidate_.path;
  run_.control.origin = base_.path;
}

Evidence& PairRunner::EvidenceOf(PairArm arm) {
  if (arm == PairArm::kControl) return run_.control;
  return arm == PairArm::kBase ? run_.base : run_.candidate;
}

ChildEnd PairRunner::RunProcess(const std::vector<std::string>& command) {
  // Its own time limit is for one case, and its cases need more than one Python process each.
  constexpr double kPythonProcesses = 5.0;
  const double factor = base_.python.empty() ? 1.0 : kPythonProcesses;
  ChildEnd end = RunChildGroup(command[0], command, {factor * options_.timeout_seconds, &interrupted});
  ThrowIfInterrupted();
  return end;
}

GateRequest PairRunner::NewRequest() const {
  GateRequest request;
  request.device = options_.device;
  request.libraries = options_.libraries;
  request.metrics = RuledMetrics(options_.thresholds);
  request.python = options_.python;
  request.timeout_seconds = options_.timeout_seconds;
  return request;
}

void PairRunner::ThrowIfInterrupted() const {
  if (interrupted) throw Error("interrupted", "nothing was judged: run it again");
}

// Runs the arm's process until it succeeds, each time without the kernels that make it fail. False: none is left.
bool PairRunner::Start(PairArm arm, std::set<CaseId> cases, bool everything, const Command& command,
                       const Check& check) {
  for (;;) {
    GateRequest request = NewRequest();
    request.pattern = options_.kernel_pattern;
    request.shapes = options_.shapes;
    if (!everything) {
      std::set<std::string> kernels;
      std::set<std::string> shapes;
      for (const auto& [kernel, shape] : cases) {
        kernels.insert(kernel);
        shapes.insert(shape);
      }
      request.kernels.assign(kernels.begin(), kernels.end());
      request.shapes.assign(shapes.begin(), shapes.end());
    }
    const std::vector<std::string> line = command(request);
    const ChildEnd end = RunProcess(line);
    const std::string why = check(end);
    if (why.empty()) return true;
    if (arm != PairArm::kCandidate) {
      throw Error(fmt::format("the base {} cannot be measured: its process {}{}", base_.path, why, Tail(end.err)),
                  "run by hand: " + ShellLine(line));
    }
    Blame(cases, line, end, why, command, check);
    std::erase_if(cases, [&](const CaseId& id) {
      const auto index = FindCase(run_.candidate, id.first, id.second);
      return index && !run_.candidate.cases[*index].works();
    });
    everything = false;
    if (cases.empty()) return false;
  }
}

// The candidate's process failed: runs each kernel alone to find those that make it fail.
void PairRunner::Blame(const std::set<CaseId>& cases, const std::vector<std::string>& command_line, const ChildEnd& end,
                       const std::string& why, const Command& command, const Check& check) {
  std::map<std::string, std::vector<std::string>> shapes;  // by kernel
  for (const auto& [kernel, shape] : cases) shapes[kernel].push_back(shape);
  std::map<std::string, std::string> culprits;
  bool all_refuse = shapes.size() > 1;
  for (const auto& [kernel, of_kernel] : shapes) {
    Show("searching the kernel that fails: " + kernel);
    std::string alone = why;
    if (shapes.size() > 1) {
      GateRequest request = NewRequest();
      request.kernels = {kernel};
      request.shapes = of_kernel;
      const ChildEnd end_alone = RunProcess(command(request));
      alone = check(end_alone);
      all_refuse = all_refuse && !alone.empty() && !end_alone.timed_out && WIFEXITED(end_alone.status);
    }
    if (!alone.empty()) culprits[kernel] = alone;
  }
  if (culprits.empty() || all_refuse) {
    throw Error(fmt::format("the candidate {} cannot be measured: its process {}{}{}", candidate_.path, why,
                            culprits.empty() ? ", but each kernel alone succeeds" : "", Tail(end.err)),
                "run by hand: " + ShellLine(command_line));
  }
  for (const CaseId& id : cases) {
    if (culprits.contains(id.first)) Fail(PairArm::kCandidate, id, "its process " + culprits[id.first]);
  }
}

// Stops measuring the case. Returns the facts that should hold the reason: the base's if the control failed, which runs
// the base's code.
CaseFacts& PairRunner::Drop(PairArm arm, const CaseId& id) {
  timed_.erase(id);
  recorded_.erase(id);
  return CaseOf(arm == PairArm::kCandidate ? run_.candidate : run_.base, id);
}

void PairRunner::Fail(PairArm arm, const CaseId& id, const std::string& why) {
  CaseFacts& facts = Drop(arm, id);
  if (!facts.verification) facts.verification.emplace();
  facts.verification->error = why;
}

std::optional<TimingSample> PairRunner::Sample(PairArm arm, std::uint64_t order) {
  std::optional<TimingSample> sample;
  (void)Start(
      arm, timed_, false,
      [&](const GateRequest& request) { return TimingCommand(Build(arm), request, options_.launches, order); },
      [&](const ChildEnd& end) {
        timings_.seconds += end.seconds;
        std::string why = WhyNoSample(end);
        if (why.empty()) sample = ParseTimingSample(end.out);
        return why;
      });
  if (sample) RequireSameGpu(arm, sample->environment.gpu_uuid);
  return nothing_to_time() ? std::nullopt : sample;
}

void PairRunner::WarmUp() {
  for (int i = 0; i < options_.warmups && !nothing_to_time(); ++i) {
    Show("warm-up");
    (void)Sample(i % 2 == 0 ? PairArm::kBase : PairArm::kCandidate, 0);
    ++timings_.done;
    --timings_.left;
  }
}

void PairRunner::Time(PairArm arm, int pair, int stage) {
  if (nothing_to_time()) return;
  Show(fmt::format("timing pair {}", pair + 1));
  // One order of the cases in all arms of a pair, another in the next.
  const std::optional<TimingSample> sample = Sample(arm, static_cast<std::uint64_t>(pair) + 1);
  ++timings_.done;
  --timings_.left;
  if (!sample) return;
  Evidence& evidence = EvidenceOf(arm);
  ProcessSample process;
  process.kind = "timing";
  process.stage = stage;
  process.pair = pair;
  process.throttled = sample->throttled;
  process.sm_clock_hz = sample->sm_clock_hz;
  process.temperature_celsius = sample->temperature_celsius;
  process.values.resize(evidence.cases.size());
  for (const TimingSample::Case& one : sample->cases) {
    const CaseId id(NameInBase(Build(arm), one.kernel), one.shape);
    const bool is_reference = id.first == kReferenceKernel;
    if (is_reference && !one.error.empty()) {
      throw Error("the gate's reference kernel fails: " + one.error,
                  "the GPU may be faulty: look for an Xid in `dmesg`");
    }
    if (!is_reference && !timed_.contains(id)) continue;  // not selected, but each kernel runs at each shape
    if (!one.error.empty() && arm == PairArm::kCandidate) {
      Fail(arm, id, one.error);
      continue;
    }
    if (!one.error.empty()) {
      // It ran in the first recording: a candidate does not fix it, but a process that one left behind can break it.
      Drop(arm, id).untimed = "it ran at first and no longer does: " + one.error;
      continue;
    }
    if (!one.refused.empty()) {
      Drop(arm, id).refused = one.refused;
      continue;
    }
    if (!one.untimed.empty()) {
      Drop(arm, id).untimed = one.untimed;
      continue;
    }
    std::map<MetricKey, double>& values = process.values.at(*FindCase(evidence, id.first, id.second));
    values[{"", kDuration}] = one.duration_seconds;
    if (one.duration_cycles) values[{"", kCycles}] = *one.duration_cycles;
  }
  evidence.processes.push_back(std::move(process));
}

Evidence PairRunner::LoadPiece(PairArm arm, const std::string& path) const {
  Evidence piece = options_.load(path);
  for (CaseFacts& facts : piece.cases) {
    facts.kernel = NameInBase(Build(arm), facts.kernel);
    facts.host_code_hash = Build(arm).host_code_hash;
  }
  RequireSameGpu(arm, piece.environment.gpu_uuid);
  return piece;
}

void PairRunner::Record(PairArm arm, int pair, int stage) {
  const bool first = pair == 0 && arm != PairArm::kControl;
  if (!first && recorded_.empty()) return;
  Show(fmt::format("recording pair {}", pair + 1));
  std::set<CaseId> cases = recorded_;
  if (first) {
    for (const CaseFacts& facts : run_.base.cases) cases.insert({facts.kernel, facts.shape});
  }
  std::string path;
  const bool recorded = Start(
      arm, std::move(cases), first,
      [&](const GateRequest& request) {
        path = folder_.path() / fmt::format("{}.fap", files_++);
        // Inputs are drawn once per build: the same code gives the same result for the same inputs.
        return RecordingCommand(Build(arm), request, first ? options_.draws : 0, path);
      },
      [&](const ChildEnd& end) {
        recordings_.seconds += end.seconds;
        return WhyNoRecording(end);
      });
  ++recordings_.done;
  --recordings_.left;
  if (!recorded) return;
  AddProcesses(arm, LoadPiece(arm, path), pair, stage);
  std::filesystem::remove(path);
}

void PairRunner::AddProcesses(PairArm arm, const Evidence& piece, int pair, int stage) {
  Evidence& evidence = EvidenceOf(arm);
  if (evidence.environment.gpu_uuid.empty()) evidence.environment = piece.environment;
  for (const std::string& loss : piece.losses) {
    if (std::ranges::find(evidence.losses, loss) == evidence.losses.end()) evidence.losses.push_back(loss);
  }
  std::vector<std::optional<std::size_t>> place;  // for the piece's cases
  for (const CaseFacts& facts : piece.cases) {
    const CaseId id(facts.kernel, facts.shape);
    std::optional<std::size_t> index = FindCase(evidence, facts.kernel, facts.shape);
    if (!index && pair == 0 && arm != PairArm::kControl) {
      evidence.cases.push_back(facts);
      index = evidence.cases.size() - 1;
    } else if (index && IsOtherCode(evidence.cases[*index], facts, !base_.python.empty())) {
      throw Error(fmt::format("the {} {} changed while it was measured: {} now has other machine code", NameOf(arm),
                              Build(arm).path, facts.kernel),
                  base_.python.empty() ? "do not rebuild during the run, or measure copies"
                                       : "do not edit the file during the run; pin the configuration of a kernel "
                                         "that tunes itself (@triton.autotune)");
    }
    // Only selected cases count, though each kernel runs at each shape.
    place.push_back(pair == 0 || recorded_.contains(id) ? index : std::nullopt);
  }
  for (ProcessSample process : piece.processes) {
    process.stage = stage;
    process.pair = pair;
    std::vector<std::map<MetricKey, double>> values(evidence.cases.size());
    for (std::size_t i = 0; i < std::min(place.size(), process.values.size()); ++i) {
      if (place[i]) values[*place[i]] = std::move(process.values[i]);
    }
    process.values = std::move(values);
    evidence.processes.push_back(std::move(process));
  }
}

void PairRunner::FirstLook() {
  recordings_.left = 2;
  Record(PairArm::kBase, 0, 1);
  if (HasCompany()) {
    throw Error("another process has a compute context on GPU " + run_.base.environment.gpu_uuid,
                "find it with `nvidia-smi` and stop it, use another GPU with --device, or allow it with --shared");
  }
  Record(PairArm::kCandidate, 0, 1);
  Evidence& candidate = run_.candidate;
  if (candidate.processes.empty()) {  // no process got far enough to report its environment
    candidate.environment = run_.base.environment;
    candidate.losses.emplace_back("none of its processes succeeded: its environment is taken from the base");
  }
  run_.control.environment = run_.base.environment;
  run_.control.cases = run_.base.cases;
  for (Evidence* const evidence : {&run_.base, &run_.candidate, &run_.control}) {
    (void)CaseOf(*evidence, {kReferenceKernel, ""});
  }
}

void PairRunner::Want(std::set<CaseId> timed, std::set<CaseId> recorded) {
  timed_ = std::move(timed);
  recorded_ = std::move(recorded);
}

void PairRunner::Expect(int timings, int recordings) {
  timings_.left = timings;
  recordings_.left = recordings;
}

void PairRunner::RequireSameGpu(PairArm arm, const std::string& uuid) const {
  const std::string& expected = run_.base.environment.gpu_uuid;
  if (expected.empty() || uuid == expected) return;
  throw Error(fmt::format("a process of the {} ran on GPU {}, but the base ran on {}", NameOf(arm),
                          uuid.empty() ? "(unknown)" : uuid, expected),
              "run both builds on one GPU: use --device, and CUDA_VISIBLE_DEVICES with its UUID");
}

bool PairRunner::HasCompany() const {
  if (options_.shared || !options_.compute_processes) return false;
  constexpr int kPatience = 20;
  for (int i = 0; i < kPatience; ++i) {  // the driver may still list the process that just ended
    if (options_.compute_processes(run_.base.environment.gpu_uuid).value_or(0) == 0) return false;
    ThrowIfInterrupted();
    constexpr useconds_t kWaitUs = 100'000;
    (void)usleep(kWaitUs);
  }
  return true;
}

void PairRunner::NoteCompany(int pair) {
  if (!HasCompany()) return;
  run_.base.losses.push_back(fmt::format("another process used the GPU after pair {}", pair + 1));
}

void PairRunner::Show(const std::string& what) {
  double left = 0.0;
  for (const Kind& kind : {timings_, recordings_}) {
    if (kind.done > 0) left += kind.seconds / kind.done * std::max(kind.left, 0);
  }
  const std::string remains = left > 0.0 ? fmt::format("{}, about {:.0f} s left", what, left) : what;
  const int done = timings_.done + recordings_.done;
  bar_.Show("measure", remains, done, done + std::max(timings_.left, 0) + std::max(recordings_.left, 0));
}

}  // namespace fa_profile::gate
