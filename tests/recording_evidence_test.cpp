#include "fa_profile/recording_evidence.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "fa_profile/analyze.h"
#include "fa_profile/baseline.h"
#include "fa_profile/error.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/repository.h"
#include "sample_recording.h"
#include "test_files.h"

namespace fa_profile::gate::recording_evidence_test {
namespace {

namespace fs = std::filesystem;

Evidence Of(const Recording& recording) { return EvidenceOf(recording, analyze::Analyze(recording), "test.fap"); }

const CaseFacts& Facts(const Evidence& evidence, const std::string& kernel, const std::string& shape = "1,8,512,64") {
  return evidence.cases.at(FindCase(evidence, kernel, shape).value());
}

std::map<MetricKey, double> ValuesOf(const Evidence& evidence, const std::string& kernel,
                                     const std::string& shape = "1,8,512,64") {
  return evidence.processes.at(0).values.at(FindCase(evidence, kernel, shape).value());
}

std::string MessageOf(const std::vector<Evidence>& pieces) {
  try {
    (void)MergeEvidence(pieces);
  } catch (const Error& problem) {
    return problem.message();
  }
  return {};
}

/// The bundled recording. redact left out the code of cuBLAS, and of the paths of sources all but their last names.
const Evidence& Bundled() {
  static const Evidence evidence = [] {
    const auto [recording, profile] = load::LoadProfile(FA_PROFILE_BUNDLED_RECORDING, std::nullopt, true);
    return EvidenceOf(recording, profile, "bundled", FA_PROFILE_SOURCE);
  }();
  return evidence;
}

TEST(RecordingEvidenceTest, WhatTheJudgeRefusesOrAMeasurementContradictsIsRefused) {
  Recording recording = sample::MakeRecording();
  EXPECT_TRUE(Facts(Of(recording), "mma").works());
  Judgement judgement;
  judgement.case_id = 1;
  judgement.verdict = Judgement::Verdict::kRefused;
  judgement.reason = "timed calls do less";
  recording.judgements = {judgement};
  EXPECT_EQ(Facts(Of(recording), "mma").refused, "timed calls do less");
  EXPECT_FALSE(Facts(Of(recording), "mma").works());
  recording.judgements[0].verdict = Judgement::Verdict::kCertified;
  recording.judgements[0].durations_ns = {50'000};  // measured: 9.92 us
  EXPECT_TRUE(Facts(Of(recording), "mma").refused.starts_with("the measured time 9.92 us is not the certified 50 us"));
}

TEST(RecordingEvidenceTest, ARecordingIsOneProcessWithMetricsOfCallsAndPhases) {
  const Evidence evidence = Of(sample::MakeRecording());
  ASSERT_EQ(evidence.processes.size(), 1U);
  EXPECT_EQ(evidence.processes[0].kind, "recording");
  EXPECT_EQ(evidence.processes[0].values.size(), evidence.cases.size());
  EXPECT_EQ(evidence.environment.gpu_name, "NVIDIA H200");
  EXPECT_EQ(evidence.environment.tool_commit, "0123456789ab");
  EXPECT_EQ(evidence.environment.taken_at, "2026-01-02T03:04:05Z");
  const std::map<MetricKey, double> values = ValuesOf(evidence, "mma");
  EXPECT_DOUBLE_EQ(values.at({"", kDuration}), 9920e-9);
  EXPECT_EQ(values.at({"", "instructions"}), 1e6);
  EXPECT_TRUE(values.contains({"softmax", kPhaseTime}));
  EXPECT_FALSE(values.contains({"", kPhaseTime}));
  EXPECT_EQ(Facts(evidence, "mma").phase_model, "named");
  EXPECT_EQ(Facts(evidence, "broken").phase_model, "");
}

TEST(RecordingEvidenceTest, KernelsOfAProgramAreCasesAndPartsOfACallAreNot) {
  Recording recording = sample::MakeRecording();
  recording.ranges[5].part = "saxpy";
  recording.ranges[6].part = "gemm";
  const Evidence evidence = Of(recording);
  std::vector<std::string> names;
  for (const CaseFacts& facts : evidence.cases) names.push_back(CaseName(facts));
  EXPECT_EQ(names, (std::vector<std::string>{"mma 1,8,512,64", "cublas 1,8,512,64", "broken 1,8,512,64",
                                             "train.py/saxpy", "train.py/gemm", "tiled 4,16,2048,64 causal"}));
  EXPECT_EQ(Facts(evidence, "cublas").launches.size(), 3U);
  EXPECT_TRUE(ValuesOf(evidence, "train.py/saxpy", "").contains({"", "instructions"}));
}

TEST(RecordingEvidenceTest, OfAProgramsGraphsTheKernelsAreCases) {
  Recording recording = sample::MakeRecording();
  recording.cases[0].kernel = "CUDA graph 7";
  recording.cases[0].origin = "program";
  const Evidence evidence = Of(recording);
  EXPECT_EQ(evidence.cases.size(), Of(sample::MakeRecording()).cases.size() - 1);
  for (const CaseFacts& facts : evidence.cases) EXPECT_FALSE(facts.kernel.starts_with("CUDA graph")) << facts.kernel;
}

TEST(RecordingEvidenceTest, AnIncorrectKernelHasItsVerificationAndNoDuration) {
  const Evidence evidence = Of(sample::MakeRecording());
  EXPECT_FALSE(Facts(evidence, "broken").verification->correct());
  EXPECT_EQ(Facts(evidence, "broken").verification->case_id, 0);
  EXPECT_FALSE(ValuesOf(evidence, "broken").contains({"", kDuration}));
  EXPECT_FALSE(Facts(evidence, "train.py", "").verification);
}

TEST(RecordingEvidenceTest, TheClocksAtTheEndDescribeTheProcess) {
  Recording recording = sample::MakeRecording();
  recording.clocks = {{"before", 345000000, std::nullopt, 30.0, std::nullopt, std::nullopt},
                      {"after", 1755000000, std::nullopt, std::nullopt, std::nullopt, std::nullopt}};
  const ProcessSample process = Of(recording).processes.at(0);
  EXPECT_EQ(process.sm_clock_hz, 1755e6);
  EXPECT_EQ(process.temperature_celsius, 30.0);  // it was not asked again
  recording.clocks.clear();
  EXPECT_FALSE(Of(recording).processes.at(0).sm_clock_hz);
}

TEST(RecordingEvidenceTest, OnlyThermalAndPowerBrakeReasonsCountAsThrottled) {
  Recording recording = sample::MakeRecording();
  for (const char* const when : {"before", "after"}) {
    for (int bit = 0; bit < 10; ++bit) {
      recording.clocks = {{when, 1980000000, {}, {}, {}, std::uint64_t{1} << bit}};
      const bool expected = bit == 3 || (bit >= 5 && bit <= 7);
      EXPECT_EQ(Of(recording).processes.at(0).throttled, expected) << when << " " << bit;
    }
  }
}

TEST(RecordingEvidenceTest, LossesExcludeRemarks) {
  Recording recording = sample::MakeRecording();
  EXPECT_EQ(Of(recording).losses,
            std::vector<std::string>{"range_dropped: cublas/softmax: the counter data image was full"});
  recording.losses = {{"sampling_disturbs", "mma", "3 % slower", 1}, {"samples_dropped", "mma", "some", 1}};
  recording.session.complete = false;
  EXPECT_EQ(
      Of(recording).losses,
      (std::vector<std::string>{"samples_dropped: mma: some",
                                "recording_incomplete: session: the run ended early; what was recorded is complete"}));
}

TEST(RecordingEvidenceTest, AKernelRecordedTwiceIsAnError) {
  Recording recording = sample::MakeRecording();
  recording.cases[1].kernel = "mma";
  EXPECT_THROW((void)Of(recording), Error);
}

TEST(RecordingEvidenceTest, MachineCodeComesFromTheRecordedCubins) {
  const CaseFacts& mma = Facts(Bundled(), "mma");
  ASSERT_EQ(mma.code.size(), 1U);
  const CodeFacts& code = mma.code[0];
  EXPECT_EQ(code.architecture, "sm_90");
  EXPECT_EQ(code.code_hash.size(), 16U);
  EXPECT_EQ(code.registers_per_thread, mma.launches.at(0).registers_per_thread);
  EXPECT_EQ(code.threads_per_block, mma.launches.at(0).block[0]);
  EXPECT_EQ(mma.launches.at(0).blocks_per_sm, 1);
  EXPECT_EQ(Facts(Bundled(), "wmma").code[0].blocks_per_sm, 3);  // with its launch's dynamic shared memory: 4 without
  EXPECT_GT(code.counts.at("qk").at("tensor"), 0);
  EXPECT_EQ(code.counts.at("softmax").at("tensor"), 0);
  // One kernel at two shapes: the same code, seen with each launch.
  EXPECT_EQ(Facts(Bundled(), "wmma").code[0].code_hash, Facts(Bundled(), "wmma", "4,16,1024,64").code[0].code_hash);
  EXPECT_NE(code.code_hash, Facts(Bundled(), "mma", "4,16,1024,64").code[0].code_hash);
}

/// Lines that contain a text.
std::size_t Count(const std::vector<std::string>& lines, const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
}

TEST(RecordingEvidenceTest, CodeThatRedactRemovedIsOneDataLossOfTheKernel) {
  for (const CaseFacts& facts : Bundled().cases)
    EXPECT_EQ(facts.code.empty(), facts.kernel == "cublas") << facts.kernel;
  EXPECT_EQ(Count(Bundled().losses, "machine code"), 1U);
  EXPECT_EQ(Count(Bundled().losses, "no machine code of cublas in the recording: code removed"), 1U);
}

TEST(RecordingEvidenceTest, UnreadableCodeIsADataLoss) {
  auto [recording, profile] = load::LoadProfile(FA_PROFILE_BUNDLED_RECORDING, std::nullopt, true);
  for (Cubin& cubin : recording.cubins) cubin.bytes.resize(cubin.bytes.size() / 2);
  const Evidence damaged = EvidenceOf(recording, profile, "x");
  EXPECT_EQ(damaged.cases[0].code.size(), 0U);
  // One cubin is not read: that of cublas's softmax, whose call lacks the code of cuBLAS.
  EXPECT_EQ(Count(damaged.losses, "machine code in the recording cannot be read"), recording.cubins.size() - 1);

  auto [undisassembled, same] = load::LoadProfile(FA_PROFILE_BUNDLED_RECORDING, std::nullopt, true);
  for (DeviceFunction& function : undisassembled.functions) function.instructions.clear();
  const Evidence without = EvidenceOf(undisassembled, same, "x");
  EXPECT_EQ(without.cases[0].code.size(), 0U);
  EXPECT_EQ(Count(without.losses, "MinimalKernel<64> was not disassembled"), 1U);
}

TEST(RecordingEvidenceTest, DeviceDebugCodeIsADataLossWithItsCure) {
  auto [recording, profile] = load::LoadProfile(FA_PROFILE_BUNDLED_RECORDING, std::nullopt, true);
  EXPECT_EQ(Count(EvidenceOf(recording, profile, "x").losses, "device debug code"), 0U);
  // The section that -G adds, in the place of another name.
  const std::string name = ".nv_debug_info_reg_sass";
  for (Cubin& cubin : recording.cubins) {
    for (const std::string& other : {std::string(".rela.nv_debug_line_sass"), std::string(".rel.nv_debug_line_sass")}) {
      const auto at = std::ranges::search(cubin.bytes, other).begin();
      if (at == cubin.bytes.end()) continue;
      *std::copy(name.begin(), name.end(), at) = 0;
      break;
    }
  }
  const Evidence evidence = EvidenceOf(recording, profile, "x");
  EXPECT_EQ(Count(evidence.losses,
                  "MinimalKernel<64> is device debug code (nvcc -G), which is not optimised: build it "
                  "without -G; -lineinfo keeps the source lines"),
            1U);
  EXPECT_FALSE(evidence.cases[0].code.empty()) << "it is compared all the same";
}

TEST(RecordingEvidenceTest, PlacesAreTheLinesOfPhaseFunctionsInTheRepository) {
  auto [recording, profile] = load::LoadProfile(FA_PROFILE_BUNDLED_RECORDING, std::nullopt, true);
  for (DeviceFunction& function : recording.functions) {
    for (Instruction& instruction : function.instructions) {
      for (InlineFrame& frame : instruction.frames) frame.file = "/builds/ci/kernels/" + frame.file;
    }
  }
  const Evidence evidence = EvidenceOf(recording, profile, "x", FA_PROFILE_SOURCE);
  const CaseFacts& mma = Facts(evidence, "mma");
  for (const char* const phase : {"", "qk", "softmax", "pv", "load_kv", "epilogue"}) {
    ASSERT_TRUE(mma.places.contains(phase)) << phase;
    EXPECT_EQ(mma.places.at(phase).file, "kernels/rung7_mma.cuh");
    EXPECT_GT(mma.places.at(phase).line, 0);
  }
  EXPECT_NE(mma.places.at("qk").line, mma.places.at("softmax").line);
  const CaseFacts& cublas = Facts(evidence, "cublas");  // its phases are its parts; two are without line information
  ASSERT_TRUE(cublas.places.contains("softmax"));
  EXPECT_EQ(cublas.places.at("softmax").file, "kernels/rung4_cublas.cu");
  EXPECT_FALSE(cublas.places.contains("qk"));
  EXPECT_FALSE(cublas.places.contains(kUnattributed));  // no phase of its softmax's own
}

TEST(RecordingEvidenceTest, TheHottestLineIsTheOneWithMostSamples) {
  Recording recording;
  recording.session = sample::FullSession();
  recording.cases = {{1, "k", "ladder", AttentionShape{}}};
  recording.verifications = {sample::Correct(1)};
  DeviceFunction function{1, 0, "k", {}};
  const auto add = [&](int kernel_line, int phase_line, std::uint64_t selected, std::uint64_t twin) {
    const auto offset = static_cast<std::uint32_t>(16 * function.instructions.size());
    Instruction instruction{offset, "", "FADD", "", {{"helper(int)", "h.cuh", 5}}};
    if (phase_line > 0) instruction.frames.push_back({"softmax(int)", "k.cu", phase_line});
    instruction.frames.push_back({"k(int)", "k.cu", kernel_line});
    function.instructions.push_back(instruction);
    recording.samplings[0].samples.push_back({1, offset, {{"wait", selected}, {"wait_not_issued", twin}}});
  };
  recording.samplings = {{1, 1, "", 1024, 1, 100, 0, std::nullopt, {}}};
  add(20, 10, 6, 0);
  add(20, 11, 5, 100);  // the twin counts no sample again
  add(21, 11, 2, 0);    // with it line 11 has 7
  add(30, 0, 50, 0);    // outside of the phase
  recording.functions = {function};
  const CaseFacts facts = Of(recording).cases.at(0);
  EXPECT_EQ(facts.places.at("softmax").line, 11);
  EXPECT_EQ(facts.places.at("softmax").file, "k.cu");
  EXPECT_EQ(facts.places.at("").line, 30);
}

TEST(RepositoryTest, ASourceIsNamedByItsPathInTheRepository) {
  const std::string root = FA_PROFILE_SOURCE;
  EXPECT_EQ(RelativeSource(root + "/kernels/x/../rung7_mma.cu", root), "kernels/rung7_mma.cu");
  EXPECT_EQ(RelativeSource(root + "/not/there.cu", root), "not/there.cu");
  EXPECT_EQ(RelativeSource("/builds/ci/other/kernels/rung7_mma.cu", root), "kernels/rung7_mma.cu");
  EXPECT_EQ(RelativeSource("kernels/rung7_mma.cu", root), "kernels/rung7_mma.cu");
  EXPECT_EQ(RelativeSource("/usr/include/crt/mma.hpp", root), "/usr/include/crt/mma.hpp");
  EXPECT_EQ(RelativeSource(root + "2/kernels/none.cu", root), root + "2/kernels/none.cu");
  EXPECT_EQ(RelativeSource("../../kernels/rung7_mma.cu", root), "kernels/rung7_mma.cu");
  const std::string outside = "../" + fs::path(root).filename().string() + "/kernels/rung7_mma.cu";
  EXPECT_EQ(RelativeSource(outside, root), "kernels/rung7_mma.cu");
  EXPECT_EQ(RelativeSource(root + "/kernels/rung7_mma.cu", ""), root + "/kernels/rung7_mma.cu");
}

Evidence Piece(const std::string& origin, const std::string& kernel, double value, const std::string& hash = "00") {
  Evidence evidence;
  evidence.origin = origin;
  evidence.environment.gpu_name = "NVIDIA H200";
  CaseFacts facts;
  facts.kernel = kernel;
  facts.code.resize(1);
  facts.code[0].name = "Kernel";
  facts.code[0].code_hash = hash;
  evidence.cases = {facts};
  evidence.processes.resize(1);
  evidence.processes[0].kind = "recording";
  evidence.processes[0].values = {{{MetricKey{"", kDuration}, value}}};
  return evidence;
}

TEST(MergeEvidenceTest, CasesAreUnitedAndEachProcessKeepsItsValues) {
  const Evidence merged = MergeEvidence({Piece("a", "mma", 1.0), Piece("b", "wmma", 2.0), Piece("c", "mma", 3.0)});
  EXPECT_EQ(merged.origin, "a and 2 more");
  ASSERT_EQ(merged.cases.size(), 2U);
  const MetricKey duration{"", kDuration};
  using Found = std::vector<std::pair<std::size_t, double>>;
  EXPECT_EQ(Values(merged, 0, "recording", duration), (Found{{0, 1.0}, {2, 3.0}}));
  EXPECT_EQ(Values(merged, 1, "recording", duration), (Found{{1, 2.0}}));
  for (const ProcessSample& process : merged.processes) EXPECT_EQ(process.values.size(), 2U);
  EXPECT_EQ(MergeEvidence({Piece("a", "mma", 1.0)}).origin, "a");
  EXPECT_THROW((void)MergeEvidence({}), Error);
}

TEST(MergeEvidenceTest, KnownFieldsOfTheEnvironmentMustBeEqual) {
  const std::vector<std::function<void(Environment&, int)>> fields = {
      [](Environment& e, int i) { e.gpu_name = std::to_string(i); },
      [](Environment& e, int i) { e.gpu_uuid = std::to_string(i); },
      [](Environment& e, int i) { e.chip = std::to_string(i); },
      [](Environment& e, int i) { e.driver_version = std::to_string(i); },
      [](Environment& e, int i) { e.cuda_driver_version = std::to_string(i); },
      [](Environment& e, int i) { e.cuda_runtime_version = std::to_string(i); },
      [](Environment& e, int i) { e.cupti_version = std::to_string(i); },
      [](Environment& e, int i) { e.sm_clock_max_hz = i; },
      [](Environment& e, int i) { e.memory_clock_max_hz = i; },
      [](Environment& e, int i) { e.tool_version = std::to_string(i); },
      [](Environment& e, int i) { e.tool_commit = std::to_string(i); }};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::vector<Evidence> pieces{Piece("a", "mma", 1.0), Piece("b", "mma", 2.0), Piece("c", "mma", 2.0)};
    fields[i](pieces[1].environment, 1);
    pieces[0].environment.gpu_name = pieces[1].environment.gpu_name;
    pieces[2].environment.gpu_name = pieces[1].environment.gpu_name;
    EXPECT_EQ(MessageOf(pieces), "") << i;  // not known on one side
    fields[i](pieces[2].environment, 2);
    EXPECT_TRUE(std::regex_match(MessageOf(pieces), std::regex("a and c come from different environments: .+ 1 and 2")))
        << i << MessageOf(pieces);
  }
  std::vector<Evidence> times{Piece("a", "mma", 1.0), Piece("b", "mma", 2.0)};
  times[0].environment.taken_at = "2026-01-03T00:00:00Z";
  times[1].environment.taken_at = "2026-01-02T00:00:00Z";
  EXPECT_EQ(MergeEvidence(times).environment.taken_at, "2026-01-03T00:00:00Z");
}

TEST(MergeEvidenceTest, CardsAreMergedOnlyForABaseline) {
  const std::string hash(16, '0');
  std::vector<Evidence> pieces{Piece("a", "mma", 1.0, hash), Piece("b", "mma", 2.0, hash)};
  pieces[0].environment.gpu_uuid = "GPU-1";
  pieces[1].environment.gpu_uuid = "GPU-2";
  EXPECT_EQ(MessageOf(pieces), "a and b come from different environments: UUID GPU-1 and GPU-2");
  const Evidence merged = MergeEvidence(pieces, Cards::kSeveral);
  EXPECT_EQ(merged.environment.gpu_uuid, "");
  ASSERT_EQ(merged.processes.size(), 2U);
  EXPECT_EQ(merged.processes[0].gpu_uuid, "GPU-1");
  EXPECT_EQ(merged.processes[1].gpu_uuid, "GPU-2");
  EXPECT_EQ(CardsOf(EvidenceFromJson(ToJson(merged), "m.json")), CardsOf(merged));
  EXPECT_EQ(MergeEvidence({merged}).processes[1].gpu_uuid, "GPU-2");  // by itself it is read unchanged
  EXPECT_NE(MessageOf({merged, pieces[0]}).find("was measured on several cards"), std::string::npos);
  // The same card on both sides stays the environment's.
  pieces[1].environment.gpu_uuid = "GPU-1";
  EXPECT_EQ(MergeEvidence(pieces, Cards::kSeveral).environment.gpu_uuid, "GPU-1");
}

TEST(MergeEvidenceTest, DifferentMachineCodeIsRefusedAsAnotherBuild) {
  EXPECT_NE(MessageOf({Piece("a", "mma", 1.0, "00"), Piece("b", "mma", 1.0, "01")}).find("machine code of mma in b"),
            std::string::npos);
  EXPECT_EQ(MessageOf({Piece("a", "mma", 1.0, "00"), Piece("b", "wmma", 1.0, "01")}), "");
  std::vector<Evidence> renamed{Piece("a", "mma", 1.0), Piece("b", "mma", 1.0)};
  renamed[1].cases[0].code[0].name = "Other";
  EXPECT_NE(MessageOf(renamed).find("runs other kernels in b"), std::string::npos);
  renamed[1].cases[0].code.push_back(renamed[0].cases[0].code[0]);  // one in common, one only seen here
  EXPECT_EQ(MergeEvidence(renamed).cases[0].code.size(), 2U);
  renamed[0].cases[0].code.clear();  // nothing is known of it there
  EXPECT_EQ(MergeEvidence(renamed).cases[0].code.size(), 2U);
  renamed[1].cases[0].code.clear();
  EXPECT_EQ(MessageOf(renamed), "");
}

TEST(MergeEvidenceTest, OtherHostCodeAndAnotherPhaseModelAreRefusedAsAnotherBuild) {
  std::vector<Evidence> pieces{Piece("a", "mma", 1.0), Piece("b", "mma", 1.0)};
  pieces[1].cases[0].host_code_hash = "1";
  pieces[1].cases[0].phase_model = "named";
  EXPECT_EQ(MessageOf(pieces), "");
  EXPECT_EQ(MergeEvidence(pieces).cases[0].host_code_hash, "1");
  EXPECT_EQ(MergeEvidence(pieces).cases[0].phase_model, "named");
  pieces[0].cases[0].host_code_hash = "2";
  EXPECT_EQ(MessageOf(pieces), "mma has other host code in b than in the files before it");
  pieces[0].cases[0].host_code_hash = "1";
  pieces[0].cases[0].phase_model = "inferred";
  EXPECT_EQ(MessageOf(pieces), "the phases of mma come from another model in b than in the files before it");
}

TEST(MergeEvidenceTest, OneIncorrectResultMakesTheCaseIncorrect) {
  std::vector<Evidence> pieces{Piece("a", "mma", 1.0), Piece("b", "mma", 1.0), Piece("c", "mma", 1.0)};
  EXPECT_FALSE(MergeEvidence(pieces).cases[0].verification);
  pieces[0].cases[0].verification = sample::Correct(0);
  pieces[1].cases[0].verification = sample::Correct(0);
  EXPECT_TRUE(MergeEvidence(pieces).cases[0].verification->correct());
  pieces[1].cases[0].verification->draws_passed = 99;
  pieces[2].cases[0].verification = sample::Correct(0);
  EXPECT_FALSE(MergeEvidence(pieces).cases[0].verification->correct());
}

TEST(MergeEvidenceTest, WarningsFindingsAndLossesAreUnited) {
  std::vector<Evidence> pieces{Piece("a", "mma", 1.0), Piece("b", "mma", 1.0)};
  pieces[0].cases[0].compiler_warnings = {"x"};
  pieces[1].cases[0].compiler_warnings = {"x", "y"};
  pieces[0].cases[0].findings = {{"spills", "first"}};
  pieces[1].cases[0].findings = {{"spills", "second"}, {"exp-bound", "e"}};
  pieces[1].losses = {"lost"};
  const Evidence merged = MergeEvidence(pieces);
  EXPECT_EQ(merged.cases[0].compiler_warnings, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(merged.cases[0].findings.at("spills"), "first");
  EXPECT_EQ(merged.cases[0].findings.size(), 2U);
  EXPECT_EQ(merged.losses, std::vector<std::string>{"lost"});
}

class LoadEvidenceTest : public FolderTest {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
};

TEST_F(LoadEvidenceTest, FileTypesAreRecognisedByContent) {
  const Evidence recorded = LoadEvidence({FA_PROFILE_BUNDLED_RECORDING});
  EXPECT_EQ(recorded.origin, FA_PROFILE_BUNDLED_RECORDING);
  const std::string saved = Write("saved", ToJson(recorded));
  const Evidence read = LoadEvidence({saved});
  EXPECT_EQ(read.cases.size(), recorded.cases.size());
  EXPECT_EQ(read.processes.at(0).values.at(3).size(), recorded.processes.at(0).values.at(3).size());

  PromotedBaseline baseline;
  baseline.suite = "ladder";
  baseline.lineage = LineageOf(read.environment);
  baseline.receipt.promoted_at = "2026-11-21T12:00:00Z";
  baseline.receipt.reason = "first";
  baseline.evidence = read;
  const std::string promoted = Write("promoted.json", ToJson(baseline));
  const Evidence all = LoadEvidence({promoted, saved, FA_PROFILE_BUNDLED_RECORDING});
  EXPECT_EQ(all.cases.size(), recorded.cases.size());
  EXPECT_EQ(all.processes.size(), 3U);
}

TEST_F(LoadEvidenceTest, AnUnknownFileTypeIsAnError) {
  EXPECT_THROW((void)LoadEvidence({}), Error);
  EXPECT_THROW((void)LoadEvidence({folder_.string()}), Error);
  EXPECT_THROW((void)LoadEvidence({(folder_ / "nowhere").string()}), Error);
  EXPECT_THROW((void)LoadEvidence({Write("text", "hello")}), Error);
  EXPECT_THROW((void)LoadEvidence({Write("empty", "")}), Error);
  EXPECT_THROW((void)LoadEvidence({Write("short.json", "{")}), Error);
  EXPECT_THROW((void)LoadEvidence({Write("false.json", "{\"receipt\": 1}")}), Error);
}

}  // namespace
}  // namespace fa_profile::gate::recording_evidence_test
