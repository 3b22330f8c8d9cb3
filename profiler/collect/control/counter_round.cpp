#include "fa_profile/counter_round.h"

#include <algorithm>
#include <utility>

#include "fa_profile/program_totals.h"

namespace fa_profile::collect {
namespace {

// Classes measured in one round: each takes about 4 MB of the program's memory with the set "full".
constexpr std::size_t kMostRangesOfARound = 24;
// Small classes are measured, those with most time first, until this share of the kernel time has counters.
constexpr double kShareWithCounters = 0.95;
// Longest kernel whose instructions are counted: counting makes it take some 50 times as long.
constexpr double kLongestCountedNs = 5e6;
// A pass ends after this many launches with none to measure.
constexpr std::int64_t kPatienceLaunches = 1000;
// Rounds that may end before a class has all its passes; what it got in the last one is written.
constexpr int kMostEarlyEnds = 3;
// How long to wait for the end of a launch.
constexpr double kIdleAfterSeconds = 2.0;

std::string SymbolOf(const std::string& key) { return key.substr(0, key.find(' ')); }

}  // namespace

bool CounterRound::Wants(const std::string& key) {
  const auto known = classes_.find(key);
  if (known != classes_.end() && known->second.turn == Class::Turn::kTaken) return false;
  return !IsCollective(key) && program_.filter.Wants(key);
}

CounterRound::Depth CounterRound::DepthOf(const std::string& key) const {
  const auto known = classes_.find(key);
  const bool has_first = known != classes_.end() && known->second.has_first;
  return program_.plan.first_metrics.empty() || has_first ? kAll : kFirst;
}

void CounterRound::Choose(std::span<const LaunchCandidate> candidates) {
  double share_before = 0.0;
  for (const LaunchCandidate& candidate : candidates) {
    const Size size = candidate.share_ratio < program_.plan.least_share_ratio ? kSmall : kLarge;
    // Large classes do not wait for small ones, which may take long to come again.
    const bool has_large = !chosen_.empty() && classes_[chosen_.front()].size == kLarge;
    const bool enough = size == kSmall && (has_large || share_before >= kShareWithCounters);
    if (enough || chosen_.size() == kMostRangesOfARound) break;
    share_before += candidate.share_ratio;
    if (size == kLarge) Promote(candidate.name);
    // A class that does not come now may not come again.
    if (taken_[size] >= program_.plan.max_classes || candidate.recent < 2 || !Wants(candidate.name)) continue;
    const Depth depth = DepthOf(candidate.name);
    if (chosen_.empty()) depth_ = depth;
    if (depth != depth_) continue;
    Class& chosen = classes_[candidate.name];
    chosen.turn = Class::Turn::kTaken;
    chosen.size = size;
    chosen.mean_ns = candidate.mean_ns;
    chosen_.push_back(candidate.name);
    ++taken_[size];
  }
  if (chosen_.empty()) return;
  round_ = Round::kChosen;
  ticks_ = 0;
}

// What was small while the program warmed up may become most of its time.
void CounterRound::Promote(const std::string& key) {
  const auto known = classes_.find(key);
  if (known == classes_.end()) return;
  Class& taken = known->second;
  if (taken.size == kSmall && taken.has_first && taken.turn == Class::Turn::kTaken) Reopen(taken);
}

void CounterRound::Tick() {
  if ((round_ != Round::kChosen && round_ != Round::kTaking) || ++ticks_ <= kMostTicksWithoutLaunch) return;
  if (round_ == Round::kTaking) {
    round_ = Round::kExpired;
    return;
  }
  ForgetChosen();
}

// It may come again, and elsewhere: its graph may be gone.
void CounterRound::Reopen(Class& left) {
  --taken_[left.size];
  left.turn = Class::Turn::kOpen;
  left.place.reset();
}

void CounterRound::ForgetChosen() {
  for (const std::string& key : chosen_) Reopen(classes_[key]);
  chosen_.clear();
  if (round_ != Round::kOver) round_ = Round::kIdle;
}

bool CounterRound::waits() const {
  if (program_.plan.replay == Replay::kKernel) return taken_[kLarge] < program_.plan.max_classes;
  return round_ == Round::kChosen || round_ == Round::kTaking || round_ == Round::kExpired;
}

std::optional<std::size_t> CounterRound::Chosen(const std::string& key) const {
  const auto found = std::find(chosen_.begin(), chosen_.end(), key);
  return found == chosen_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - chosen_.begin()));
}

