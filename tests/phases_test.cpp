#include "fa_profile/phases.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "attention_code.h"
#include "device_code.h"
#include "fa_profile/analyze.h"
#include "fa_profile/metric_catalogue.h"

namespace fa_profile::analyze::phases_test {
namespace {

const std::string kExecuted = "smsp__sass_inst_executed";
const std::string kThreads = "smsp__sass_thread_inst_executed";
const std::string kPredicateOn = "smsp__sass_thread_inst_executed_pred_on";
const std::string kWavefronts = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared";

/// A block of four warps: all do qk, then one thread does softmax while the others wait, then all do pv.
DeviceFunction SerialSoftmax() {
  return MakeFunction({
      {"", "HMMA.16816.F32", "R4,R8,R12,R4", {"ns::qk(int)", "ns::Kernel<64>(P)"}},  // 0
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {"ns::sync()", "ns::Kernel<64>(P)"}},   // 1
      {"@P0", "BRA", "0x40", {"ns::Kernel<64>(P)"}},                                 // 2
      {"", "MUFU.EX2", "R1,R1", {"ns::softmax(float*)", "ns::Kernel<64>(P)"}},       // 3
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {"ns::sync()", "ns::Kernel<64>(P)"}},   // 4
      {"", "LDS", "R1,[R2]", {"ns::pv(float*)", "ns::Kernel<64>(P)"}},               // 5
      {"@P1", "BRA", "0x0", {"ns::Kernel<64>(P)"}},                                  // 6
      {"", "EXIT", "", {"ns::Kernel<64>(P)"}},                                       // 7
  });
}

PcSample At(int instruction, std::map<std::string, std::uint64_t> samples, std::int64_t function = 1) {
  return {function, static_cast<std::uint32_t>(16 * instruction), std::move(samples)};
}

SassCount Counted(int instruction, std::map<std::string, std::uint64_t> values, std::int64_t function = 1) {
  return {function, static_cast<std::uint32_t>(16 * instruction), std::move(values)};
}

/// A recording of one correct case of 100 us, with samples that add up.
Recording MakeRecording(std::vector<DeviceFunction> functions, std::vector<PcSample> samples,
                        std::vector<SassCount> counts = {}) {
  Recording recording;
  recording.session.complete = true;
  recording.session.replay_mode = "user";
  recording.device.sm_count = 10;
  recording.device.sm_clock_max_hz = 1'000'000'000;
  Case kernel_case;
  kernel_case.id = 1;
  kernel_case.kernel = "kernel";
  recording.cases = {kernel_case};
  Timing timing;
  timing.case_id = 1;
  timing.durations_ns = {100e3, 100e3, 100e3};
  recording.timings = {timing};
  recording.functions = std::move(functions);
  PcSampling sampling;
  sampling.id = 1;
  sampling.case_id = 1;
  sampling.period_cycles = 512;
  for (const PcSample& sample : samples) {
    for (const auto& [reason, count] : sample.samples) {
      if (!reason.ends_with("_not_issued")) sampling.total_samples += count;
    }
  }
  sampling.samples = std::move(samples);
  if (!sampling.samples.empty()) recording.samplings = {sampling};
  SassCounting counting;
  counting.id = 1;
  counting.case_id = 1;
  counting.counts = std::move(counts);
  if (!counting.counts.empty()) recording.countings = {counting};
  return recording;
}

void AddRange(Recording& recording, std::map<std::string, double> metrics) {
  Range range;
  range.id = 1;
  range.case_id = 1;
  range.metrics = std::move(metrics);
  recording.ranges.push_back(range);
}

PhaseTable TableOf(const Recording& recording, const std::optional<PhaseMap>& map = std::nullopt) {
  const Profile profile = Analyze(recording, map);
  return profile.entries.at(0).phases.value();
}

const PhaseEntry& Phase(const PhaseTable& table, const std::string& name) {
  const auto found = std::ranges::find(table.phases, name, &PhaseEntry::name);
  if (found == table.phases.end()) throw std::out_of_range("no phase " + name);
  return *found;
}

double Value(const PhaseTable& table, const std::string& phase, const std::string& metric) {
  return Phase(table, phase).metrics.at(metric);
}

std::vector<std::string> Names(const PhaseTable& table) {
  std::vector<std::string> names;
  for (const PhaseEntry& phase : table.phases) names.push_back(phase.name);
  return names;
}

bool HasLoss(const Profile& profile, const std::string& kind) {
  return std::ranges::any_of(profile.losses, [&](const DataLoss& loss) { return loss.kind == kind; });
}

