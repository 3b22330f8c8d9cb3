#include "worker_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace fa_profile::judge {
namespace {

constexpr double kBurstNs = 3e6;  // 150 readings of the witness
constexpr int kMostCallsAGraph = 400;
constexpr double kMostApart = 300;

using Clock = std::chrono::steady_clock;

double NsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

}  // namespace

WorkerCalls::WorkerCalls(bool in_python, collect::GpuApi& gpu, LibraryProcess& worker, TensorSets& sets,
                         std::optional<Witness>& witness, std::mt19937_64& random)
    : in_python_(in_python), gpu_(gpu), worker_(worker), sets_(sets), witness_(witness), random_(random) {}

void WorkerCalls::Prepare() {
  constexpr int kWarmCalls = 3;
  for (const nlohmann::json& handles : sets_.Handles()) {  // a message each: many tensors would not fit in one
    (void)worker_.Require({{"do", "open"}, {"sets", nlohmann::json::array({handles})}});
  }
  sets_.Deliver(Shuffled(1));
  sets_.Poison(Poison::kMarked, random_());
  double longest_ns = 0.0;  // in the last run, one call of each set
  double run_ns = 0.0;
  for (int i = 0; i < kWarmCalls; ++i) {
    const Clock::time_point start = Clock::now();
    Run(Shuffled(1), 0);
    run_ns = NsSince(start);
    if (witness_) sets_.Capture(0);  // it also watches copies of results
    longest_ns = NsSince(start);
  }
  // Calls or copies of many milliseconds overflow the witness's buffer unless it reads the counters less often.
  if (witness_ && longest_ns > witness_->longest_ns()) {
    witness_.reset();
    try {
      witness_.emplace(gpu_, 2 * longest_ns);
    } catch (const Error&) {
      witness_.reset();  // results are still compared
    }
  }
  single_ = MakeGraphs(1).value("error", std::string()).empty() ? 1 : 0;
  chain_ = single_;
  if (sets_.has_in_place()) return;
  if (single_ == 0) return PlanSingleCalls();
  PlanChain(run_ns);
}

// Makes graphs of this many calls. The worker may refuse; it reports where they write outside the judge's memory. A
// library cannot know which graphs have their outputs overwritten: they are made first or last.
nlohmann::json WorkerCalls::MakeGraphs(int chain) {
  const bool twice = chain > 1 && !in_python_;
  const bool overwritten_first = twice && random_() % 2 == 0;
  nlohmann::json made;
  for (const bool overwritten : {overwritten_first, !overwritten_first}) {
    if (overwritten && !twice) continue;
    made = worker_.Ask({{"do", "graph"}, {"chain", chain}, {"overwritten", overwritten}});
    if (!made.value("error", std::string()).empty()) break;
  }
  if (made.contains("outputs")) TakeOutputs(chain, made["outputs"]);
  return made;
}

void WorkerCalls::TakeOutputs(int chain, const nlohmann::json& outputs) {
  try {
    sets_.TakeOutputs(chain, outputs);
  } catch (const Error& error) {  // memory that does not exist, or a layout that does not fit: the worker's claim
    throw ProcessFailed(error.api(), error.code(), error.message(), error.hint());
  }
}

// Finds the number of calls in a burst that the witness times well.
void WorkerCalls::PlanChain(double run_ns) {
  constexpr int kFirstChain = 16;
  // A chain of long calls would overflow the witness's buffer.
  const int first =
      witness_ ? std::clamp(static_cast<int>(witness_->longest_ns() / (2 * run_ns)), 1, kFirstChain) : kFirstChain;
  if (first == 1 || !MakeGraphs(first).value("error", std::string()).empty()) return;
  chain_ = first;
  if (!witness_) return;
  (void)RunWatched(Shuffled(1), first);
  const Watched seen = RunWatched(Shuffled(1), first);
  const auto sets = static_cast<double>(sets_.count());
  const double call_ns = std::max(seen.busy_ns / (sets * first), 200.0);
  // More would overflow the witness's buffer. The other half is for the gaps and for copies of results.
  apart_calls_ = static_cast<std::size_t>(std::min(kMostApart, witness_->longest_ns() / (2 * call_ns)));
  const int wanted = std::clamp(static_cast<int>(kBurstNs / (sets * call_ns)), 1, kMostCallsAGraph);
  repeats_ = std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(kBurstNs / (sets * call_ns * wanted))));
  if (wanted == first) return;
  if (wanted == single_) {
    chain_ = single_;
    return;
  }
  if (!MakeGraphs(wanted).value("error", std::string()).empty()) {
    throw ProcessFailed(fmt::format("{} calls cannot be captured in a CUDA graph, and fewer can", wanted), "");
  }
  chain_ = wanted;
}