bool CounterRound::IsPlace(const LaunchCall& call, const std::string& key) const {
  const auto known = classes_.find(key);
  return known == classes_.end() || !known->second.place || *known->second.place == Place{call.graph, call.node};
}

bool CounterRound::MayTake(const LaunchCall& node, const std::string& key) {
  if (!waits()) return false;
  if (program_.plan.replay == Replay::kKernel) return Wants(key);
  const std::optional<std::size_t> chosen = Chosen(key);
  if (!chosen || !IsPlace(node, key) || classes_[key].ends == Class::Ends::kWaits) return false;
  return !passes_ || !passes_->IsMeasured(*chosen);
}

LaunchUse CounterRound::Begin(const LaunchCall& call, const std::string& key, bool selected) {
  if (!waits()) return LaunchUse::kNone;
  if (program_.plan.replay == Replay::kKernel) return selected ? BeginReplay(call, key) : LaunchUse::kNone;
  const std::optional<std::size_t> chosen = selected && IsPlace(call, key) ? Chosen(key) : std::nullopt;
  if (chosen && classes_[key].ends != Class::Ends::kWaits && classes_[key].probed != Place{call.graph, call.node}) {
    return BeginProbe(call, key);
  }
  return BeginPass(call, key, chosen && classes_[key].ends == Class::Ends::kAlone);
}

// CUPTI waits for the launch without a bound when the range ends, so one launch must first show that it does not wait
// for another.
LaunchUse CounterRound::BeginProbe(const LaunchCall& call, const std::string& key) {
  if (!program_.idle.Wait()) return LaunchUse::kNone;
  Class& probed = classes_[key];
  probed.place = probed.probed = Place{call.graph, call.node};
  under_way_ = {Step::kProbe, key};
  return LaunchUse::kProbed;
}

// Any launch may end a pass, or the round.
LaunchUse CounterRound::BeginPass(const LaunchCall& call, const std::string& key, bool may_be_measured) {
  const std::optional<std::size_t> index = may_be_measured ? Chosen(key) : std::nullopt;
  if (round_ == Round::kChosen && (!index || !OpenPasses())) return LaunchUse::kNone;
  const bool wanted = passes_->Wants(index, call.kernels);
  if (!wanted && !passes_->stalled() && round_ != Round::kExpired) return LaunchUse::kNone;
  if (!program_.idle.Wait()) return LaunchUse::kNone;
  if (round_ == Round::kExpired || passes_->stalled()) {
    if (passes_->EndPass() || round_ == Round::kExpired) {
      EndRound();
      return LaunchUse::kNone;
    }
  }
  if (!wanted) return LaunchUse::kNone;
  program_.trace.Stop();  // with the activity API on, CUPTI runs another kernel inside the range
  try {
    passes_->Open(*index);
  } catch (...) {
    program_.trace.Start();
    throw;
  }
  classes_[key].place = Place{call.graph, call.node};
  under_way_ = {Step::kRange, key};
  ++ranges_;
  ticks_ = 0;
  program_.filter.OnMeasured();
  return LaunchUse::kMeasured;
}

LaunchUse CounterRound::BeginReplay(const LaunchCall& call, const std::string& key) {
  if (call.symbol == nullptr || !Wants(key)) return LaunchUse::kNone;
  if (!OpenProfiler()) return LaunchUse::kNone;
  classes_[key].turn = Class::Turn::kTaken;
  sessions_[depth_]->StartKernelRanges(*profiler_, 1);
  under_way_ = {Step::kReplay, key};
  under_way_.launch.kernel_name = call.symbol;
  under_way_.launch.grid = call.grid;
  under_way_.launch.block = call.block;
  ++taken_[kLarge];
  ++replayed_launches_;
  program_.filter.OnMeasured();
  return LaunchUse::kMeasured;
}

bool CounterRound::OpenPasses() {
  if (!OpenProfiler()) return false;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < chosen_.size(); ++i) names.push_back("class " + std::to_string(i));
  passes_.emplace(sessions_[depth_]->plan(), *profiler_, std::move(names), kPatienceLaunches);
  round_ = Round::kTaking;
  return true;
}