TEST(PhasesTest, TimeThatWarpsWaitForASerialPhaseIsChargedToIt) {
  // 400 samples of four warps in qk; 100 of one warp in softmax, and 300 of the three that wait for it.
  const PhaseTable table =
      TableOf(MakeRecording({SerialSoftmax()}, {At(0, {{"selected", 100}, {"wait", 300}}),
                                                At(3, {{"selected", 40}, {"wait", 60}}), At(5, {{"barrier", 300}})}));
  EXPECT_EQ(table.attribution, "inline functions");
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_time_ratio"), 0.5);
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_time_seconds"), 50e-6);
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_warp_time_ratio"), 0.125);
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_issue_ratio"), 40.0 / 140.0);
  EXPECT_DOUBLE_EQ(Value(table, "qk", "phase_time_ratio"), 0.5);
  EXPECT_DOUBLE_EQ(Value(table, "pv", "phase_time_ratio"), 0.0)
      << "the warps that wait stand in pv and do nothing of it";
  EXPECT_DOUBLE_EQ(Value(table, "pv", "phase_waiting_ratio"), 1.0);
  EXPECT_DOUBLE_EQ(table.waiting_ratio, 0.0);
  EXPECT_EQ(table.samples, 800U);
}

TEST(PhasesTest, ABarrierIsChargedToTheCodeBeforeIt) {
  // The first barrier waits for qk, and for pv of the round before, 3 to 1; the second for softmax.
  const PhaseTable table = TableOf(
      MakeRecording({SerialSoftmax()}, {At(0, {{"wait", 300}}), At(1, {{"barrier", 80}}), At(3, {{"wait", 100}}),
                                        At(4, {{"barrier", 20}}), At(5, {{"wait", 100}})}));
  EXPECT_DOUBLE_EQ(Value(table, "qk", "phase_time_ratio"), 360.0 / 600.0);
  EXPECT_DOUBLE_EQ(Value(table, "pv", "phase_time_ratio"), 120.0 / 600.0);
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_time_ratio"), 120.0 / 600.0);
  EXPECT_DOUBLE_EQ(Value(table, "sync", "phase_time_ratio"), 0.0);
  EXPECT_DOUBLE_EQ(Value(table, "sync", "phase_warp_time_ratio"), 100.0 / 600.0);
}

TEST(PhasesTest, AWaitForWarpgroupMatrixInstructionsIsWorkOfItsPhaseThoughItIsSampledAsABarrier) {
  const DeviceFunction function = MakeFunction({
      {"", "LDGSTS.E.128", "[R2],[R4]", {"ns::load_kv(int)", "ns::Kernel<64>(P)"}},    // 0
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {"ns::sync()", "ns::Kernel<64>(P)"}},     // 1
      {"", "HGMMA.64x64x16.F32", "R4,gdesc[UR4]", {"ns::qk()", "ns::Kernel<64>(P)"}},  // 2
      {"", "WARPGROUP.DEPBAR.LE", "gsb0,0x0", {"ns::qk()", "ns::Kernel<64>(P)"}},      // 3
      {"", "EXIT", "", {"ns::Kernel<64>(P)"}},                                         // 4
  });
  const PhaseTable table =
      TableOf(MakeRecording({function}, {At(0, {{"wait", 100}}), At(1, {{"barrier", 50}}), At(2, {{"selected", 50}}),
                                         At(3, {{"barrier", 300}, {"barrier_not_issued", 200}})}));
  EXPECT_DOUBLE_EQ(Value(table, "qk", "phase_time_ratio"), 350.0 / 500.0);
  EXPECT_DOUBLE_EQ(Value(table, "qk", "phase_waiting_ratio"), 0.0);
  EXPECT_DOUBLE_EQ(Value(table, "load_kv", "phase_time_ratio"), 150.0 / 500.0) << "of the block's barrier alone";
  ASSERT_FALSE(Phase(table, "qk").stalls.empty());
  EXPECT_EQ(Phase(table, "qk").stalls.front().reason, "gmma");
}

TEST(PhasesTest, AnUnattributedBarrierIsShownAndNotCharged) {
  const DeviceFunction function = MakeFunction({{"", "BAR.SYNC", "0x0", {"sync()", "K()"}},
                                                {"", "FADD", "R1,R1,R1", {"softmax()", "K()"}},
                                                {"", "EXIT", "", {"K()"}}});
  const PhaseTable table = TableOf(MakeRecording({function}, {At(0, {{"barrier", 50}}), At(1, {{"wait", 150}})}));
  EXPECT_DOUBLE_EQ(table.waiting_ratio, 0.25);
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_time_ratio"), 1.0);
}

TEST(PhasesTest, WaitsOfSpecialisedWarpsAreNotWork) {
  const DeviceFunction function = MakeFunction({
      {"", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "P0[UR4], R4", {"qk()", "K()"}},
      {"@!P0", "BRA", "0x0", {"qk()", "K()"}},
      {"", "HGMMA.64x64x16.F32", "R4,gdesc[UR4],R4", {"qk()", "K()"}},
      {"", "BAR.ARV", "0x2,0x80", {"K()"}},
      {"", "BAR.SYNC", "0x2,0x80", {"K()"}},
      {"", "EXIT", "", {"K()"}},
  });
  const PhaseTable table = TableOf(MakeRecording({function}, {At(1, {{"long_scoreboard", 60}}), At(2, {{"wait", 100}}),
                                                              At(4, {{"barrier", 30}}), At(5, {{"sleeping", 10}})}));
  EXPECT_DOUBLE_EQ(table.waiting_ratio, 0.5);
  EXPECT_DOUBLE_EQ(Value(table, "qk", "phase_time_ratio"), 1.0);
  EXPECT_DOUBLE_EQ(Value(table, "qk", "phase_waiting_ratio"), 60.0 / 160.0);
}

