#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "fa_profile/error.h"
#include "fa_profile/gate_statistics.h"
#include "fa_profile/gate_trials.h"
#include "trial_draws.h"
#include "trial_pool.h"

namespace fa_profile::gate {
namespace {

constexpr const char* kGate = "gate";

/// Targets for the bound of a rate, not for the rate: too few trials prove nothing.
constexpr double kMostAlarms = 0.0001;          // a comparison
constexpr double kMostAlarmedRequests = 0.005;  // a pull request of 60
constexpr double kLeastFoundAt5 = 0.99;
constexpr double kLeastFoundAt3 = 0.90;
constexpr double kLeastNamed = 0.95;
/// Level of the check of p, over all deciles together.
constexpr double kCalibrationLevel = 0.001;

/// A mutant gets this fraction of the draws: they include recordings and are judged in full.
constexpr std::int64_t kMutantShare = 4;

enum class Pairing { kNeighbours, kAnyTwo };

/// "NVIDIA H200, driver 580.95.05: 200 timing and 60 recording processes of 14 cases".
std::string Of(const Evidence& evidence) {
  const Environment& environment = evidence.environment;
  std::string where = environment.gpu_name;
  if (!environment.driver_version.empty()) where += ", driver " + environment.driver_version;
  if (!environment.taken_at.empty()) where += ", taken " + environment.taken_at;
  if (!environment.tool_commit.empty()) where += ", commit " + environment.tool_commit;
  return fmt::format("{}: {} timing and {} recording processes of {} cases", where,
                     std::ranges::count(evidence.processes, "timing", &ProcessSample::kind),
                     std::ranges::count(evidence.processes, "recording", &ProcessSample::kind), evidence.cases.size());
}

class Trials {
 public:
  Trials(const TrialData& data, const TrialOptions& options)
      : data_(data), options_(options), pool_(PoolOf(data.same_code)), random_(options.seed) {}

  TrialReport Run() {
    report_.about = {"data: " + data_.name, "same code: " + Of(data_.same_code), "mutants: " + Of(data_.mutants),
                     fmt::format("seed {}, {} simulated pull requests, {} draws per question", options_.seed,
                                 options_.false_alarm_trials, options_.power_trials)};
    report_.notes = pool_.left_out;
    FalseAlarms(Pairing::kNeighbours, kGate);
    FalseAlarms(Pairing::kAnyTwo, "gate, any two paired");
    RunsInOrder();
    EveryTier();
    Calibrate();
    for (const int percent : {1, 2, 3, 5, 10}) Power(percent);
    std::ranges::move(PeerRates(pool_, options_.power_trials, random_), std::back_inserter(report_.rates));
    Mutants();
    Describe();
    return std::move(report_);
  }

 private:
  const RuleRate& Add(const std::string& rule, const std::string& question, std::int64_t hits, std::int64_t trials) {
    return report_.rates.emplace_back(Rate(rule, question, hits, trials));
  }

  void RequireAtMost(const RuleRate& rate, double most) {
    if (rate.high <= most) return;
    report_.failed.push_back(
        fmt::format("{}, {}: {} of {}, at most {:.2g} % with 95 % confidence; the target is {:g} %", rate.rule,
                    rate.question, rate.hits, rate.trials, 100.0 * rate.high, 100.0 * most));
  }

  void RequireAtLeast(const RuleRate& rate, double least) {
    if (rate.low >= least) return;
    report_.failed.push_back(
        fmt::format("{}, {}: {} of {}, at least {:.1f} % with 95 % confidence; the target is {:g} %", rate.rule,
                    rate.question, rate.hits, rate.trials, 100.0 * rate.low, 100.0 * least));
  }