// Each plan is made once, before any launch is measured with it.
bool CounterRound::OpenProfiler() {
  ProgramApi& api = program_.api;
  if (!program_.idle.Wait()) return false;
  if (profiler_) return true;
  api.RequireRoom();
  program_.trace.Stop();
  try {
    api.PauseSampling();  // only one user of the hardware's counters at a time
    if (std::optional<CounterSession>& session = sessions_[depth_]; !session) {
      session.emplace(api.TakeCounters(), depth_ == kFirst ? program_.plan.first_metrics : program_.plan.metrics);
    }
    api.BeginMeasuring();
    profiler_ = api.TakeCounters().gpu.OpenRangeProfiler();
  } catch (...) {
    program_.trace.Start();
    throw;
  }
  program_.trace.Start();
  return true;
}

void CounterRound::End() {
  UnderWay ended = std::exchange(under_way_, {});
  switch (ended.step) {
    case Step::kNone:
      return;
    case Step::kProbe:
      return EndProbe(ended.key);
    case Step::kRange:
      return EndRange();
    case Step::kReplay:
      (void)profiler_->Stop();
      measured_.push_back({profiler_->Decode(), {std::move(ended.key)}, {}, {}, std::move(ended.launch)});
  }
}

void CounterRound::EndProbe(const std::string& key) {
  if (program_.api.WaitIdle(kIdleAfterSeconds)) {
    classes_[key].ends = Class::Ends::kAlone;
    return;
  }
  classes_[key].ends = Class::Ends::kWaits;
  program_.losses.push_back({"launch_not_measured", SymbolOf(key),
                             "it did not end while nothing else was launched, so it cannot be measured alone", 1});
}

void CounterRound::EndRange() {
  bool all = passes_->Close();
  if (!all && program_.filter.over()) {  // no launch would end the round
    (void)passes_->EndPass();
    all = true;
  }
  program_.trace.Start();
  if (all) EndRound();
}

void CounterRound::EndRound() {
  TakeImage();
  if (!instructions_.waits()) program_.trace.EndMeasuring();
}

void CounterRound::TakeImage() {
  Measured measured{profiler_->Decode(), {}, {}, {}};
  measured.depth = depth_;
  Measured partial;
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    const int passes = passes_->passes_of(i);
    Class& of_range = classes_[chosen_[i]];
    const bool again = IsMeasuredAgain(of_range, passes);
    if (again) Reopen(of_range);
    if (passes == 0) continue;
    const bool best = IsBest(chosen_[i], depth_, passes);
    const bool more_may_come = again || depth_ == kFirst;
    measured.keys.push_back(chosen_[i]);
    measured.names.push_back(passes_->wanted()[i]);
    measured.passes.push_back(best && !more_may_come ? passes : 0);
    partial.passes.push_back(best && more_may_come ? passes : 0);
    if (!more_may_come && of_range.size == kLarge && of_range.mean_ns > 0.0 && of_range.mean_ns <= kLongestCountedNs) {
      instructions_.Ask(chosen_[i]);
    }
  }
  passes_.reset();
  profiler_.reset();  // another profiler may have the counters
  chosen_.clear();
  round_ = Round::kIdle;
  std::erase_if(partial_, [](const Measured& earlier) { return !HasPasses(earlier); });
  if (HasPasses(partial)) {
    partial_.push_back({measured.data, measured.keys, measured.names, std::move(partial.passes), {}, depth_});
  }
  if (HasPasses(measured)) measured_.push_back(std::move(measured));
}

bool CounterRound::IsMeasuredAgain(Class& measured, int passes) {
  if (passes == 0) return true;
  const bool early = round_ == Round::kExpired && passes < sessions_[depth_]->plan().passes;
  if (early && ++measured.left_early < kMostEarlyEnds) return true;  // it may run longer next time
  if (depth_ == kAll) return false;
  measured.has_first = true;
  measured.left_early = 0;
  return measured.size == kLarge;
}

bool CounterRound::HasPasses(const Measured& measured) {
  return std::ranges::any_of(measured.passes, [](int passes) { return passes > 0; });
}

double CounterRound::ShareOf(Depth depth, int passes) const {
  constexpr double kWorthOfFirst = 0.5;  // what limits the kernel is known
  return static_cast<double>(passes) / sessions_[depth]->plan().passes * (depth == kFirst ? kWorthOfFirst : 1.0);
}