TEST(PhasesTest, SumsOfSamplesMayBeLargerThanAnyCount) {
  const std::uint64_t most = ~std::uint64_t{0};
  const PhaseTable table = TableOf(MakeRecording({SerialSoftmax()}, {At(0, {{"wait", most}}), At(3, {{"wait", most}})},
                                                 {Counted(0, {{kExecuted, 1}}), Counted(3, {{kExecuted, 1}})}));
  EXPECT_DOUBLE_EQ(Value(table, "qk", "phase_time_ratio"), 0.5);
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_time_ratio"), 0.5);
  EXPECT_EQ(table.samples, most) << "as many as fit";
}

TEST(PhasesTest, DuplicateStallReasonsAreNotCountedTwice) {
  const PhaseTable table =
      TableOf(MakeRecording({SerialSoftmax()}, {At(0, {{"wait", 10}, {"wait_not_issued", 7}, {"selected", 10}})}));
  EXPECT_EQ(table.samples, 20U);
  ASSERT_EQ(Phase(table, "qk").stalls.size(), 1U);
  EXPECT_EQ(Phase(table, "qk").stalls[0].reason, "wait");
  EXPECT_DOUBLE_EQ(Phase(table, "qk").stalls[0].ratio, 0.5);
}

/// A loop of one FFMA in qk, then softmax, where nothing but the skid of qk's branch was sampled much.
std::vector<DeviceFunction> LoopThenSoftmax() {
  return {MakeFunction({
      {"", "FFMA", "R1,R1,R2,R2", {"qk(int)", "Kernel(P)"}},        // 0
      {"@P0", "BRA", "0x0", {"qk(int)", "Kernel(P)"}},              // 1
      {"", "MUFU.EX2", "R1,R1", {"softmax(float*)", "Kernel(P)"}},  // 2
      {"", "EXIT", "", {"Kernel(P)"}},                              // 3
  })};
}

double TimeShare(const Recording& recording, const std::string& phase) {
  return Value(TableOf(recording), phase, "phase_time_ratio");
}

TEST(PhasesTest, SamplesAfterATakenBranchGoToTheBranch) {
  // The loop runs 100 times, softmax once. Behind the branch 99 of 100 slots are the branch's; what softmax waits for
  // itself (short_scoreboard) stays where it is.
  const Recording recording = MakeRecording(
      LoopThenSoftmax(), {At(0, {{"wait", 300}}), At(2, {{"selected", 100}, {"wait", 400}, {"short_scoreboard", 200}})},
      {Counted(0, {{kExecuted, 100}}), Counted(1, {{kExecuted, 100}}), Counted(2, {{kExecuted, 1}}),
       Counted(3, {{kExecuted, 1}})});
  EXPECT_DOUBLE_EQ(TimeShare(recording, "qk"), (300 + 99 + 396) / 1000.0);
  EXPECT_DOUBLE_EQ(TimeShare(recording, "softmax"), (1 + 4 + 200) / 1000.0);
}

TEST(PhasesTest, SamplesOfCodeThatNeverRanGoToThePrecedingBranch) {
  const Recording recording =
      MakeRecording(LoopThenSoftmax(), {At(0, {{"wait", 300}}), At(2, {{"branch_resolving", 100}})},
                    {Counted(0, {{kExecuted, 100}}), Counted(1, {{kExecuted, 100}})});
  EXPECT_DOUBLE_EQ(TimeShare(recording, "qk"), 1.0);
}

TEST(PhasesTest, WithoutCountsSamplesAfterABranchStay) {
  const Recording recording = MakeRecording(LoopThenSoftmax(), {At(0, {{"wait", 300}}), At(2, {{"wait", 100}})});
  EXPECT_DOUBLE_EQ(TimeShare(recording, "qk"), 0.75);
}

TEST(PhasesTest, TheOutermostPhaseOfAnInlineStackIsUsed) {
  const DeviceFunction function = MakeFunction({
      {"", "FADD", "", {"Exp2(float)", "qk(int)", "softmax<4>(float*)", "Kernel(P)"}},  // a helper named as a phase
      {"", "FADD", "", {"Max(float)", "ns::(anonymous namespace)::qk<T>(int)", "Kernel(P)"}},
      {"", "FADD", "", {"Max(float)", "ns::softmax(int)", "Kernel(P)"}},
      {"", "FADD", "", {"Max(float)", "Kernel(P)"}},
  });
  EXPECT_EQ(PhasesOf(function, AttentionPhases()),
            (std::vector<std::string>{"softmax", "qk", "softmax", kUnattributed}));
}