// For calls that cannot be captured.
void WorkerCalls::PlanSingleCalls() {
  if (!witness_) return;
  const auto calls = static_cast<double>(sets_.count());
  (void)RunWatched(Shuffled(1), 0);
  const double call_ns = std::max(RunWatched(Shuffled(1), 0).busy_ns / calls, 1000.0);
  repeats_ = static_cast<std::size_t>(std::clamp(kBurstNs / (calls * call_ns), 1.0, double{kMostCallsAGraph} / calls));
}

std::vector<std::size_t> WorkerCalls::Shuffled(std::size_t times) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < times * sets_.count(); ++i) order.push_back(i % sets_.count());
  std::ranges::shuffle(order, random_);
  return order;
}

void WorkerCalls::Run(const std::vector<std::size_t>& order, int chain) {
  (void)worker_.Require({{"do", "run"}, {"order", order}, {"chain", chain}});
}

// Calls in Python without a graph allocate new outputs.
void WorkerCalls::AskOutputs(int chain) {
  last_chain_ = chain;
  if (in_python_ && chain == 0) TakeOutputs(0, worker_.Require({{"do", "outputs"}}).at("outputs"));
}

Watched WorkerCalls::RunWatched(const std::vector<std::size_t>& order, int chain, bool deliver) {
  double elapsed_ns = 0.0;
  const auto run = [&] {
    if (deliver) sets_.Deliver(order);
    const Clock::time_point start = Clock::now();
    Run(order, chain);
    elapsed_ns = NsSince(start);
  };
  if (!witness_) {
    run();
    AskOutputs(chain);
    sets_.Fetch(chain);
    return {};
  }
  Watched seen = witness_->Watch(run, [&] {
    AskOutputs(chain);
    sets_.Capture(chain);
  });
  seen.elapsed_ns = elapsed_ns;
  sets_.Unpack();
  return seen;
}

Watched WorkerCalls::Alone(const std::vector<std::size_t>& sets) { return RunWatched(sets, single_, /*deliver=*/true); }

Watched WorkerCalls::Again(const std::vector<std::size_t>& sets) { return RunWatched(sets, single_); }

WorkerCalls::Burst WorkerCalls::Timed() {
  const std::vector<std::size_t> order = Shuffled(repeats_);
  const Watched seen = RunWatched(order, chain_);
  // A call that is not captured takes longer to launch.
  const double part = chain_ == 0 ? 1.6 : 1.25;
  const double calls = static_cast<double>(order.size()) * std::max(chain_, 1);
  return {seen, calls, seen.elapsed_ns - part * seen.busy_ns};
}

WorkerCalls::Burst WorkerCalls::Apart() {
  const std::size_t each = std::max<std::size_t>(1, apart_calls_ / sets_.count());
  const std::vector<std::size_t> order = Shuffled(each - random_() % (each / 4 + 1));
  return {Again(order), static_cast<double>(order.size()), 0.0};
}

void WorkerCalls::Overwritten() {
  if (chain_ <= 1 || in_python_) return;
  (void)worker_.Require({{"do", "run"}, {"order", Shuffled(1)}, {"chain", chain_}, {"overwritten", true}});
  sets_.Fetch(chain_);
}

void WorkerCalls::Unwatched(const std::vector<std::size_t>& sets) {
  Run(sets, single_);
  AskOutputs(single_);
  sets_.Fetch(single_);
}

}  // namespace fa_profile::judge