bool CounterRound::IsBest(const std::string& key, Depth depth, int passes) {
  for (Measured& partial : partial_) {
    for (std::size_t i = 0; i < partial.keys.size(); ++i) {
      if (partial.keys[i] != key) continue;
      if (ShareOf(partial.depth, partial.passes[i]) > ShareOf(depth, passes)) return false;
      partial.passes[i] = 0;
    }
  }
  return true;
}

void CounterRound::KeepPartial() {
  for (Measured& partial : partial_) {
    if (!HasPasses(partial)) continue;
    for (std::size_t i = 0; i < partial.keys.size(); ++i) {
      if (partial.passes[i] == 0) continue;
      Class& kept = classes_[partial.keys[i]];
      kept.turn = Class::Turn::kTaken;
      if (partial.depth == kFirst && kept.size == kLarge) {
        program_.losses.push_back({"pass_missing", SymbolOf(partial.keys[i]),
                                   "it was launched too rarely for the set; it has the metrics of the set 'triage'",
                                   1});
      }
    }
    measured_.push_back(std::move(partial));
  }
  partial_.clear();
}

void CounterRound::CutShort() {
  if (!passes_ || passes_->passes_taken() == 0) return;
  try {
    (void)passes_->EndPass();
    TakeImage();
  } catch (const std::exception& error) {
    program_.losses.push_back({"counters_ended", "", error.what(), 1});
  }
}

void CounterRound::Abandon() {
  passes_.reset();
  profiler_.reset();  // the counters are free again
  under_way_ = {};
  round_ = Round::kOver;
}

std::optional<CounterRound::Measured> CounterRound::TakeMeasured(bool at_end) {
  if (at_end) KeepPartial();
  // The first record of a replayed class may still come; its case is made from that record.
  const auto next = std::find_if(measured_.begin(), measured_.end(), [&](const Measured& one) {
    return at_end || !one.launch || program_.classes.Knows(one.keys[0]);
  });
  if (next == measured_.end()) return std::nullopt;
  Measured measured = std::move(*next);
  measured_.erase(next);
  return measured;
}

std::vector<DataLoss> CounterRound::Write(Measured measured) {
  std::vector<MeasuredRange> ranges;
  for (std::size_t i = 0; i < measured.keys.size(); ++i) {
    if (i < measured.passes.size() && measured.passes[i] == 0) {
      ranges.push_back({0, "", measured.names[i]});
      continue;
    }
    ranges.push_back({program_.classes.CaseOf(measured.keys[i], measured.launch ? &*measured.launch : nullptr), "",
                      i < measured.names.size() ? measured.names[i] : std::string()});
  }
  sessions_[measured.depth]->Write(std::move(measured.data), ranges, /*keep_image=*/true);
  const int passes = sessions_[measured.depth]->plan().passes;
  std::vector<DataLoss> losses;
  for (std::size_t i = 0; i < measured.passes.size(); ++i) {
    if (measured.passes[i] >= passes || measured.passes[i] == 0) continue;
    losses.push_back({"pass_missing", SymbolOf(measured.keys[i]),
                      "it was launched in " + std::to_string(measured.passes[i]) + " of " + std::to_string(passes) +
                          " passes; metrics of the others are missing",
                      passes - measured.passes[i]});
  }
  return losses;
}

std::vector<DataLoss> CounterRound::Losses(std::span<const LaunchCandidate> candidates) {
  const CounterPlan& plan = program_.plan;
  std::int64_t unmeasured = std::count_if(candidates.begin(), candidates.end(), [&](const LaunchCandidate& candidate) {
    return candidate.share_ratio >= plan.least_share_ratio && Wants(candidate.name);
  });
  unmeasured = std::min<std::int64_t>(unmeasured, plan.max_classes - taken_[kLarge]);
  if (unmeasured <= 0 || plan.metrics.empty() || plan.replay != Replay::kUser) return {};
  return {{"counters_not_measured",
           plan.least_share_ratio > 0.0 ? "launch classes with 1 % of the kernel time or more" : "launch classes",
           "the program ended, or they did not repeat; --replay kernel measures the first launch of each", unmeasured}};
}

}  // namespace fa_profile::collect