TEST(PhasesTest, AWarpgroupsMatrixInstructionsAreOfThePhaseOfTheirFence) {
  const DeviceFunction function = MakeFunction({{"", "HGMMA.64x64x16.F32", "", {"sync()", "Kernel()"}},  // no fence
                                                {"", "WARPGROUP.ARRIVE", "", {"qk()", "Kernel()"}},
                                                {"", "MUFU.EX2", "", {"softmax()", "Kernel()"}},
                                                {"", "HGMMA.64x64x16.F32", "", {"softmax()", "Kernel()"}},
                                                {"", "WARPGROUP.ARRIVE", "", {"pv()", "Kernel()"}},
                                                {"", "QGMMA.64x64x32.F32", "", {}},
                                                {"", "WARPGROUP.ARRIVE", "", {}},
                                                {"", "HGMMA.64x64x16.F32", "", {"rescale()", "Kernel()"}}});
  EXPECT_EQ(PhasesOf(function, AttentionPhases()),
            (std::vector<std::string>{"sync", "qk", "softmax", "qk", "pv", "pv", kUnattributed, "rescale"}));
}

TEST(PhasesTest, CodeWithoutPhaseFunctionsIsSplitByOpcode) {
  const DeviceFunction function = MakeFunction({{"", "HMMA.16816.F32", "", {}},
                                                {"", "MUFU.EX2", "", {}},
                                                {"", "LDS", "", {}},
                                                {"", "STG.E", "", {}},
                                                {"", "BAR.SYNC", "0x0", {}},
                                                {"", "LDGDEPBAR", "", {}},
                                                {"", "REDUX.SUM", "", {}},
                                                {"", "EXIT", "", {}},
                                                {"", "IMAD", "", {"Kernel()"}}});
  const PhaseMap map = ChoosePhaseMap({&function});
  EXPECT_EQ(map.name, "opcode classes");
  EXPECT_EQ(PhasesOf(function, map),
            (std::vector<std::string>{"matrix", "exponential and reduction", "loads", "stores", "barriers", "barriers",
                                      "exponential and reduction", "control", "other arithmetic"}));
}

// FlashAttention 3, built with -lineinfo, calls CUTLASS's sync(): its phases would all be unattributed.
TEST(PhasesTest, AFunctionNamedSyncAloneNamesNoPhases) {
  const DeviceFunction barrier = MakeFunction({{"", "BAR.SYNC", "0x0", {"cutlass::arch::NamedBarrier::sync()"}}});
  EXPECT_EQ(ChoosePhaseMap({&barrier}).name, "opcode classes");
  const DeviceFunction product = MakeFunction({{"", "HGMMA.64x64x16.F32", "", {"qk()"}}});
  EXPECT_EQ(ChoosePhaseMap({&barrier, &product}).name, "inline functions");
}

TEST(PhasesTest, LineRulesMatchTheEndOfAPath) {
  const DeviceFunction function =
      MakeFunction({{"", "FADD", "", {"a()"}}, {"", "FADD", "", {"a()"}}, {"", "FADD", "", {"a()"}}});
  PhaseMap map{"phase map", {{"first", {}, {{"kernel.cu", 0, 0}}, {}}, {"second", {}, {{"src/kernel.cu", 1, 1}}, {}}}};
  EXPECT_EQ(PhasesOf(function, map), (std::vector<std::string>{"first", "second", kUnattributed}));
  map.rules[0].lines[0].file = "nel.cu";
  map.rules[1].lines[0].file = "";
  EXPECT_EQ(PhasesOf(function, map), (std::vector<std::string>(3, kUnattributed)));
}

TEST(PhasesTest, FunctionRulesPrecedeLineRulesAndLineRulesPrecedeOpcodeRules) {
  const DeviceFunction function = MakeFunction({{"", "FADD", "", {"a()"}}, {"", "FADD", "", {"b()"}}});
  const PhaseMap map{
      "phase map",
      {{"by opcode", {}, {}, {"FADD"}}, {"by line", {}, {{"kernel.cu", 0, 1}}, {}}, {"by name", {"a"}, {}, {}}}};
  EXPECT_EQ(PhasesOf(function, map), (std::vector<std::string>{"by name", "by line"}));
}

/// MmaAttention() without its phase functions, as a library's kernel comes.
DeviceFunction WithoutNames() {
  std::vector<Line> lines = MmaAttention();
  for (Line& line : lines) line.stack.clear();
  return MakeFunction(lines);
}

PhaseTable TableFrom(const Recording& recording, PhaseSource source, const std::optional<PhaseMap>& map = {}) {
  return Analyze(recording, map, source).entries.at(0).phases.value();
}

