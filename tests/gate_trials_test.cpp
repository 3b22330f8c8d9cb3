#include "fa_profile/gate_trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <string>

#include "fa_profile/arm_order.h"
#include "fa_profile/error.h"

namespace fa_profile::gate::gate_trials_test {
namespace {

constexpr double kClock = 1.98e9;

// Processes whose truth is known.
struct World {
  int processes = 120;
  int recordings = 48;
  double deviation = 0.004;     // relative, of a process's medians
  double drift = 0.0;           // amplitude of a wave of 100 processes, relative
  double trend = 0.0;           // by which each process is slower than the one before, relative
  double outliers = 0.0;        // chance of a process that is 3 % slower
  double base_seconds = 60e-6;  // for the smallest long case
  bool short_case = true;       // one of 5 us as well
};

// Shares of the phases of a kernel whose softmax needs `more` of the kernel's time than it did.
std::map<std::string, double> Shares(double more) {
  return {{"qk", 0.4 / (1.0 + more)}, {"softmax", (0.25 + more) / (1.0 + more)}, {"pv", 0.35 / (1.0 + more)}};
}

class Generator {
 public:
  explicit Generator(const World& world) : world_(world) {}

  // Kernels by name, and what their softmax is slower by.
  Evidence Make(const std::vector<std::pair<std::string, double>>& kernels, int processes, int recordings) {
    Evidence evidence;
    evidence.origin = "synthetic";
    evidence.environment.gpu_name = "NVIDIA H200";
    evidence.environment.gpu_uuid = "GPU-1";
    evidence.environment.driver_version = "580.1";
    evidence.environment.sm_clock_max_hz = 1980000000;
    for (const auto& [kernel, more] : kernels) {
      CaseFacts facts;
      facts.kernel = kernel;
      facts.shape = "1,8,512,64";
      facts.verification = Verification{};
      facts.verification->draws = facts.verification->draws_passed = 3;
      evidence.cases.push_back(facts);
    }
    for (int i = 0; i < processes; ++i) evidence.processes.push_back(Timing(kernels, i));
    for (int i = 0; i < recordings; ++i) evidence.processes.push_back(Recorded(kernels));
    return evidence;
  }

 private:
  double Noise(double deviation) { return std::exp(deviation * normal_(random_)); }

  double Seconds(const std::string& kernel) const {
    if (kernel == "short") return 5e-6;
    return kernel.starts_with("mma") ? 100e-6 : world_.base_seconds * static_cast<double>(kernel.size());
  }

  ProcessSample Timing(const std::vector<std::pair<std::string, double>>& kernels, int at) {
    ProcessSample process;
    process.kind = "timing";
    const double wave = 1.0 + world_.drift * std::sin(2.0 * std::numbers::pi * at / 100.0) + world_.trend * at;
    const double outlier = uniform_(random_) < world_.outliers ? 1.03 : 1.0;
    const double common = Noise(world_.deviation / 2.0) * wave * outlier;
    for (const auto& [kernel, more] : kernels) {
      const double cycles = Seconds(kernel) * kClock * (1.0 + more) * common * Noise(world_.deviation);
      process.values.push_back({{{"", kDuration}, cycles / kClock * Noise(0.0005)}, {{"", kCycles}, cycles}});
    }
    return process;
  }

  ProcessSample Recorded(const std::vector<std::pair<std::string, double>>& kernels) {
    ProcessSample process;
    process.kind = "recording";
    for (const auto& [kernel, more] : kernels) {
      std::map<MetricKey, double> values;
      double total = 0.0;
      for (const auto& [phase, share] : Shares(more)) {
        total += values[{phase, kPhaseTime}] = share * Noise(0.01);
      }
      for (auto& [key, value] : values) value /= total;
      process.values.push_back(std::move(values));
    }
    return process;
  }

