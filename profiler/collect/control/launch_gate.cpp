#include "fa_profile/launch_gate.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "fa_profile/notice.h"
#include "fa_profile/quiet_writes.h"

namespace fa_profile::collect {
namespace {

// Limits for leaving CUPTI: until no stream captures, then until the GPU is idle.
constexpr std::chrono::seconds kLongestCapture{2};
constexpr std::chrono::milliseconds kBetweenLooks{10};
constexpr double kIdleBeforeLeavingSeconds = 4.0;
constexpr double kIdleAtExitSeconds = 1.0;
// Checking a launch that is then not measured takes less.
constexpr std::int64_t kShortestMeasuringNs = 100'000;

}  // namespace

LaunchGate::LaunchGate(ProgramApi& api, LaunchFilter& filter, LaunchClasses& classes, CounterPlan plan)
    : program_{api, filter, classes, std::move(plan)}, instructions_(program_), counters_(program_, instructions_) {
  program_.idle.YieldTo(lock_);
}

// A thread that takes the lock may change how a launch must be treated.
LaunchGate::Lock LaunchGate::Hold() {
  Lock hold(lock_);
  shortcut_ = Shortcut::kNone;
  return hold;
}

// Counts the launch without the lock, for which a program's threads would wait, if nothing else is to be done.
bool LaunchGate::TakesShortcut(const LaunchCall& call) noexcept {
  if (shortcut_ != Shortcut::kCount || !sampling_end_.KnowsThisThread() || !program_.api.Records()) return false;
  Count(call, 1);
  return true;
}

void LaunchGate::Count(const LaunchCall& call, int launches) noexcept {
  try {
    counts_.Count(call, launches);
  } catch (const std::bad_alloc&) {
    return;  // recorded launches count
  }
}

LaunchGate::Way LaunchGate::Enter(const LaunchCall& call) noexcept {
  if (TakesShortcut(call)) return Way::kPasses;
  if (lock_.IsMine()) {  // our own launch
    ++alone_.nested;
    return Way::kPasses;
  }
  Lock hold = Hold();
  if (watch_ == Watch::kOff || measuring_ == Measuring::kStopped) return Way::kPasses;
  if (!capturing_.empty()) {  // most of these become nodes of the captured graph
    if (CountsLaunches()) counts_.OnCapturedLaunch();
    return Way::kPasses;
  }
  sampling_end_.OnLaunch();
  if (SmallStacks::IsHere() && program_.api.sampling() != ProgramApi::Sampling::kOff) small_stacks_.Warn();
  const bool counts = CountsLaunches() && program_.api.Records();
  if (counts) Count(call, 1);
  if (CountsLaunches() && !counts) counts_.OnOtherContext();
  if (sampling_end_.due() && program_.api.Records() && !SmallStacks::IsHere()) EndSamplingAtLaunch();
  const bool selected = measuring_ != Measuring::kNothing && Selects(call);
  if (measuring_ == Measuring::kNothing || (recording_ == Recording::kOpen && !MeasuresLocked())) {
    const bool asks = measuring_ != Measuring::kNothing && program_.filter.asks();
    if (counts && !sampling_end_.due() && !asks) shortcut_ = Shortcut::kCount;
    return Way::kPasses;
  }
  const LaunchUse use = TryAlone(call, selected);
  if (counts && (use == LaunchUse::kMeasured || use == LaunchUse::kReplaced)) Count(call, -1);  // it is not recorded
  if (use == LaunchUse::kNone) return Way::kPasses;
  if (use == LaunchUse::kReplaced) return Way::kReplaced;
  (void)hold.release();  // Leave() unlocks
  return Way::kAlone;
}

// Decides how a launch is treated.
LaunchUse LaunchGate::TryAlone(const LaunchCall& call, bool selected) noexcept {
  const QuietWrites quiet;
  alone_.began_ns = program_.api.NowNs();
  try {
    if (recording_ == Recording::kAwaitsLaunch) {
      recording_ = Recording::kOpen;
      if (!program_.api.OpenRecording()) {
        GiveUp("");
        return LaunchUse::kNone;
      }
    }
    if (MeasuresLocked() && program_.api.Records() && HasStack(selected)) {
      const LaunchUse use = call.symbol == nullptr ? BeginGraph(call, selected) : Begin(call, KeyOf(call), selected);
      if (use == LaunchUse::kReplaced) AddMeasuringTime(alone_.began_ns);
      if (use != LaunchUse::kNone) return use;
    }
  } catch (const std::exception& error) {
    GiveUp(error.what());
  }
  AddMeasuringTime(alone_.began_ns);  // time spent waiting
  return LaunchUse::kNone;
}

// CUPTI would overflow a small one.
bool LaunchGate::HasStack(bool selected) {
  if (!SmallStacks::IsHere()) return true;
  if (selected) small_stacks_.OnSkipped();
  return false;
}

LaunchUse LaunchGate::Begin(const LaunchCall& call, const std::string& key, bool selected) {
  const bool counts = instructions_.waits();
  const LaunchUse use = counts ? instructions_.Begin(key, selected && counters_.IsPlace(call, key))
                               : counters_.Begin(call, key, selected);
  if (use != LaunchUse::kNone) alone_.by = counts ? Alone::By::kInstructionRound : Alone::By::kCounterRound;
  return use;
}

LaunchUse LaunchGate::BeginGraph(LaunchCall call, bool selected) {
  const std::shared_ptr<GraphNodes> graph = program_.api.NodesOf(call);
  if (graph != nullptr) call.kernels = std::max(1, static_cast<int>(graph->nodes().size()));
  const LaunchUse use = Begin(call, KeyOf(call), selected);
  if (use != LaunchUse::kNone || graph == nullptr || !selected || !MeasuresLocked()) return use;
  return Unroll(call, *graph);
}

// A graph measured as a whole says nothing about its kernels. The program's work still happens once: the nodes are
// launched, and the graph is not.
LaunchUse LaunchGate::Unroll(const LaunchCall& call, GraphNodes& graph) {
  // CUPTI's replay of a kernel that waits for another one would not end.
  if (program_.plan.replay == Replay::kKernel && graph.has_branches()) return LaunchUse::kNone;
  const std::vector<GraphNodes::Node>& nodes = graph.nodes();
  bool any = false;
  for (std::size_t i = 0; i < nodes.size() && !any; ++i) any = MayTake(i, nodes[i]);
  if (!any || !program_.idle.Wait()) return LaunchUse::kNone;
  graph.Begin(call.stream);
  const bool recorded = !program_.trace.BeginUnrolling();
  std::size_t launched = 0;
  try {
    for (; launched < nodes.size(); ++launched) LaunchNode(graph, launched, recorded);
    graph.End();
    // What belongs to the graph may be freed once the program destroys it; for its own launches the driver delays that.
    (void)program_.api.WaitIdle(IdleWait::kFirstSeconds);
  } catch (const std::exception& error) {  // returned to the program as the result of its launch
    GiveUp(error.what());
  }
  program_.trace.EndUnrolling();
  return launched == 0 ? LaunchUse::kNone : LaunchUse::kReplaced;
}

bool LaunchGate::MayTake(std::size_t index, const GraphNodes::Node& node) {
  if (node.call.symbol == nullptr) return false;
  if (program_.filter.asks() && (index >= unrolled_.selected.size() || !unrolled_.selected[index])) return false;
  if (!instructions_.waits()) return counters_.MayTake(node.call, node.key);
  return instructions_.IsDue(node.key) && counters_.IsPlace(node.call, node.key);
}

void LaunchGate::LaunchNode(GraphNodes& graph, std::size_t index, bool recorded) {
  const GraphNodes::Node& node = graph.nodes()[index];
  const LaunchUse use = BeginNode(index, node);
  if (node.call.symbol != nullptr && use != LaunchUse::kMeasured) {
    if (!recorded) ++unrolled_.unseen;
    if (recorded && CountsLaunches()) Count(node.call, 1);
  }
  if (use == LaunchUse::kNone) return graph.Launch(index);
  try {
    graph.Launch(index);
  } catch (...) {
    EndAlone();
    throw;
  }
  EndAlone();
}

// Whatever fails here, the nodes are launched.
LaunchUse LaunchGate::BeginNode(std::size_t index, const GraphNodes::Node& node) noexcept {
  try {
    if (!MeasuresLocked() || !MayTake(index, node)) return LaunchUse::kNone;
    return Begin(node.call, node.key, /*selected=*/true);
  } catch (const std::exception& error) {
    GiveUp(error.what());
    return LaunchUse::kNone;
  }
}

// Other threads must not wait here: a launch that does not end would be in CUPTI's way while this one is measured.
void LaunchGate::Leave() noexcept {
  if (!lock_.IsMine()) return;
  if (alone_.nested > 0) {
    --alone_.nested;
    return;
  }
  if (alone_.by == Alone::By::kNobody) return;
  const QuietWrites quiet;
  const Lock hold(lock_, std::adopt_lock);
  EndAlone();
  AddMeasuringTime(alone_.began_ns);
}

void LaunchGate::EndAlone() noexcept {
  try {
    alone_.by == Alone::By::kInstructionRound ? instructions_.End() : counters_.End();
  } catch (const std::exception& error) {
    program_.trace.Start();  // before PC sampling begins again: CUPTI does not begin to record while it samples
    GiveUp(error.what());
  }
  alone_.by = Alone::By::kNobody;
}

bool LaunchGate::MayMeasure() const {
  return measuring_ == Measuring::kAll && !program_.plan.metrics.empty() && !program_.filter.over();
}

bool LaunchGate::MeasuresLocked() const { return MayMeasure() && (instructions_.waits() || counters_.waits()); }

bool LaunchGate::Selects(const LaunchCall& call) {
  if (!program_.filter.asks()) return true;
  if (!MayMeasure() || !program_.api.Records()) return false;
  try {
    const std::shared_ptr<GraphNodes> graph = call.symbol == nullptr ? program_.api.NodesOf(call) : nullptr;
    if (graph == nullptr) return program_.filter.Takes(call);
    unrolled_.selected.clear();
    for (const GraphNodes::Node& node : graph->nodes()) {
      unrolled_.selected.push_back(node.call.symbol != nullptr && program_.filter.Takes(node.call));
    }
    return std::ranges::find(unrolled_.selected, true) != unrolled_.selected.end();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void LaunchGate::EndSamplingAtLaunch() noexcept {
  try {
    if (program_.api.WaitIdle(sampling_end_.NextWaitSeconds()) && program_.idle.WaitForCalls()) EndSamplingWhileIdle();
  } catch (const std::exception& error) {
    program_.api.StartTrace();
    GiveUp(error.what());
  }
}

void LaunchGate::EndSamplingWhileIdle() {
  program_.api.StopTrace();
  program_.api.PauseSampling();
  program_.api.EndSampling();
  program_.api.StartTrace();
}

void LaunchGate::Allow(Measuring no_more_than) { measuring_ = std::max(measuring_, no_more_than); }

// Without a reason if this process is not recorded.
void LaunchGate::GiveUp(const char* why) noexcept {
  Allow(Measuring::kNothing);
  counters_.Abandon();
  instructions_.Drop();
  if (*why == '\0') {
    program_.api.EndSampling();
    return;
  }
  program_.trace.EndMeasuring();
  try {
    const std::string text = why;
    Notice("no counters are measured any more: " + text.substr(0, text.find('\n')));  // without the hint
    program_.losses.push_back({"counters_ended", "", why, 1});
  } catch (const std::bad_alloc&) {
    return;
  }
}

void LaunchGate::AddMeasuringTime(std::int64_t began_ns) {
  const std::int64_t elapsed_ns = program_.api.NowNs() - began_ns;
  if (counters_.planned() && elapsed_ns >= kShortestMeasuringNs) alone_.total_ns += elapsed_ns;
}

// From here on nothing runs alone. CUPTI's own work captures nothing, here and below.
void LaunchGate::OnCaptureBegins(const void* stream) noexcept {
  if (lock_.IsMine()) return;
  const Lock hold = Hold();
  try {
    capturing_.insert(stream);
  } catch (const std::bad_alloc&) {
    Allow(Measuring::kNothing);
  }
}

void LaunchGate::OnCaptureEnded(const void* stream) noexcept {
  if (lock_.IsMine()) return;
  const Lock hold = Hold();
  capturing_.erase(stream);
}

void LaunchGate::IfNothingCaptures(const std::function<void()>& work) noexcept {
  if (lock_.IsMine()) {
    work();
    return;
  }
  const Lock hold(lock_, std::try_to_lock);
  if (hold && capturing_.empty()) work();
}

void LaunchGate::OnContextEnds() noexcept {
  if (lock_.IsMine()) return;
  const Lock hold = Hold();
  const bool open = counters_.open();
  counters_.Abandon();
  counters_.ForgetChosen();
  instructions_.Drop();
  instructions_.Close();  // or CUPTI, at exit, would free what belongs to the context: SIGSEGV (H200, CUDA 13.0)
  program_.api.OnContextLost();
  if (open) GiveUp("the program destroyed its CUDA context");
}

bool LaunchGate::Measures() {
  const Lock hold = Hold();
  return MeasuresLocked();
}

bool LaunchGate::IsCapturing() {
  const Lock hold = Hold();
  return !capturing_.empty();
}

std::vector<LaunchCandidate> LaunchGate::Candidates() {
  return program_.classes.Candidates([this](std::uint32_t graph) { return program_.api.HasNodesOf(graph); });
}

// Nothing is taken between the two counts of a launch that runs alone.
AskedLaunches LaunchGate::TakeCounts() {
  const Lock hold = Hold();
  return counts_.Take();
}

void LaunchGate::Tick() {
  bool chooses = false;
  {
    const Lock hold = Hold();
    if (recording_ == Recording::kAwaitsLaunch) return;
    chooses = MayMeasure() && counters_.MayChoose() && !instructions_.waits();
  }
  if (chooses) {
    const std::vector<LaunchCandidate> candidates = Candidates();
    const Lock hold = Hold();
    counters_.Choose(candidates);
  }
  Write(/*at_end=*/false);
  bool watches = false;
  {
    const Lock hold = Hold();
    watches = CountsLaunches() || sampling_end_.asked() || MeasuresLocked() || (program_.filter.asks() && MayMeasure());
    counters_.Tick();
    instructions_.Tick();
    if (watches == (watch_ == Watch::kOn)) return;
    if (!watches) watch_ = Watch::kOff;
  }
  watches ? StartWatching() : program_.api.WatchLaunches(false);
}

void LaunchGate::Write(bool at_end) {
  while (true) {
    std::optional<CounterRound::Measured> measured;
    {
      const Lock hold = Hold();
      measured = counters_.TakeMeasured(at_end);
    }
    if (!measured) return;
    std::vector<DataLoss> losses = counters_.Write(std::move(*measured));
    const Lock hold = Hold();
    std::ranges::move(losses, std::back_inserter(program_.losses));
  }
}

void LaunchGate::WhileNothingIsWatched(const std::function<void()>& work) {
  Watch before = Watch::kOff;
  {
    const Lock hold = Hold();
    before = std::exchange(watch_, Watch::kOff);
  }
  work();
  const Lock hold = Hold();
  watch_ = before;
}

void LaunchGate::StartWatching() {
  {
    const Lock hold = Hold();
    if (watch_ == Watch::kOn) return;
  }
  program_.api.WatchLaunches(true);
  const Lock hold = Hold();
  watch_ = Watch::kOn;
}

void LaunchGate::Stop() {
  const Lock hold = Hold();
  Allow(Measuring::kStopped);
}

void LaunchGate::WatchRoom() {
  const Lock hold = Hold();
  if (!MayMeasure()) return;
  try {
    program_.api.RequireRoom();
  } catch (const std::exception& error) {
    Allow(Measuring::kNothingNew);
    program_.losses.push_back({"counters_ended", "", error.what(), 1});
  }
}

bool LaunchGate::EndSampling() {
  const ProgramApi::Sampling sampling = program_.api.sampling();
  if (sampling == ProgramApi::Sampling::kHangs) return false;
  if (sampling == ProgramApi::Sampling::kOff) {
    program_.api.EndSampling();
    return true;
  }
  {
    const Lock hold = Hold();
    if (!sampling_end_.possible()) return false;
  }
  StartWatching();
  const Lock hold = Hold();
  sampling_end_.Ask();
  return false;
}

bool LaunchGate::LeaveCupti() {
  StartWatching();  // launches and captures wait in their callbacks while we hold the lock
  {
    Lock hold = Hold();
    const auto deadline = std::chrono::steady_clock::now() + kLongestCapture;
    // Anything switched off while a stream captures invalidates the capture, and so does a wait for the GPU.
    while (!capturing_.empty()) {
      hold.unlock();
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::sleep_for(kBetweenLooks);
      hold = Hold();
    }
    const bool idle = program_.api.WaitAllIdle(kIdleBeforeLeavingSeconds) && program_.idle.WaitForCalls();
    // To end these, CUPTI waits for the GPU without a bound. If they are off, only the records of running work are
    // lost.
    if (!idle && (counters_.open() || program_.api.sampling() == ProgramApi::Sampling::kOn)) return false;
    Allow(Measuring::kStopped);
    program_.api.EnterContext();
    counters_.CutShort();
    counters_.Abandon();
    instructions_.Close();
    program_.api.LeaveCupti();
  }
  Write(/*at_end=*/true);
  return true;
}

void LaunchGate::EndMeasuring() noexcept {
  if (lock_.IsMine()) return;  // exit() inside a launch that runs alone
  Lock hold(lock_, std::defer_lock);
  const auto deadline = std::chrono::steady_clock::now() + kLongestCapture;
  while (!hold.try_lock()) {
    if (std::chrono::steady_clock::now() >= deadline) return;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  Allow(Measuring::kNothing);
  try {
    const bool sampled = program_.api.sampling() == ProgramApi::Sampling::kOn;
    if (!counters_.open() && (!sampled || sampling_end_.IsOnlyThread())) return;
    // To end these, CUPTI waits for the GPU without a bound; a wait would invalidate a capture.
    if (!capturing_.empty()) return;
    program_.api.EnterContext();
    if (!program_.api.WaitIdle(kIdleAtExitSeconds) || !program_.idle.WaitForCalls()) return;
    counters_.CutShort();
    counters_.Abandon();
    instructions_.Close();
    if (sampled) EndSamplingWhileIdle();
  } catch (const std::exception& error) {
    program_.losses.push_back({"counters_ended", "", error.what(), 1});
  }
}

std::vector<DataLoss> LaunchGate::Finish() {
  {
    // A signal handler may call exit() inside a launch that runs alone, which then never returns.
    const bool inside = lock_.IsMine();
    const Lock hold = inside ? Lock(lock_, std::adopt_lock) : Hold();
    if (!inside && counters_.taking() && program_.api.WaitIdle(IdleWait::kFirstSeconds)) counters_.CutShort();
    Allow(Measuring::kNothing);
    watch_ = Watch::kOff;
    counters_.ForgetChosen();  // in a round without a complete pass
  }
  Write(/*at_end=*/true);
  // The driver is not asked for more graphs: their context may be gone.
  const std::vector<LaunchCandidate> candidates = program_.classes.Candidates([](std::uint32_t) { return false; });
  const Lock hold = Hold();
  std::vector<DataLoss> losses = std::exchange(program_.losses, {});
  std::ranges::move(counters_.Losses(candidates), std::back_inserter(losses));
  std::ranges::move(counts_.Losses(), std::back_inserter(losses));
  std::ranges::move(program_.filter.Losses(), std::back_inserter(losses));
  std::ranges::move(small_stacks_.Losses(), std::back_inserter(losses));
  if (const std::int64_t busy = program_.idle.failed(); busy > 0) {
    losses.push_back({"launch_not_measured", "launches while the GPU was busy with other work",
                      "to measure one, the GPU must become idle within 0.2 s (1.6 s after several tries)", busy});
  }
  return losses;
}

std::int64_t LaunchGate::measured_launches() const {
  return counters_.ranges() + counters_.replayed_launches() + instructions_.counted_launches() + unrolled_.unseen;
}

}  // namespace fa_profile::collect