TEST(PhasesTest, PhasesOfCodeWithoutNamesAreInferred) {
  const PhaseTable table = TableOf(MakeRecording({WithoutNames()}, {At(0, {{"wait", 10}}), At(16, {{"wait", 50}}),
                                                                    At(23, {{"wait", 30}}), At(41, {{"drain", 10}})}));
  EXPECT_EQ(table.attribution, "inference from machine code");
  ASSERT_TRUE(table.inference);
  EXPECT_EQ(table.inference->refusal, "");
  EXPECT_EQ(table.inference->weighed_by, "samples");
  EXPECT_DOUBLE_EQ(table.inference->direct_ratio, 0.8);
  EXPECT_DOUBLE_EQ(table.inference->derived_ratio, 0.1);
  EXPECT_DOUBLE_EQ(table.inference->guess_ratio, 0.1);
  EXPECT_DOUBLE_EQ(table.inference->qk_to_pv_ratio.value(), 1.0);
  EXPECT_FALSE(table.inference->counted);
  EXPECT_DOUBLE_EQ(Value(table, "qk", "phase_time_ratio"), 0.5);
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_time_ratio"), 0.3);
  EXPECT_DOUBLE_EQ(Value(table, "setup", "phase_time_ratio"), 0.1);
}

TEST(PhasesTest, CodeThatIsRefusedHasOpcodeClassesAndTheReason) {
  const DeviceFunction function =
      MakeFunction({{"", "LDG.E", "R1, desc[UR4][R2.64]", {}}, {"", "FADD", "R1, R1, R1", {}}, {"", "EXIT", "", {}}});
  const PhaseTable table = TableOf(MakeRecording({function}, {At(1, {{"wait", 100}})}));
  EXPECT_EQ(table.attribution, kOpcodePhasesName);
  ASSERT_TRUE(table.inference);
  EXPECT_EQ(table.inference->refusal, "not attention: no exponentials (MUFU.EX2)");
  EXPECT_DOUBLE_EQ(Value(table, "other arithmetic", "phase_time_ratio"), 1.0);
}

TEST(PhasesTest, AMapComesBeforeFunctionsAndFunctionsBeforeCode) {
  const Recording recording = MakeRecording({MakeFunction(MmaAttention())}, {At(16, {{"wait", 100}})});
  const PhaseMap map{"phase map my.yaml", {{"products", {}, {}, {"HMMA"}}}};
  EXPECT_EQ(TableFrom(recording, PhaseSource::kBest, map).attribution, "phase map my.yaml");
  const PhaseTable named = TableFrom(recording, PhaseSource::kBest);
  EXPECT_EQ(named.attribution, "inline functions");
  EXPECT_FALSE(named.inference) << "it was not tried";
}

TEST(PhasesTest, ASourceCanBeForced) {
  const Recording recording = MakeRecording({MakeFunction(MmaAttention())}, {At(16, {{"wait", 100}})});
  EXPECT_EQ(TableFrom(recording, PhaseSource::kCode).attribution, "inference from machine code");
  EXPECT_EQ(TableFrom(recording, PhaseSource::kOpcodes).attribution, kOpcodePhasesName);
  EXPECT_EQ(TableFrom(recording, PhaseSource::kFunctions).attribution, "inline functions");
  const Recording bare = MakeRecording({WithoutNames()}, {At(16, {{"wait", 100}})});
  EXPECT_DOUBLE_EQ(Value(TableFrom(bare, PhaseSource::kFunctions), kUnattributed, "phase_time_ratio"), 1.0);
}

TEST(PhasesTest, FindingsSayThatTheirPhaseIsInferred) {
  const Profile profile = Analyze(MakeRecording({WithoutNames()}, {At(16, {{"wait", 100}})}));
  ASSERT_FALSE(profile.entries.at(0).findings.empty());
  EXPECT_EQ(profile.entries[0].findings[0].phase, "qk");
  EXPECT_TRUE(profile.entries[0].findings[0].evidence.ends_with("; the phase is inferred from machine code"));
}

TEST(PhasesTest, AFunctionBesideAnInferredKernelIsUnattributed) {
  DeviceFunction other = MakeFunction({{"", "FADD", "R1, R1, R1", {}}, {"", "EXIT", "", {}}}, 2, "other");
  const PhaseTable table =
      TableOf(MakeRecording({WithoutNames(), other}, {At(16, {{"wait", 75}}), At(0, {{"wait", 25}}, /*function=*/2)}));
  EXPECT_EQ(table.attribution, "inference from machine code");
  EXPECT_DOUBLE_EQ(Value(table, kUnattributed, "phase_time_ratio"), 0.25);
}