  World world_;
  std::mt19937_64 random_{11};  // NOLINT(bugprone-random-generator-seed): the same data each time
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

TrialData Data(const World& world = {}) {
  Generator generator(world);
  std::vector<std::pair<std::string, double>> kernels{{"a", 0.0}, {"bb", 0.0}, {"ccc", 0.0}, {"dddd", 0.0}};
  if (world.short_case) kernels.emplace_back("short", 0.0);
  TrialData data;
  data.same_code = generator.Make(kernels, world.processes, world.recordings);
  // As in real data: the judge does not time equal code, so the trials have to keep it from the judge.
  for (CaseFacts& facts : data.same_code.cases) {
    facts.code.resize(1);
    facts.code[0].symbol = facts.code[0].name = facts.kernel;
    facts.code[0].architecture = "sm_90a";
    facts.code[0].code_hash = "0123456789abcdef";
    facts.launches.resize(1);
    facts.launches[0].kernel_name = facts.kernel;
  }
  data.mutants = generator.Make({{"mma", 0.0}, {"mma_5", 0.055}, {"mma_4", 0.04}, {"mma_1", 0.01}}, 60, 44);
  data.facts = {{"mma_5", "mma", "softmax", false}};
  return data;
}

TrialOptions Options(std::int64_t requests, std::int64_t power) {
  TrialOptions options;
  options.false_alarm_trials = requests;
  options.power_trials = power;
  return options;
}

const RuleRate& Find(const TrialReport& report, const std::string& rule, const std::string& question) {
  const auto found = std::ranges::find_if(
      report.rates, [&](const RuleRate& rate) { return rate.rule == rule && rate.question == question; });
  if (found == report.rates.end()) throw Error("no rate " + rule + ": " + question);
  return *found;
}

double Share(const RuleRate& rate) { return static_cast<double>(rate.hits) / static_cast<double>(rate.trials); }

bool Failed(const TrialReport& report, const std::string& part) {
  return std::ranges::any_of(report.failed, [&](const std::string& line) { return line.find(part) != line.npos; });
}

// Enough trials for every bound: 1200 for the runs judged in full, a quarter of them for a mutant.
const TrialReport& Proven() {
  static const TrialReport report = RunTrials(Data(), Options(2000, 1200));
  return report;
}

TEST(GateTrialsTest, ACorrectGatePassesTheProof) {
  EXPECT_EQ(Proven().failed, std::vector<std::string>{});
  EXPECT_EQ(Find(Proven(), "gate", "same code").hits, 0);
  EXPECT_EQ(Find(Proven(), "gate", "same code").trials, 2000 * 60);
  EXPECT_EQ(Find(Proven(), "gate", "same code, any of 60").trials, 2000);
  EXPECT_GE(Share(Find(Proven(), "gate", "+5 %")), 0.99);
  EXPECT_GE(Share(Find(Proven(), "gate", "+3 %")), 0.90);
  EXPECT_LE(Share(Find(Proven(), "gate", "+2 %")), 0.02);
  EXPECT_GE(Share(Find(Proven(), "gate", "half of the processes 10 times slower")), 0.80);
}

TEST(GateTrialsTest, RatesHaveConfidenceBounds) {
  const RuleRate& none = Find(Proven(), "gate", "same code, any of 60");
  EXPECT_EQ(none.low, 0.0);
  EXPECT_NEAR(none.high, 1.0 - std::pow(0.05, 1.0 / 2000.0), 1e-9);
}

TEST(GateTrialsTest, MutantsAreDetectedAndTheirPhaseIsNamed) {
  EXPECT_EQ(Find(Proven(), "gate", "mutant mma_5 1,8,512,64").hits, 300);
  EXPECT_EQ(Find(Proven(), "gate", "mutant mma_5 1,8,512,64: phase softmax").hits, 300);
  EXPECT_EQ(Find(Proven(), "gate", "mutants found: the right phase named").trials, 300);
}

TEST(GateTrialsTest, AMutantWhosePhaseIsNotNamedIsAFailure) {
  TrialData data = Data();
  data.facts[0].phase = "pv";
  const TrialReport report = RunTrials(data, Options(50, 80));
  EXPECT_EQ(Find(report, "gate", "mutants found: the right phase named").hits, 0);
  EXPECT_TRUE(Failed(report, "the right phase named"));
}

TEST(GateTrialsTest, AMutantThatTheStaticTiersMissIsAFailure) {
  TrialData data = Data();
  data.facts[0].faster_tiers = true;  // its code and counters are not in these data
  EXPECT_TRUE(Failed(RunTrials(data, Options(50, 80)), "by tiers 0 and 1"));
}

TEST(GateTrialsTest, AMutantWithinTheToleranceNeedNotBeDetected) {
  TrialData data = Data();
  data.facts = {{"mma_1", "mma", "softmax", false}};
  const TrialReport report = RunTrials(data, Options(50, 80));
  EXPECT_EQ(Find(report, "gate", "mutant mma_1 1,8,512,64").hits, 0);
  EXPECT_FALSE(Failed(report, "mutant mma_1"));
}

TEST(GateTrialsTest, AChangeOfManyKernelsInEqualTimeIsOnePullRequest) {
  TrialData data = Data();
  for (const char* const kernel : {"mma_4", "mma_1"}) {  // as fast as their base
    data.facts.push_back({kernel, "mma", "softmax", false});
    const std::size_t index = *FindCase(data.mutants, kernel, "1,8,512,64");
    const std::size_t base = *FindCase(data.mutants, "mma", "1,8,512,64");
    for (ProcessSample& process : data.mutants.processes) {
      if (process.kind == "timing") process.values[index] = process.values[base];
    }
  }
  const TrialReport report = RunTrials(data, Options(10, 40));
  EXPECT_EQ(Find(report, "gate", "2 mutants in equal time, blocked").trials, 2 * 10);
  EXPECT_EQ(Find(report, "gate", "2 mutants in equal time, blocked: any of them").trials, 10);
  EXPECT_EQ(Find(report, "gate", "2 mutants in equal time, blocked").hits, 0);
}

TEST(GateTrialsTest, ASlowMutantThatIsNotDetectedIsAFailure) {
  TrialOptions options = Options(50, 80);
  options.thresholds.duration.relative = 0.20;
  options.thresholds.phase_time = {1.0, 1.0};
  TrialData data = Data();
  data.facts.push_back({"mma_4", "mma", "softmax", false});
  const TrialReport report = RunTrials(data, options);
  EXPECT_TRUE(Failed(report, "mutant mma_4"));
  EXPECT_EQ(Find(report, "gate", "mutant mma_5 1,8,512,64").hits, 0);
  EXPECT_TRUE(Failed(report, "mutant mma_5"));
}

TEST(GateTrialsTest, AGateWithFalseAlarmsFailsTheProof) {
  TrialOptions options = Options(60, 40);
  // By phases: for times, no limit is below three standard errors of the run's own control.
  options.thresholds.phase_time = {-1.0, -1.0};
  options.thresholds.duration.relative = 0.06;  // too much for time to decide
  const TrialReport report = RunTrials(Data(), options);
  EXPECT_EQ(Share(Find(report, "gate", "same code, every tier, a run")), 1.0);
  EXPECT_TRUE(Failed(report, "every tier"));
  EXPECT_FALSE(Failed(report, "would have missed"));
}

TEST(GateTrialsTest, AGateWithoutToleranceStillKeepsItsLevelPerRequest) {
  // Suspect at 5 % and confirmed at 1 %, Holm-corrected: under 1 % of the requests, however equal the code.
  TrialOptions options = Options(300, 10);
  options.thresholds.duration = {0.0, 0.0};
  const RuleRate rate = Find(RunTrials(Data(), options), "gate", "same code");
  EXPECT_LT(Share(rate), 0.05 * 0.01 * 2.0);
}

TEST(GateTrialsTest, AGateWithoutPowerFailsTheProof) {
  TrialOptions options = Options(50, 80);
  options.thresholds.duration.relative = 0.10;
  const TrialReport report = RunTrials(Data(), options);
  EXPECT_EQ(Find(report, "gate", "+5 %").hits, 0);
  EXPECT_TRUE(Failed(report, "gate, +3 %"));
  EXPECT_TRUE(Failed(report, "gate, +5 %"));
}

TEST(GateTrialsTest, NoiseThatHidesThreePercentIsReported) {
  World world;
  world.deviation = 0.05;
  const TrialReport report = RunTrials(Data(world), Options(50, 80));
  EXPECT_TRUE(Failed(report, "gate, +3 %"));
}

TEST(GateTrialsTest, OutliersReducePowerAndRaiseNoAlarm) {
  World world;
  world.outliers = 0.03;
  const TrialReport report = RunTrials(Data(world), Options(300, 300));
  EXPECT_EQ(Find(report, "gate", "same code").hits, 0);
  EXPECT_LT(Share(Find(report, "gate", "+3 %")), Share(Find(Proven(), "gate", "+3 %")));
  EXPECT_TRUE(Failed(report, "gate, +3 %"));
}

TEST(GateTrialsTest, TooFewTrialsProveNothing) {
  const TrialReport report = RunTrials(Data(), Options(20, 20));
  EXPECT_EQ(Find(report, "gate", "same code").hits, 0);
  EXPECT_TRUE(Failed(report, "gate, same code: 0 of 1200"));
  EXPECT_TRUE(Failed(report, "gate, +5 %: 20 of 20"));
}

TEST(GateTrialsTest, ADriftAlarmsNobody) {
  World world;
  world.drift = 0.04;
  const TrialReport report = RunTrials(Data(world), Options(500, 300));
  EXPECT_EQ(Find(report, "gate", "same code").hits, 0);
  EXPECT_FALSE(Failed(report, "too sure"));
  EXPECT_GE(Share(Find(report, "gate", "+5 %")), 0.99);
}

/// The mutant executes twice as many instructions.
TrialData MoreInstructions() {
  TrialData data = Data();
  for (ProcessSample& process : data.mutants.processes) {
    if (process.kind != "recording") continue;
    for (std::size_t i = 0; i < process.values.size(); ++i) {
      process.values[i][{"", "instructions"}] = data.mutants.cases[i].kernel == "mma_5" ? 2e6 : 1e6;
    }
  }
  return data;
}

TEST(GateTrialsTest, ChangedCodeThatIsNotSlowerIsNotBlocked) {
  const TrialReport report = RunTrials(MoreInstructions(), Options(20, 500));  // 0 of 300: below 1 %
  EXPECT_EQ(Find(report, "gate", "all mutants, their slow-down taken away, blocked").hits, 0);
  EXPECT_EQ(Find(report, "gate", "all mutants, made 5 % faster, blocked").hits, 0);
  EXPECT_EQ(Find(report, "gate", "1 mutants undone, over 2 % faster, blocked").hits, 0);
  EXPECT_FALSE(Failed(report, "blocked"));
}

TEST(GateTrialsTest, AGateThatBlocksChangedCodeFailsTheProof) {
  TrialOptions options = Options(20, 40);
  ThresholdRule rule;  // the metric's own limit: time does not decide
  rule.metric = "instructions";
  rule.maximum = 1.5e6;
  options.thresholds.rules = {rule};
  const TrialReport report = RunTrials(MoreInstructions(), options);
  EXPECT_TRUE(Failed(report, "all mutants, made 5 % faster, blocked"));
  EXPECT_TRUE(std::ranges::any_of(report.notes, [](const std::string& note) {
    return note.starts_with("all mutants, made 5 % faster, blocked: mma_5 1,8,512,64 in 24 of 24, because of ");
  }));
}

TEST(GateTrialsTest, ATrendDoesNotInflateTheErrorRate) {
  // Each process slower than the one before: without the coin every difference would have the same sign.
  World world;
  world.deviation = 0.0001;
  world.trend = 0.0004;  // less than 6 % from the first to the last, or every draw would be judged in full
  EXPECT_FALSE(Failed(RunTrials(Data(world), Options(1000, 10)), "too sure"));
}

TEST(GateTrialsTest, EverySuspectCaseIsMeasuredAgain) {
  // So little tolerance, and noise of its size, that much is suspect.
  World world;
  world.deviation = 0.001;
  TrialOptions options = Options(10, 200);
  options.thresholds.duration = {0.001, 0.0};
  EXPECT_FALSE(Failed(RunTrials(Data(world), options), "would have missed"));
}

TEST(GateTrialsTest, PIsUniformUnderEqualCode) {
  const std::vector<std::int64_t>& deciles = Proven().p_deciles;
  ASSERT_EQ(deciles.size(), 10U);
  std::int64_t all = 0;
  for (const std::int64_t count : deciles) {
    EXPECT_NEAR(static_cast<double>(count), 200.0, 65.0);  // 4.8 standard deviations
    all += count;
  }
  EXPECT_EQ(all, 2000);
}

TEST(GateTrialsTest, RunsInOrderShareNoProcess) {
  // 120 processes: five runs of 24, none suspect.
  EXPECT_EQ(Find(Proven(), "gate", "same code, independent runs, a run").trials, 5);
  EXPECT_EQ(Find(Proven(), "gate", "same code, independent runs, a comparison").trials, 5 * 5 * 2);
}

TEST(GateTrialsTest, RunsOnOtherGpusCountAsIndependentRunsAndAsNothingElse) {
  TrialData data = Data();
  const TrialReport alone = RunTrials(data, Options(10, 10));
  data.more_same_code.push_back(data.same_code);
  data.more_same_code.back().environment.gpu_name = "another GPU";
  const TrialReport both = RunTrials(data, Options(10, 10));
  EXPECT_EQ(Find(both, "gate", "same code, independent runs, a run").trials, 10);
  EXPECT_EQ(Find(both, "gate", "same code, independent runs, a comparison").trials, 2 * 5 * 5 * 2);
  EXPECT_EQ(Find(both, "gate", "same code").trials, Find(alone, "gate", "same code").trials);
  EXPECT_EQ(Find(both, "gate", "same code").hits, Find(alone, "gate", "same code").hits);
  ASSERT_GT(both.about.size(), 2U);
  EXPECT_TRUE(both.about[2].starts_with("independent runs too: another GPU")) << both.about[2];
}

TEST(GateTrialsTest, AnAlarmOnAnotherGpuIsCounted) {
  TrialData data = Data();
  Evidence slow = data.same_code;
  // In the gate's order, every candidate of case 0 is a tenth slower.
  std::size_t position = 0;
  for (ProcessSample& process : slow.processes) {
    if (process.kind != "timing") continue;
    const PairArm arm = ArmOrder(static_cast<int>(position / 3))[position % 3];
    ++position;
    if (arm != PairArm::kCandidate) continue;
    for (const char* const metric : {kDuration, kCycles}) process.values[0].at({"", metric}) *= 1.1;
  }
  data.more_same_code = {slow};
  const RuleRate runs = Find(RunTrials(data, Options(10, 10)), "gate", "same code, independent runs, a run");
  EXPECT_GE(runs.hits, 1);
}

TEST(GateTrialsTest, TheSameSeedGivesTheSameReport) {
  const TrialData data = Data();
  TrialOptions options = Options(40, 30);
  const std::string first = TrialReportJson(RunTrials(data, options));
  EXPECT_EQ(TrialReportJson(RunTrials(data, options)), first);
  options.seed = 2;
  EXPECT_NE(TrialReportJson(RunTrials(data, options)), first);
}

TEST(GateTrialsTest, TheReferenceIsExemptFromTheFivePercentDemand) {
  TrialData data = Data();
  data.same_code.cases[0].kernel = kReferenceKernel;
  const TrialReport report = RunTrials(data, Options(10, 10));
  // bb, ccc, dddd and eeeee of five.
  EXPECT_TRUE(std::ranges::any_of(report.notes, [](const std::string& note) {
    return note.starts_with("+2 % to +5 %, and slower processes: durations and cycles of 4 cases");
  }));
  EXPECT_EQ(Find(report, "gate", "same code, independent runs, a comparison").trials, 5 * 4 * 2);
}

TEST(GateTrialsTest, ThrottledProcessesAndIncompleteCasesAreDropped) {
  TrialData data = Data();
  data.same_code.processes[3].throttled = true;
  data.same_code.processes[9].values[1].erase({"", kCycles});
  const TrialReport report = RunTrials(data, Options(10, 10));
  EXPECT_EQ(std::ranges::count(report.notes, "1 throttled processes are left out"), 1);
  EXPECT_EQ(std::ranges::count(report.notes, "bb 1,8,512,64 is left out: not every process timed it"), 1);
}

TEST(GateTrialsTest, TooLittleDataIsRefused) {
  const auto message = [](const TrialData& data) -> std::string {
    try {
      (void)RunTrials(data, Options(1, 1));
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  World world;
  world.processes = 65;
  EXPECT_NE(message(Data(world)).find("65 timing processes of the same code are too few"), std::string::npos);
  world.processes = 66;
  EXPECT_EQ(message(Data(world)), "");
  TrialData data = Data();
  data.mutants.processes.resize(15);
  EXPECT_NE(message(data).find("7 pairs of timing processes are too few"), std::string::npos);
  EXPECT_THROW((void)RunTrials(Data(), Options(0, 1)), Error);
  EXPECT_THROW((void)RunTrials(Data(), Options(1, 0)), Error);
}

TEST(GateTrialsTest, TheReportStatesWhatWasProven) {
  const std::string proven = TrialReportText(Proven());
  EXPECT_NE(proven.find("PROVEN: every target was met"), std::string::npos);
  EXPECT_EQ(proven.find("NOT PROVEN"), std::string::npos);
  EXPECT_NE(proven.find("0 of 120000        0 %  (0 % to 0.0025 %)"), std::string::npos) << proven;
  EXPECT_NE(TrialReportJson(Proven()).find("\"proven\": true"), std::string::npos);
  TrialReport report;
  report.rates.push_back({"gate", "same code", 3, 1000, 0.0008, 0.0077});
  report.failed = {"gate, same code: missed"};
  EXPECT_NE(TrialReportText(report).find("NOT PROVEN:\n  gate, same code: missed\n"), std::string::npos);
  EXPECT_NE(TrialReportText(report).find("3 of 1000        0.3 %  (0.08 % to 0.77 %)"), std::string::npos)
      << TrialReportText(report);
  EXPECT_NE(TrialReportJson(report).find("\"proven\": false"), std::string::npos);
}

// In the format described in docs/gate-reference.md.
std::string ToJson(const TrialData& data) {
  std::string facts;
  for (const MutantFacts& mutant : data.facts) {
    facts += (facts.empty() ? "{\"kernel\":\"" : ",{\"kernel\":\"") + mutant.kernel + "\",\"base\":\"" + mutant.base +
             "\",\"phase\":\"" + mutant.phase + "\",\"faster_tiers\":" + (mutant.faster_tiers ? "true" : "false") + "}";
  }
  std::string more;
  for (const Evidence& other : data.more_same_code) more += (more.empty() ? "" : ",") + ToJson(other);
  if (!more.empty()) more = ",\"more_same_code\":[" + more + "]";
  return "{\"format\":\"fa-profile trial data\",\"version\":2,\"facts\":[" + facts +
         "],\"same_code\":" + ToJson(data.same_code) + more + ",\"mutants\":" + ToJson(data.mutants) + "}";
}

TEST(GateTrialsTest, ReadsTrialData) {
  TrialData data = Data();
  EXPECT_TRUE(TrialDataFromJson(ToJson(data), "trials.json").more_same_code.empty());
  data.more_same_code = {data.same_code, data.same_code};
  const TrialData back = TrialDataFromJson(ToJson(data), "trials.json");
  EXPECT_EQ(back.more_same_code.size(), 2U);
  ASSERT_EQ(back.facts.size(), 1U);
  EXPECT_EQ(back.facts[0].kernel, "mma_5");
  EXPECT_EQ(back.facts[0].phase, "softmax");
  EXPECT_FALSE(back.facts[0].faster_tiers);
  EXPECT_EQ(back.same_code.processes.size(), data.same_code.processes.size());
  EXPECT_EQ(back.mutants.cases[1].kernel, "mma_5");
}

TEST(GateTrialsTest, InvalidTrialDataAreRefused) {
  const std::string text = ToJson(Data());
  const auto message = [&](const std::string& from, const std::string& to) -> std::string {
    std::string changed = text;
    const auto at = changed.find(from);
    if (at == std::string::npos) return "not in the text: " + from;
    changed.replace(at, from.size(), to);
    try {
      (void)TrialDataFromJson(changed, "trials.json");
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(message("\"format\":\"fa-profile trial data\",\"version\":2",
                    "\"format\":\"fa-profile trial data\",\"version\":3"),
            "trials.json was written by a newer fa-profile: version 3, and this one reads up to 2");
  EXPECT_EQ(message("fa-profile trial data", "something"), "trials.json is not in the format 'fa-profile trial data'");
  EXPECT_NE(message("\"kernel\":\"mma_5\"", "\"kernel\":\"mma_6\"").find("/facts/0/kernel: kernel \"mma_6\" not found"),
            std::string::npos);
  EXPECT_NE(message("\"base\":\"mma\"", "\"base\":\"mma_5\"").find("/facts/0/base: names the mutant itself"),
            std::string::npos);
  EXPECT_NE(message("\"faster_tiers\":false", "\"faster_tiers\":0").find("not true or false"), std::string::npos);
  EXPECT_NE(message("\"same_code\"", "\"other_code\"").find("unknown key"), std::string::npos);
  EXPECT_THROW((void)TrialDataFromJson("", "trials.json"), Error);
  EXPECT_THROW((void)TrialDataFromJson("[]", "trials.json"), Error);
  EXPECT_THROW((void)TrialDataFromJson(text.substr(0, text.size() / 2), "trials.json"), Error);
}

}  // namespace
}  // namespace fa_profile::gate::gate_trials_test