  /// The positions of all of the pool's cases.
  std::vector<std::size_t> AllCases() const {
    std::vector<std::size_t> all(pool_.cases.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  /// From positions in the pool to processes.
  void ToProcesses(Draw& draw) const {
    for (auto* pairs : {&draw.first, &draw.second}) {
      for (DrawnPair& pair : *pairs) pair = {pool_.processes[pair.first], pool_.processes[pair.second]};
    }
  }

  /// Pairs as positions in the pool; Judged() turns them into processes.
  Draw DrawTimings(Pairing pairing) {
    const std::size_t size = pool_.processes.size();
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (pairing == Pairing::kAnyTwo) order = random_.Sample(size, size);
    Draw draw;
    DrawBlocks(Neighbours(order, random_.Coin()), kFirstPairs, kSecondPairs, true, random_, draw.first, draw.second);
    return draw;
  }

  GateResult Judged(Draw draw, const std::vector<std::size_t>& positions, double factor = 1.0) const {
    ToProcesses(draw);
    TrialArm arm{pool_.data, {}, {}, 1.0, false};
    for (const std::size_t position : positions) arm.cases.push_back(pool_.cases[position]);
    TrialArm slower = arm;
    slower.factor = factor;
    return JudgeDraw(arm, slower, draw, options_.thresholds);
  }

  /// What a test can only suspect when the mean of its pairs is over the least limit: half of all flips reach a sum of
  /// 0 or less. Saves judging draws in which nothing can be suspect, which are nearly all; EveryTier() checks that.
  bool MayBeSuspect(const Draw& draw, const std::vector<std::size_t>& positions) const {
    const Thresholds& thresholds = options_.thresholds;
    if (!thresholds.rules.empty() || thresholds.suspect_level >= 0.5) return true;
    const double limit = std::log1p(thresholds.duration.relative);
    for (const std::size_t position : positions) {
      for (const auto& metric : pool_.values) {
        const std::vector<double>& values = metric[position];
        double product = 1.0;  // of the ratios: one logarithm in place of sixteen
        for (const auto& [base, candidate] : draw.first) product *= values[candidate] / values[base];
        if (std::log(product) > static_cast<double>(draw.first.size()) * limit) return true;
      }
    }
    return false;
  }

  static std::int64_t Alarms(const GateResult& result) {
    std::int64_t alarms = 0;
    for (const CaseVerdict& verdict : result.cases) {
      alarms += std::ranges::count(verdict.comparisons, Verdict::kRegression, &Comparison::verdict);
    }
    return alarms;
  }

  void FalseAlarms(Pairing pairing, const std::string& rule) {
    std::int64_t alarms = 0;
    std::int64_t alarmed = 0;
    for (std::int64_t trial = 0; trial < options_.false_alarm_trials; ++trial) {
      const std::int64_t before = alarms;
      std::size_t left = kRequestComparisons / 2;
      while (left > 0) {
        const Draw draw = DrawTimings(pairing);
        const std::size_t size = std::min(left, pool_.cases.size());
        const std::vector<std::size_t> positions = random_.Sample(pool_.cases.size(), size);
        if (MayBeSuspect(draw, positions)) alarms += Alarms(Judged(draw, positions));
        left -= size;
      }
      alarmed += alarms > before ? 1 : 0;
    }
    const std::int64_t comparisons = options_.false_alarm_trials * static_cast<std::int64_t>(kRequestComparisons);
    const RuleRate each = Add(rule, "same code", alarms, comparisons);
    const RuleRate any = Add(rule, "same code, any of 60", alarmed, options_.false_alarm_trials);
    if (pairing != Pairing::kNeighbours) return;  // the gate does not pair like this: no target
    RequireAtMost(each, kMostAlarms);
    RequireAtMost(any, kMostAlarmedRequests);
  }

  /// Runs without shared processes, in the gate's own order: A B B A and so on, and the next 28 processes if something
  /// is suspect. Few, but no process counts twice and no coin is thrown.
  void RunsInOrder() {
    const std::vector<std::size_t> all = AllCases();
    std::int64_t runs = 0;
    std::int64_t alarms = 0;
    std::int64_t alarmed = 0;
    std::int64_t small_p = 0;
    std::size_t next = 0;
    const auto take = [&next](std::size_t pairs) {
      std::vector<DrawnPair> taken;
      for (std::size_t i = 0; i < pairs; ++i, next += 2) {
        taken.push_back(i % 2 == 0 ? DrawnPair{next, next + 1} : DrawnPair{next + 1, next});
      }
      return taken;
    };
    while (next + 2 * kFirstPairs <= pool_.processes.size()) {
      Draw draw;
      draw.first = take(kFirstPairs);
      for (const std::size_t position : all) {
        for (const auto& metric : pool_.values) small_p += SignFlipP(Differences(draw, metric[position])) <= 0.05;
      }
      std::int64_t found = 0;
      if (MayBeSuspect(draw, all)) {
        if (next + 2 * kSecondPairs > pool_.processes.size()) break;
        draw.second = take(kSecondPairs);
        found = Alarms(Judged(draw, all));
      }
      ++runs;
      alarms += found;
      alarmed += found > 0 ? 1 : 0;
    }
    const std::int64_t comparisons = runs * static_cast<std::int64_t>(2 * all.size());
    Add(kGate, "same code, disjoint runs in order, a comparison", alarms, comparisons);
    Add(kGate, "same code, disjoint runs in order, a run", alarmed, runs);
    Add(kGate, "same code, disjoint runs in order, p <= 0.05 at tolerance 0", small_p, comparisons);
  }

  static std::vector<double> Differences(const Draw& draw, const std::vector<double>& values) {
    std::vector<double> differences;
    for (const auto& [base, candidate] : draw.first) differences.push_back(std::log(values[candidate] / values[base]));
    return differences;
  }

  /// Simulated pull requests judged in full, with counters and phases of the recording processes.
  void EveryTier() {
    std::set<std::size_t> all(pool_.cases.begin(), pool_.cases.end());
    std::set<std::size_t> recordings;
    for (std::size_t index = 0; index < data_.same_code.cases.size(); ++index) {
      const std::vector<std::size_t> processes = ProcessesOf(data_.same_code, "recording", index);
      recordings.insert(processes.begin(), processes.end());
      if (!processes.empty() && data_.same_code.cases[index].kernel != kReferenceKernel) all.insert(index);
    }
    const std::vector<std::size_t> recorded(recordings.begin(), recordings.end());
    const TrialArm arm{&data_.same_code, {all.begin(), all.end()}, {}, 1.0, false};
    const std::vector<std::size_t> positions = AllCases();
    std::int64_t comparisons = 0;
    std::int64_t alarms = 0;
    std::int64_t alarmed = 0;
    std::int64_t missed = 0;
    for (std::int64_t trial = 0; trial < options_.power_trials; ++trial) {
      Draw draw = DrawTimings(Pairing::kNeighbours);
      const bool may = MayBeSuspect(draw, positions);
      ToProcesses(draw);
      DrawBlocks(Neighbours(recorded, random_.Coin()), kFirstPairs, kSecondPairs, true, random_, draw.recorded_first,
                 draw.recorded_second);
      const GateResult result = JudgeDraw(arm, arm, draw, options_.thresholds);
      const std::int64_t before = alarms;
      for (const CaseVerdict& verdict : result.cases) {
        comparisons += static_cast<std::int64_t>(verdict.comparisons.size());
        for (const Comparison& comparison : verdict.comparisons) {
          alarms += comparison.verdict == Verdict::kRegression ? 1 : 0;
          const bool whole =
              comparison.phase.empty() && (comparison.metric == kDuration || comparison.metric == kCycles);
          // A suspect was judged by the pairs of the second stage.
          const bool suspect = comparison.pairs > static_cast<int>(kFirstPairs);
          missed += !may && whole && suspect ? 1 : 0;
        }
      }
      alarmed += alarms > before ? 1 : 0;
    }
    Add(kGate, "same code, every tier, a comparison", alarms, comparisons);
    RequireAtMost(Add(kGate, "same code, every tier, a run", alarmed, options_.power_trials), kMostAlarmedRequests);
    if (missed > 0) {
      report_.failed.push_back(fmt::format("the trials would have missed {} suspects of the judge: a bug", missed));
    }
  }

  /// p of one random comparison per trial, so that trials share no coin: then the number at or below any p is at most
  /// binomial. A p may be too large (ties), which costs power; Power() measures that.
  void Calibrate() {
    constexpr std::size_t kDeciles = 10;
    report_.p_deciles.assign(kDeciles, 0);
    for (std::int64_t trial = 0; trial < options_.false_alarm_trials; ++trial) {
      const Draw draw = DrawTimings(Pairing::kNeighbours);
      const auto& metric = pool_.values[random_.Below(2)];
      const double p = SignFlipP(Differences(draw, metric[random_.Below(pool_.cases.size())]));
      ++report_.p_deciles[std::min(kDeciles - 1, static_cast<std::size_t>(std::ceil(p * kDeciles)) - 1)];
    }
    std::int64_t under = 0;
    for (std::size_t decile = 0; decile + 1 < kDeciles; ++decile) {
      under += report_.p_deciles[decile];
      const double expected = static_cast<double>(decile + 1) / kDeciles;
      const double least =
          ProportionLowerBound(under, options_.false_alarm_trials, 1.0 - kCalibrationLevel / (kDeciles - 1));
      if (least <= expected) continue;
      report_.failed.push_back(fmt::format("p below {:.1f} in {} of {} draws of the same code: the test is too sure",
                                           expected, under, options_.false_alarm_trials));
      return;
    }
  }

  void Power(int percent) {
    std::int64_t found = 0;
    for (std::int64_t trial = 0; trial < options_.power_trials; ++trial) {
      const std::size_t position = random_.Below(pool_.cases.size());
      const GateResult result = Judged(DrawTimings(Pairing::kNeighbours), {position}, 1.0 + percent / 100.0);
      found += result.verdict == Verdict::kRegression ? 1 : 0;
    }
    const RuleRate rate = Add(kGate, fmt::format("+{} %", percent), found, options_.power_trials);
    if (percent == 5) RequireAtLeast(rate, kLeastFoundAt5);
    if (percent == 3) RequireAtLeast(rate, kLeastFoundAt3);
  }

  void Mutants() {
    std::int64_t found = 0;
    std::int64_t named = 0;
    for (const MutantFacts& facts : data_.facts) {
      for (std::size_t index = 0; index < data_.mutants.cases.size(); ++index) {
        const CaseFacts& mutant = data_.mutants.cases[index];
        const auto base = FindCase(data_.mutants, facts.base, mutant.shape);
        if (mutant.kernel == facts.kernel && base) Mutant(facts, *base, index, found, named);
      }
    }
    if (data_.facts.empty()) {
      report_.notes.emplace_back("there are no mutants: the data do not show whether real faults are found");
      return;
    }
    RequireAtLeast(Add(kGate, "mutants found: the right phase named", named, found), kLeastNamed);
  }

  /// Pairs of a base's and a mutant's process that ran near each other. If each process measured both (`shared`),
  /// neighbours: a pair never has one process on both sides.
  std::vector<DrawnPair> MutantBlocks(const char* kind, std::size_t base, std::size_t mutant, bool& shared) {
    const std::vector<std::size_t> of_base = ProcessesOf(data_.mutants, kind, base);
    const std::vector<std::size_t> of_mutant = ProcessesOf(data_.mutants, kind, mutant);
    shared = of_base == of_mutant;
    if (shared) return Neighbours(of_base, random_.Coin());
    std::vector<DrawnPair> blocks;
    for (std::size_t i = 0; i < std::min(of_base.size(), of_mutant.size()); ++i) {
      if (of_base[i] != of_mutant[i]) blocks.emplace_back(of_base[i], of_mutant[i]);
    }
    return blocks;
  }

  void Mutant(const MutantFacts& facts, std::size_t base, std::size_t mutant, std::int64_t& all_found,
              std::int64_t& all_named) {
    const std::string name = CaseName(data_.mutants.cases[mutant]);
    const TrialArm base_arm{&data_.mutants, {base}, facts.base, 1.0, true};
    const TrialArm mutant_arm{&data_.mutants, {mutant}, facts.base, 1.0, true};
    std::int64_t found = 0;
    std::int64_t by_time = 0;
    std::int64_t early = 0;
    std::int64_t named = 0;
    const std::int64_t trials = std::max<std::int64_t>(1, options_.power_trials / kMutantShare);
    for (std::int64_t trial = 0; trial < trials; ++trial) {
      Draw draw;
      bool shared = false;
      const std::vector<DrawnPair> timed = MutantBlocks("timing", base, mutant, shared);
      if (timed.size() < kFirstPairs) {
        throw Error(fmt::format("{}: {} pairs of timing processes are too few", name, timed.size()),
                    fmt::format("measure at least {}: docs/gate-selftest.md", kFirstPairs + kSecondPairs));
      }
      DrawBlocks(timed, kFirstPairs, kSecondPairs, shared, random_, draw.first, draw.second);
      const std::vector<DrawnPair> recorded = MutantBlocks("recording", base, mutant, shared);
      DrawBlocks(recorded, kFirstPairs, kSecondPairs, shared, random_, draw.recorded_first, draw.recorded_second);
      const GateResult result = JudgeDraw(base_arm, mutant_arm, draw, options_.thresholds);
      const CaseVerdict& verdict = result.cases.at(0);
      const auto worse_in = [&verdict](bool tier_two) {
        return std::ranges::any_of(verdict.comparisons, [tier_two](const Comparison& comparison) {
          return comparison.verdict == Verdict::kRegression && (comparison.tier == 2) == tier_two;
        });
      };
      by_time += worse_in(true) ? 1 : 0;
      early += worse_in(false) ? 1 : 0;
      if (verdict.verdict != Verdict::kRegression) continue;
      ++found;
      named += verdict.phase == facts.phase ? 1 : 0;
    }
    const bool has_phase = !facts.phase.empty();
    if (has_phase) {
      all_found += found;
      all_named += named;
    }
    const auto median = [this](std::size_t index, const char* metric) {
      std::vector<double> values;
      for (const auto& [process, value] : Values(data_.mutants, index, "timing", {"", metric})) {
        if (!data_.mutants.processes[process].throttled) values.push_back(value);
      }
      return Median(std::move(values));
    };
    const double slower = median(mutant, kDuration) / median(base, kDuration) - 1.0;
    report_.notes.push_back(fmt::format("{}: measured {:+.1f} % slower than {}, changed in {}", name, 100.0 * slower,
                                        facts.base, has_phase ? facts.phase : "no single phase"));
    const RuleRate rate = Add(kGate, "mutant " + name, found, trials);
    Add(kGate, "mutant " + name + ": by time or phases", by_time, trials);
    if (has_phase) Add(kGate, "mutant " + name + ": phase " + facts.phase, named, found);
    if (slower >= 0.05) {
      RequireAtLeast(rate, kLeastFoundAt5);
    } else if (slower >= 0.03) {
      RequireAtLeast(rate, kLeastFoundAt3);
    }
    if (!facts.faster_tiers) return;
    const RuleRate tiers = Add(kGate, "mutant " + name + ": by tiers 0 and 1", early, trials);
    if (early < trials) {
      report_.failed.push_back(
          fmt::format("{}: {} of {}; code and counters must show it every time", tiers.question, early, trials));
    }
  }

  void Describe() {
    report_.notes.push_back(fmt::format(
        "a simulated pull request: {} comparisons, time and cycles of {} cases, new pairs for every {} cases",
        kRequestComparisons, kRequestComparisons / 2, pool_.cases.size()));
    report_.notes.push_back(fmt::format(
        "all draws use the same {} processes: they are not independent, and the bounds hold only for these processes",
        pool_.processes.size()));
    report_.notes.push_back(
        fmt::format("+1 % to +10 %: durations and cycles of {} cases multiplied", pool_.cases.size()));
  }

  const TrialData& data_;
  const TrialOptions& options_;
  TimingPool pool_;
  TrialRandom random_;
  TrialReport report_;
};

}  // namespace

TrialReport RunTrials(const TrialData& data, const TrialOptions& options) {
  if (options.false_alarm_trials < 1 || options.power_trials < 1) {
    throw Error("a selftest needs trials", "use at least --trials 1");
  }
  return Trials(data, options).Run();
}

}  // namespace fa_profile::gate