TEST(PhasesTest, AMapWithoutAMatchLeavesEverythingUnattributedAndIsReported) {
  const Recording recording = MakeRecording({SerialSoftmax()}, {At(0, {{"wait", 300}})});
  const PhaseMap map{"phase map my.yaml", {{"phase", {"no_such_function"}, {}, {}}}};
  const Profile profile = Analyze(recording, map);
  EXPECT_EQ(Names(*profile.entries[0].phases), (std::vector<std::string>{kUnattributed}));
  EXPECT_EQ(profile.entries[0].phases->attribution, "phase map my.yaml");
  ASSERT_TRUE(HasLoss(profile, "phase_unattributed"));
  EXPECT_FALSE(HasLoss(Analyze(recording), "phase_unattributed"));
}

TEST(PhasesTest, OfOverlappingRulesTheFirstIsUsedAndTheOverlapReported) {
  const PhaseMap map{"phase map my.yaml",
                     {{"one", {"qk"}, {{"a.cu", 1, 10}}, {}},
                      {"two", {"qk"}, {}, {}},
                      {"three", {}, {{"a.cu", 10, 20}}, {}},
                      {"four", {}, {{"a.cu", 21, 30}, {"b.cu", 1, 10}}, {}}}};
  const Profile profile = Analyze(MakeRecording({SerialSoftmax()}, {At(0, {{"wait", 300}})}), map);
  EXPECT_DOUBLE_EQ(Value(*profile.entries[0].phases, "one", "phase_time_ratio"), 1.0);
  std::vector<std::string> said;
  for (const DataLoss& loss : profile.losses) {
    if (loss.kind == "phase_map_overlap") said.push_back(loss.reason);
  }
  EXPECT_EQ(said, (std::vector<std::string>{"phases one and two both name function qk; it counts for one",
                                            "phases one and three both name a.cu lines 10 to 10; it counts for one"}));
}

TEST(PhasesTest, CodeThatWasNotDisassembledIsUnattributed) {
  const DeviceFunction unknown = MakeFunction({}, 2, "unknown");
  const PhaseTable table = TableOf(
      MakeRecording({SerialSoftmax(), unknown},
                    {At(0, {{"wait", 50}}), At(9, {{"wait", 30}, {"barrier", 20}}, 2), At(1000, {{"wait", 100}})},
                    {Counted(0, {{kExecuted, 5}}), Counted(9, {{kExecuted, 7}}, 2)}));
  EXPECT_EQ(Names(table), (std::vector<std::string>{"qk", kUnattributed}));
  EXPECT_DOUBLE_EQ(Value(table, kUnattributed, "phase_time_ratio"), 150.0 / 200.0);
  EXPECT_DOUBLE_EQ(Value(table, kUnattributed, "phase_instructions"), 7.0);
  EXPECT_FALSE(Phase(table, kUnattributed).metrics.contains("phase_tensor_instructions")) << "nobody knows its opcodes";
  EXPECT_DOUBLE_EQ(Value(table, "qk", "phase_tensor_instructions"), 5.0);
}

TEST(PhasesTest, WithoutOpcodesPhasesHaveTimeAndNoInstructionCounts) {
  DeviceFunction function = SerialSoftmax();
  for (Instruction& instruction : function.instructions) instruction.opcode.clear();
  const PhaseTable table = TableOf(MakeRecording({function}, {At(0, {{"wait", 10}}), At(3, {{"wait", 30}})},
                                                 {Counted(0, {{kExecuted, 5}}), Counted(3, {{kExecuted, 7}})}));
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_time_ratio"), 0.75);
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_instructions"), 7);
  EXPECT_FALSE(Phase(table, "qk").metrics.contains("phase_tensor_instructions"));
}

TEST(PhasesTest, TheClosureShowsSamplesOfMissingFunctions) {
  Recording recording = MakeRecording({SerialSoftmax()}, {At(0, {{"wait", 90}}), At(0, {{"wait", 10}}, 77)});
  const PhaseTable table = TableOf(recording);
  ASSERT_FALSE(table.closures.empty());
  EXPECT_EQ(table.closures[0].quantity, "samples");
  EXPECT_EQ(table.closures[0].phases, 90.0);
  EXPECT_EQ(table.closures[0].whole, 100.0);
  EXPECT_FALSE(table.closures[0].closes());
}

TEST(PhasesTest, TheClosureAllowsForDroppedSamplesAndOtherCode) {
  Recording recording = MakeRecording({SerialSoftmax()}, {At(0, {{"wait", 90}})});
  recording.samplings[0].total_samples = 120;
  recording.samplings[0].dropped_samples = 20;
  recording.losses.push_back({"samples_unnamed", "kernel", "", 10});
  const PhaseTable table = TableOf(recording);
  EXPECT_EQ(table.dropped_samples, 20U);
  EXPECT_TRUE(table.closures[0].closes());
  EXPECT_EQ(table.closures[0].whole, 90.0);
}

TEST(PhasesTest, InstructionCountsGiveTheWorkOfAPhase) {
  Recording recording = MakeRecording(
      {SerialSoftmax()}, {At(0, {{"wait", 100}}), At(3, {{"wait", 100}})},
      {Counted(0, {{kExecuted, 1000}, {kThreads, 32'000}, {kPredicateOn, 32'000}}),
       Counted(3, {{kExecuted, 50}, {kThreads, 50}, {kPredicateOn, 40}}), Counted(4, {{kExecuted, 8}, {kThreads, 256}}),
       Counted(5, {{kExecuted, 10},
                   {kWavefronts, 40},
                   {kWavefronts + "_ideal", 10},
                   {"smsp__sass_sectors_mem_global", 64},
                   {"smsp__sass_sectors_mem_global_ideal", 16}})});
  AddRange(recording, {{"sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained", 10'000},
                       {"sm__cycles_elapsed.avg.per_second", 1e9}});
  const PhaseTable table = TableOf(recording);
  EXPECT_DOUBLE_EQ(Value(table, "qk", "phase_tensor_flops"), 4096e3);
  EXPECT_DOUBLE_EQ(Value(table, "qk", "phase_tensor_utilization_ratio"), 4096e3 / 50e-6 / 1e13);
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_threads_per_instruction"), 1.0);
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_exponentials"), 40.0);
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_mufu_utilization_ratio"), 40.0 / (16 * 10 * 1e9 * 50e-6));
  EXPECT_DOUBLE_EQ(Value(table, "softmax", "phase_tensor_instructions"), 0.0) << "counted, and there were none";
  EXPECT_DOUBLE_EQ(Value(table, "sync", "phase_barriers"), 8.0);
  EXPECT_DOUBLE_EQ(Value(table, "pv", "phase_bank_conflicts"), 30.0);
  EXPECT_DOUBLE_EQ(Value(table, "pv", "phase_bank_conflict_ratio"), 0.75);
  EXPECT_DOUBLE_EQ(Value(table, "pv", "phase_global_bytes"), 2048.0);
  EXPECT_DOUBLE_EQ(Value(table, "pv", "phase_coalescing_ratio"), 0.25);
  EXPECT_DOUBLE_EQ(Value(table, "pv", "phase_local_sectors"), 0.0);
  EXPECT_FALSE(Phase(table, "qk").metrics.contains("phase_coalescing_ratio")) << "no access, no ratio";
}

TEST(PhasesTest, AMetricTheChipLacksIsAbsentNotZero) {
  Recording recording = MakeRecording({SerialSoftmax()}, {}, {Counted(0, {{kExecuted, 10}})});
  recording.losses.push_back({"metric_unavailable", "smsp__sass_sectors_mem_local", "", 1});
  recording.losses.push_back({"metric_unavailable", kPredicateOn, "", 1});
  const PhaseEntry qk = Phase(TableOf(recording), "qk");
  EXPECT_TRUE(qk.metrics.contains("phase_global_sectors"));
  EXPECT_FALSE(qk.metrics.contains("phase_local_sectors"));
  EXPECT_FALSE(qk.metrics.contains("phase_flops"));
  EXPECT_TRUE(qk.metrics.contains("phase_tensor_flops"));
}

TEST(PhasesTest, CountsAloneGiveATableWithoutTimes) {
  const PhaseTable table = TableOf(MakeRecording({SerialSoftmax()}, {}, {Counted(0, {{kExecuted, 10}})}));
  EXPECT_EQ(Names(table), (std::vector<std::string>{"qk", kUnattributed}));
  EXPECT_FALSE(Phase(table, "qk").metrics.contains("phase_time_ratio"));
  EXPECT_EQ(table.samples, 0U);
  EXPECT_EQ(table.period_cycles, 0);
}

TEST(PhasesTest, WithoutSamplesAndCountsThereIsNoPhaseTable) {
  EXPECT_FALSE(Analyze(MakeRecording({SerialSoftmax()}, {})).entries.at(0).phases);
  Recording recording = MakeRecording({}, {At(0, {{"wait", 10}})});
  EXPECT_FALSE(Analyze(recording).entries.at(0).phases) << "samples of functions that are not there";
}

TEST(PhasesTest, SumsAreComparedWithTheRangeProfiler) {
  Recording recording = MakeRecording(
      {SerialSoftmax()}, {},
      {Counted(0, {{kExecuted, 100}}), Counted(5, {{kExecuted, 20}, {kWavefronts, 80}, {kWavefronts + "_ideal", 20}})});
  const std::map<std::string, double> counters{{"smsp__inst_executed.sum", 120},
                                               {"sm__inst_executed_pipe_tensor_op_hmma_v2.sum", 99},
                                               {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 82},
                                               {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", 62},
                                               {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", 0},
                                               {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", 0}};
  AddRange(recording, counters);
  std::map<std::string, bool> closes;
  for (const Closure& closure : TableOf(recording).closures) closes[closure.quantity] = closure.closes();
  EXPECT_EQ(closes, (std::map<std::string, bool>{{"instructions", true},
                                                 {"HMMA instructions", false},
                                                 {"shared load/store wavefronts", false},
                                                 {"shared load/store wavefronts less conflicts", true}}));
  const std::vector<std::string> names = MetricsForAnalysis();
  for (const auto& [name, value] : counters) EXPECT_TRUE(std::ranges::binary_search(names, name)) << name;
}

TEST(PhasesTest, CodeThatPollsMayDifferInItsPollingInstructions) {
  const DeviceFunction function = MakeFunction(
      {{"", "SYNCS.PHASECHK.TRANS64", "P0,[UR4],R4", {}}, {"@!P0", "BRA", "0x0", {}}, {"", "EXIT", "", {}}});
  for (const auto& [counter, closes] : {std::pair{1010.0, true}, std::pair{1500.0, false}}) {
    Recording recording = MakeRecording(
        {function}, {}, {Counted(0, {{kExecuted, 50}}), Counted(1, {{kExecuted, 50}}), Counted(2, {{kExecuted, 900}})});
    AddRange(recording, {{"smsp__inst_executed.sum", counter}});
    EXPECT_EQ(TableOf(recording).closures.at(0).closes(), closes) << counter;
  }
}

TEST(PhasesTest, AnIncorrectKernelHasSharesAndNoTimes) {
  Recording recording = MakeRecording({SerialSoftmax()}, {At(0, {{"wait", 90}})});
  Verification wrong;
  wrong.case_id = 1;
  wrong.draws = 2;
  wrong.draws_passed = 1;
  recording.verifications = {wrong};
  const PhaseEntry qk = Phase(TableOf(recording), "qk");
  EXPECT_TRUE(qk.metrics.contains("phase_time_ratio"));
  for (const auto& [id, value] : qk.metrics) EXPECT_NE(FindPhaseMetric(id)->unit, "seconds") << id;
}

/// Two kernels, each launched by its own part.
Recording TwoParts() {
  DeviceFunction second = SerialSoftmax();
  second.id = 2;
  second.name = "second";
  Recording recording = MakeRecording({SerialSoftmax(), second},
                                      {At(0, {{"wait", 60}}), At(1, {{"barrier", 15}}), At(3, {{"wait", 25}}, 2)});
  for (const auto& [part, kernel] : {std::pair{"a", "kernel"}, std::pair{"b", "second"}}) {
    Launch launch;
    launch.id = static_cast<std::int64_t>(recording.launches.size()) + 1;
    launch.case_id = 1;
    launch.part = part;
    launch.kernel_name = kernel;
    recording.launches.push_back(launch);
    Timing timing = recording.timings[0];
    timing.part = part;
    timing.durations_ns = {10e3};
    recording.timings.push_back(timing);
  }
  return recording;
}

TEST(PhasesTest, ACallOfSeveralKernelsHasItsPartsAsPhases) {
  const Profile profile = Analyze(TwoParts());
  ASSERT_EQ(profile.entries.size(), 3U);
  const PhaseTable& call = profile.entries[0].phases.value();
  EXPECT_EQ(call.attribution, "kernels");
  EXPECT_EQ(Names(call), (std::vector<std::string>{"a", "b", kUnattributed}));
  EXPECT_DOUBLE_EQ(Value(call, "a", "phase_time_ratio"), 0.75) << "a kernel's barriers are its own";
  EXPECT_DOUBLE_EQ(Value(call, "a", "phase_time_seconds"), 75e-6);
  EXPECT_DOUBLE_EQ(Value(call, "a", "phase_waiting_ratio"), 0.2);

  const PhaseTable& part = profile.entries[2].phases.value();
  EXPECT_EQ(part.attribution, "inline functions");
  EXPECT_EQ(Names(part), (std::vector<std::string>{"softmax", kUnattributed}));
  EXPECT_DOUBLE_EQ(Value(part, "softmax", "phase_time_seconds"), 10e-6);
  EXPECT_EQ(part.samples, 25U);
  EXPECT_TRUE(part.closures.empty()) << "the hardware's total is of the call";
}

TEST(PhasesTest, AKernelLaunchedByTwoPartsNamesBoth) {
  Recording recording = TwoParts();
  recording.launches[1].kernel_name = "kernel";
  const Profile profile = Analyze(recording);
  const PhaseTable& call = profile.entries[0].phases.value();
  EXPECT_EQ(Names(call), (std::vector<std::string>{"a + b", kUnattributed}));
  EXPECT_FALSE(profile.entries[1].phases) << "nobody can tell whose samples they are";
}

TEST(PhasesTest, TheUnattributedShareIsAlwaysTheLastRow) {
  const PhaseTable table = TableOf(MakeRecording(
      {SerialSoftmax()}, {At(0, {{"wait", 1}}), At(3, {{"wait", 3}}), At(5, {{"wait", 2}}), At(7, {{"wait", 100}})}));
  EXPECT_EQ(Names(table), (std::vector<std::string>{"softmax", "pv", "qk", kUnattributed}));
}

}  // namespace
}  // namespace fa_profile::analyze::phases_test
