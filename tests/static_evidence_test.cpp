// The static gate on real code: what this build made, and kernels compiled here with one thing wrong each.
#include "fa_profile/static_evidence.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "cuda_tool.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/gate.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/kernels.h"
#include "fa_profile/machine_code.h"
#include "fa_profile/recording_evidence.h"
#include "test_files.h"

namespace fa_profile::static_evidence_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = R"(#include <cstdio>
namespace {
__global__ void Hidden(float* p) { p[threadIdx.x] = 1.0F; }
}
static __global__ void Static(float* p) { p[threadIdx.x] = 2.0F; }
template <int N> __global__ void Sums(const float* in, float* out) {
  float x[N];
  for (int i = 0; i < N; ++i) x[i] = in[i * 128 + threadIdx.x];
  __syncthreads();
  float sum = 0.0F;
  for (int i = 0; i < N; ++i) for (int j = 0; j < i; ++j) sum += x[i] * x[j];
  out[threadIdx.x] = sum;
#ifdef WITH_PRINTF
  if (sum == 3.0F) printf("%f\n", sum);
#endif
}
void Run(float* p) {
  Hidden<<<1, 32>>>(p);
  Static<<<1, 32>>>(p);
  Sums<48><<<1, 128>>>(p, p);
}
)";

class StaticEvidenceTest : public FolderTest {
 protected:
  void SetUp() override {
    if (!sass::FindNvdisasm()) GTEST_SKIP() << "no nvdisasm here: ci/setup.sh fetches it";
  }
  // kSource as it is, compiled once for all cases: a copy of the object with its log.
  std::string Clean(const std::string& name = "clean.o") const {
    static const auto compiled = [this] {
      const std::string object = Compile(Write("k.cu", kSource), "first.o");
      return std::pair(ReadFile(object), ReadFile(object + ".log"));
    }();
    Write(name + ".log", compiled.second);
    return Write(name, compiled.first);
  }

  std::string Write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  // Compiles a source into NAME (an object, or a cubin), with its log in NAME.log.
  std::string Compile(const std::string& source, const std::string& name, const std::vector<std::string>& more = {},
                      const std::string& architecture = "arch=compute_90a,code=sm_90a") const {
    fs::create_directories((folder_ / name).parent_path());
    const std::string output = (folder_ / name).string();
    std::vector<std::string> command{FA_PROFILE_NVCC,
                                     name.ends_with(".cubin") ? "-cubin"
                                     : name.ends_with(".so")  ? "-shared"
                                                              : "-c",
                                     "-std=c++20",
                                     "-O3",
                                     "-lineinfo",
                                     "-gencode",
                                     architecture,
                                     "-Xptxas",
                                     "-warn-lmem-usage,-warn-spills",
                                     source,
                                     "-o",
                                     output};
    command.insert(command.end(), more.begin(), more.end());
    const ChildEnd compiled = sass::RunCudaTool(command, {}, 300);
    EXPECT_EQ(compiled.status, 0) << compiled.err;
    Write(name + ".log", FA_PROFILE_NVCC " -c " + source + "\n" + compiled.out + compiled.err);
    return output;
  }

  gate::Evidence Of(const std::string& build, bool with_log = false) const {
    gate::StaticOptions options;
    if (with_log) options.build_log = build + ".log";
    return gate::StaticEvidence(build, options);
  }

  // For the ladder in this build, disassembled once for all cases.
  static const gate::Evidence& OfTheLadder() {
    static const gate::Evidence evidence = gate::StaticEvidence(FA_PROFILE_KERNELS, {});
    return evidence;
  }

  static gate::GateResult JudgeBuilds(gate::Evidence base, gate::Evidence candidate) {
    gate::AlignWarnings(base, candidate);
    gate::GateInput input;
    input.base = std::move(base);
    input.candidate = std::move(candidate);
    input.design = "static";
    input.today = "2026-11-21";
    return gate::Judge(input, gate::Thresholds());
  }
};

// The rungs that this build has code for, in order: rung 8 is only for sm_90a.
std::vector<std::string> BuiltRungs() {
  std::vector<std::string> rungs;
  for (const Kernel* kernel : Ladder()) {
    if (FA_PROFILE_HAS_SM90A || kernel->id() != "hopper") rungs.push_back(kernel->id());
  }
  return rungs;
}

const gate::CaseFacts& Facts(const gate::Evidence& evidence, const std::string& kernel) {
  const auto index = gate::FindCase(evidence, kernel, "");
  if (!index) throw std::out_of_range("no case " + kernel);
  return evidence.cases[*index];
}

const gate::CodeFacts& OnlyCode(const gate::Evidence& evidence, const std::string& kernel) {
  const gate::CaseFacts& facts = Facts(evidence, kernel);
  EXPECT_EQ(facts.code.size(), 1U) << kernel;
  return facts.code.at(0);
}

std::vector<std::string> Kernels(const gate::Evidence& evidence) {
  std::vector<std::string> kernels;
  for (const gate::CaseFacts& facts : evidence.cases) kernels.push_back(facts.kernel);
  return kernels;
}

// Metrics that block, of all cases.
std::set<std::string> Blocking(const gate::GateResult& result) {
  std::set<std::string> metrics;
  for (const gate::CaseVerdict& verdict : result.cases) {
    for (const gate::Comparison& comparison : verdict.comparisons) {
      if (comparison.blocking && comparison.verdict == gate::Verdict::kRegression) metrics.insert(comparison.metric);
    }
  }
  return metrics;
}

TEST_F(StaticEvidenceTest, TheCasesOfTheLadderAreItsRungs) {
  const gate::Evidence& evidence = OfTheLadder();
  EXPECT_EQ(Kernels(evidence), BuiltRungs());
  EXPECT_TRUE(evidence.processes.empty());
  EXPECT_EQ(evidence.losses, std::vector<std::string>{"no compiler log: its warnings are not known"});
  EXPECT_EQ(Facts(evidence, "mma").code.size(), 4U);
  for (const gate::CaseFacts& facts : evidence.cases) {
    SCOPED_TRACE(facts.kernel);
    EXPECT_EQ(facts.shape, "");
    EXPECT_TRUE(facts.places.contains(""));
    EXPECT_TRUE(std::ranges::is_sorted(facts.code, {}, &gate::CodeFacts::name));
    for (const gate::CodeFacts& code : facts.code) {
      EXPECT_EQ(code.spill_bytes, 0);
      EXPECT_TRUE(code.registers_per_thread);
      EXPECT_TRUE(code.blocks_per_sm);
      EXPECT_GT(code.counts.at("softmax").at("instructions"), 0);
    }
  }
}

TEST_F(StaticEvidenceTest, TheLadderIsIdenticalToItself) {
  const gate::GateResult result = JudgeBuilds(OfTheLadder(), OfTheLadder());
  EXPECT_EQ(result.verdict, gate::Verdict::kPass);
  EXPECT_EQ(result.cases.size(), BuiltRungs().size());
  for (const gate::CaseVerdict& verdict : result.cases) EXPECT_TRUE(verdict.identical) << verdict.kernel;
}

TEST_F(StaticEvidenceTest, NoBuildPassesWithCodeThatWasNotRead) {
  const std::string object = Clean();
  const std::string ptx = ReadFile(FA_PROFILE_TEST_DATA "/../fuzz/corpus/machine_code/refused/ptx_only.fatbin");
  const gate::Evidence whole = Of(object);
  const gate::Evidence partly = Of(Write("partly.o", ReadFile(object) + ptx));
  EXPECT_TRUE(whole.unread_code.empty());
  ASSERT_EQ(partly.unread_code.size(), 1U);
  EXPECT_TRUE(partly.unread_code[0].ends_with("PTX only, not machine code")) << partly.unread_code[0];
  EXPECT_EQ(gate::EvidenceFromJson(gate::ToJson(partly), "a").unread_code, partly.unread_code);
  EXPECT_EQ(JudgeBuilds(whole, whole).verdict, gate::Verdict::kPass);
  for (const auto& [base, candidate] :
       {std::pair(whole, partly), std::pair(partly, whole), std::pair(partly, partly)}) {
    const gate::GateResult result = JudgeBuilds(base, candidate);
    EXPECT_EQ(result.verdict, gate::Verdict::kInconclusive);
    EXPECT_NE(result.headline.find("not read"), std::string::npos) << result.headline;
    EXPECT_EQ(gate::ExitCode(result, true), 3);
  }
}

TEST_F(StaticEvidenceTest, DeviceDebugCodeIsRefusedWithTheCure) {
  const std::string source = Write("k.cu", kSource);
  for (const char* const architecture : {"arch=compute_80,code=sm_80", "arch=compute_90a,code=sm_90a"}) {
    for (const char* const name : {"debug.o", "debug.cubin"}) {
      try {
        (void)gate::StaticEvidence(Compile(source, name, {"-G"}, architecture), {});
        ADD_FAILURE() << name << " of " << architecture << " was accepted";
      } catch (const Error& problem) {
        EXPECT_NE(problem.message().find(" is device debug code (nvcc -G), which is not optimised"), std::string::npos);
        EXPECT_NE(problem.message().find(name), std::string::npos) << problem.message();
        EXPECT_NE(problem.hint().find("build it without -G; for source lines use -lineinfo"), std::string::npos);
      }
    }
  }
  // Other options that write debug sections but keep the optimiser on.
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"-g"}, {"-G", "-dopt", "on"}}) {
    EXPECT_EQ(Of(Compile(source, "lines.o", options)).cases.size(), 3U);
  }
}

TEST_F(StaticEvidenceTest, AFolderGivesItsLadderAndItsLibraries) {
  fs::create_directory_symlink(fs::path(FA_PROFILE_KERNELS).parent_path(), folder_ / "no");  // is not followed
  fs::create_directories(folder_ / "kernels");
  fs::copy(FA_PROFILE_KERNELS, folder_ / "kernels");
  fs::copy(FA_PROFILE_EXAMPLES "/attention.so", folder_ / "mine.so");
  fs::copy(FA_PROFILE_KERNEL_LIBS "/mma_serial_softmax.so", folder_ / "variant.so");
  // nvcc's output without a kernel still has a section for fatbins.
  Compile(Write("host.cu", "int Answer() { return 42; }\n"), "host.so", {"-Xcompiler", "-fPIC"});
  fs::create_directories(folder_ / "hosts");
  fs::copy(folder_ / "host.so", folder_ / "hosts");
  EXPECT_THROW((void)Of((folder_ / "hosts").string()), Error);
  const gate::Evidence evidence = Of(folder_.string());
  std::vector<std::string> kernels = Kernels(evidence);
  const auto count = [&](const char* prefix) {
    return static_cast<std::size_t>(
        std::ranges::count_if(kernels, [&](const std::string& name) { return name.starts_with(prefix); }));
  };
  EXPECT_GT(count("mine/"), 0U);
  EXPECT_GT(count("variant/MmaForward<"), 0U);
  EXPECT_EQ(kernels.size(), BuiltRungs().size() + count("mine/") + count("variant/"));
  EXPECT_TRUE(gate::FindCase(evidence, "mma", ""));

  gate::StaticOptions options;
  options.kernel_pattern = "^mma$";
  EXPECT_EQ(Kernels(gate::StaticEvidence(folder_.string(), options)), std::vector<std::string>{"mma"});
  options.kernel_pattern = "MmaForward<.*Tile<64, 2";
  const gate::Evidence one = gate::StaticEvidence(FA_PROFILE_KERNELS, options);
  EXPECT_EQ(Facts(one, "mma").code.size(), 1U);
  options.kernel_pattern = "mmaa";
  EXPECT_THROW((void)gate::StaticEvidence(FA_PROFILE_KERNELS, options), Error);
}

TEST_F(StaticEvidenceTest, AKernelLibraryThatIncludesARungKeepsItsOwnName) {
  const gate::Evidence variant = Of(FA_PROFILE_KERNEL_LIBS "/mma_serial_softmax.so");
  EXPECT_FALSE(gate::FindCase(variant, "mma", ""));
  EXPECT_GT(variant.cases.size(), 0U);
  for (const gate::CaseFacts& facts : variant.cases) {
    EXPECT_EQ(facts.kernel.find("(anonymous"), std::string::npos) << facts.kernel;
    EXPECT_TRUE(facts.kernel.starts_with("MmaForward<fa_profile::mutant::Mutant<")) << facts.kernel;
  }
}

TEST_F(StaticEvidenceTest, MutantsHaveTheirPlantedFaults) {
  const gate::Evidence mutants = Of(FA_PROFILE_MUTANTS);
  EXPECT_GT(OnlyCode(mutants, "SpillsKernel").spill_bytes, 0);
  EXPECT_EQ(OnlyCode(mutants, "CoalescedKernel").spill_bytes, 0);
  EXPECT_GT(OnlyCode(mutants, "RuntimeIndexKernel").local_array_bytes, 0);
  EXPECT_EQ(OnlyCode(mutants, "RuntimeIndexKernel").spill_bytes, 0);
  EXPECT_EQ(OnlyCode(mutants, "DevicePrintfKernel").externals, std::vector<std::string>{"vprintf"});
  EXPECT_TRUE(OnlyCode(mutants, "CoalescedKernel").externals.empty());
}

TEST_F(StaticEvidenceTest, NewSpillsAndPrintfAreRegressions) {
  const std::string source = Write("k.cu", kSource);
  const std::string clean = Clean();
  const std::string spilling = Compile(source, "spilling.o", {"-maxrregcount=24"});
  const std::string printing = Compile(source, "printing.o", {"-DWITH_PRINTF"});
  const gate::Evidence base = Of(clean);
  const gate::Evidence base_with_log = Of(clean, true);
  const gate::Evidence spilling_with_log = Of(spilling, true);
  EXPECT_EQ(JudgeBuilds(base_with_log, base_with_log).verdict, gate::Verdict::kPass);

  const gate::GateResult spills = JudgeBuilds(base, Of(spilling));
  EXPECT_EQ(spills.verdict, gate::Verdict::kRegression);
  EXPECT_EQ(spills.cases.at(0).kernel, "Sums<48>");
  EXPECT_EQ(Blocking(spills), std::set<std::string>{"spill_bytes"});
  EXPECT_EQ(Blocking(JudgeBuilds(base_with_log, spilling_with_log)),
            (std::set<std::string>{"compiler_warnings", "spill_bytes"}));
  // Without the base's log it is not known which warnings are new.
  EXPECT_EQ(Blocking(JudgeBuilds(base, spilling_with_log)), std::set<std::string>{"spill_bytes"});
  EXPECT_EQ(Blocking(JudgeBuilds(spilling_with_log, base_with_log)), std::set<std::string>{});

  const gate::GateResult prints = JudgeBuilds(base, Of(printing));
  EXPECT_EQ(prints.verdict, gate::Verdict::kRegression);
  EXPECT_TRUE(Blocking(prints).contains("externals"));
}

TEST_F(StaticEvidenceTest, WmmaOnLocalMemoryIsSeenInTheWarningAndInTheCode) {
  const std::string mutant = FA_PROFILE_SOURCE "/tests/mutants/wmma_on_local.cu";
  const std::string object = Compile(mutant, "wmma.o");
  gate::Evidence broken = Of(object, true);
  ASSERT_EQ(Kernels(broken), std::vector<std::string>{"WmmaOnLocalKernel"});
  const std::vector<std::string>& warnings = broken.cases[0].compiler_warnings;
  EXPECT_EQ(warnings, std::vector<std::string>{"mma.hpp: cannot perform wmma load or store on local memory"});
  for (const auto& [phase, counts] : broken.cases[0].code.at(0).counts) EXPECT_EQ(counts.at("tensor"), 0) << phase;
  const gate::Evidence& whole = OfTheLadder();  // the base: the same name, with tensor instructions
  gate::Evidence base = broken;
  base.cases[0].code = Facts(whole, "wmma").code;
  base.cases[0].code.resize(1);
  base.cases[0].compiler_warnings.clear();
  const std::set<std::string> blocking = Blocking(JudgeBuilds(base, broken));
  EXPECT_TRUE(blocking.contains("static_tensor_instructions"));
  EXPECT_TRUE(blocking.contains("compiler_warnings"));
}

TEST_F(StaticEvidenceTest, AWarningOfAFileWithoutKernelsBelongsToThatFile) {
  const std::string source = Write("k.cu", kSource);
  const std::string object = Compile(source, "k.o");
  Write(
      "k.o.log",
      "[1/2] Building CUDA object x/helper.cu.o\n/src/helper.cu(7): warning #1: it warns\nptxas warning : Local memory "
      "used for function '_Z6NotOurv'\n");
  const gate::Evidence candidate = Of(object, true);
  EXPECT_EQ(Facts(candidate, "helper.cu").compiler_warnings, std::vector<std::string>{"helper.cu: #1: it warns"});
  EXPECT_EQ(Facts(candidate, "helper.cu").places.at("").line, 7);
  EXPECT_EQ(candidate.cases.size(), 4U);  // with three kernels: a kernel that was not selected keeps its warnings
  Write("k.o.log", "");
  const gate::Evidence base = Of(object, true);
  const gate::GateResult result = JudgeBuilds(base, candidate);
  EXPECT_EQ(result.verdict, gate::Verdict::kPass);  // a warning, of nothing that makes code slow
  const auto seen = std::ranges::find(result.cases, "helper.cu", &gate::CaseVerdict::kernel);
  ASSERT_NE(seen, result.cases.end());
  EXPECT_EQ(seen->comparisons.size(), 1U);
  EXPECT_EQ(JudgeBuilds(candidate, candidate).verdict, gate::Verdict::kPass);
}

TEST(AlignWarningsTest, EvidenceOfARunHasNoCompilerWarnings) {
  gate::Evidence run;
  run.cases.resize(1);
  run.cases[0].kernel = "mma";
  run.cases[0].shape = "1,8,512,64";
  run.processes.resize(1);
  gate::Evidence build;
  build.cases.resize(2);
  build.cases[0].kernel = "mma";
  build.cases[0].code.resize(1);
  build.cases[0].compiler_warnings = {"spills"};
  build.cases[1].kernel = "helper.cu";
  gate::AlignWarnings(run, build);
  EXPECT_EQ(run.cases.size(), 1U);
  ASSERT_EQ(build.cases.size(), 1U);
  EXPECT_TRUE(build.cases[0].compiler_warnings.empty());
  EXPECT_EQ(build.losses, std::vector<std::string>{"the base has no compiler log: warnings are not compared"});
}

TEST_F(StaticEvidenceTest, EvidenceDoesNotDependOnTheBuildFolder) {
  std::vector<gate::Evidence> all;
  for (const char* const place : {"here", "a/much/longer/path"}) {
    const std::string source = Write(std::string(place) + "/k.cu", kSource);
    all.push_back(Of(Compile(source, std::string(place) + "/k.o")));
    all.back().origin.clear();
    for (gate::CaseFacts& facts : all.back().cases) {
      for (gate::CodeFacts& code : facts.code) {
        EXPECT_FALSE(code.symbol.empty());
        code.symbol.clear();  // nvcc puts a hash of the path into it
      }
      facts.places.clear();  // outside of a repository paths are as they are
    }
  }
  EXPECT_EQ(Kernels(all[0]), (std::vector<std::string>{"Hidden", "Static", "Sums<48>"}));
  EXPECT_EQ(OnlyCode(all[0], "Static").name, "Static(float*)");
  EXPECT_EQ(gate::ToJson(all[0]), gate::ToJson(all[1]));
}

TEST_F(StaticEvidenceTest, ALibrarysHostCodeIsKnownInEveryFolder) {
  const std::string host = "extern \"C\" int Blocks() { return ";
  const auto of = [&](const std::string& place, const char* blocks) {
    const std::string source = Write(place + "/k.cu", kSource + (host + blocks) + "; }\n");
    return Of(Compile(source, place + "/k.so", {"-Xcompiler", "-fPIC"}));
  };
  // Line information with a longer path may change the layout.
  const gate::Evidence here = of("one", "1");
  const gate::Evidence there = of("two", "1");
  const gate::Evidence other = of("other", "2");
  const gate::CaseFacts& facts = Facts(here, "Static");
  EXPECT_EQ(facts.host_code_hash.size(), 16U);
  EXPECT_EQ(facts.host_code_hash, Facts(there, "Static").host_code_hash);
  EXPECT_NE(facts.host_code_hash, Facts(other, "Static").host_code_hash);
  EXPECT_EQ(OnlyCode(here, "Static").code_hash, OnlyCode(other, "Static").code_hash);
  EXPECT_NE(facts.phase_model, "");
  EXPECT_EQ(JudgeBuilds(here, there).headline, "PASS: 3 cases, 3 with the same machine code");
  EXPECT_EQ(JudgeBuilds(here, other).headline,
            "PASS: 3 cases, 3 with the same machine code; other host code, which was not timed");
}

TEST_F(StaticEvidenceTest, TheNewestArchitectureIsUsedByDefault) {
  const std::string source = Write("k.cu", kSource);
  const std::string both =
      Compile(source, "k.o", {"-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90"});
  EXPECT_EQ(OnlyCode(Of(both), "Hidden").architecture, "sm_90a");
  gate::StaticOptions options;
  options.architecture = "sm_80";
  EXPECT_EQ(OnlyCode(gate::StaticEvidence(both, options), "Hidden").architecture, "sm_80");
  options.architecture = "sm_70";
  EXPECT_THROW((void)gate::StaticEvidence(both, options), Error);
  options.architecture = "90";  // both of them: the one with the letter is what an sm_90 device runs
  EXPECT_EQ(OnlyCode(gate::StaticEvidence(both, options), "Hidden").architecture, "sm_90a");
}

TEST_F(StaticEvidenceTest, CodeForAnOlderArchitectureThatChangedIsNeverAPass) {
  const std::vector<std::string> with_sm_80 = {"-gencode", "arch=compute_80,code=sm_80"};
  const std::string changed =
      "__global__ void Static(int* a) { a[0] = 1;\n#if __CUDA_ARCH__ < 900\na[1] = clock();\n#endif\n}";
  const std::string before = Write("before.cu", "__global__ void Static(int* a) { a[0] = 1; }");
  const gate::Evidence base = Of(Compile(before, "base.o", with_sm_80));
  EXPECT_EQ(OnlyCode(base, "Static").architecture, "sm_90a");
  EXPECT_EQ(Facts(base, "Static").architectures.size(), 2U);
  EXPECT_EQ(gate::EvidenceFromJson(gate::ToJson(base), "a").cases[0].architectures, base.cases[0].architectures);
  const gate::Evidence candidate = Of(Compile(Write("after.cu", changed), "after.o", with_sm_80));
  const gate::Evidence without = Of(Compile(before, "without.o"));
  EXPECT_EQ(JudgeBuilds(base, base).verdict, gate::Verdict::kPass);
  for (const auto& [after, why] :
       {std::pair(candidate, "other machine code for sm_80, not judged: --arch sm_80 judges it"),
        std::pair(without, "no code for sm_80 in the candidate")}) {
    const gate::GateResult result = JudgeBuilds(base, after);
    EXPECT_EQ(result.verdict, gate::Verdict::kInconclusive);
    EXPECT_NE(result.headline.find(why), std::string::npos) << result.headline;
    EXPECT_EQ(gate::ExitCode(result, true), 3);
  }
  const gate::GateResult gained = JudgeBuilds(without, base);
  EXPECT_EQ(gained.verdict, gate::Verdict::kPass);
  EXPECT_EQ(std::ranges::count(gained.notes, "Static: code for sm_80 is new and was not compared"), 1);
  EXPECT_EQ(gate::ExitCode(gained, true), 0);
  // A change for all architectures is judged by the newest one.
  const std::string everywhere = Write("everywhere.cu", "__global__ void Static(int* a) { a[0] = 2; }");
  const gate::GateResult edited = JudgeBuilds(base, Of(Compile(everywhere, "everywhere.o", with_sm_80)));
  EXPECT_EQ(edited.verdict, gate::Verdict::kPass);
  EXPECT_EQ(
      std::ranges::count(edited.notes, "Static: other machine code for sm_80, not judged: --arch sm_80 judges it"), 1);
  EXPECT_EQ(gate::ExitCode(edited, true), 0);
}

TEST_F(StaticEvidenceTest, PtxNextToTheSameMachineCodeMustBeTheSame) {
  const std::vector<std::string> with_ptx = {"-gencode", "arch=compute_80,code=compute_80"};
  const std::string plain = "__global__ void Static(int* a) { a[0] = 1; }\n";
  const std::string slow =
      "__global__ void Static(int* a) {\n#if __CUDA_ARCH__ < 900\na[1] = clock();\n#endif\na[0] = 1; }";
  const auto of = [&](const std::string& place, const std::string& text) {
    return Of(Compile(Write(place + "/k.cu", text), place + "/k.o", with_ptx));
  };
  const gate::Evidence base = of("one", plain);
  EXPECT_TRUE(Facts(base, "Static").architectures.contains("PTX compute_80"));
  // Elsewhere, on other lines, after another kernel.
  const gate::Evidence moved = of("two", "__global__ void First(int* a) { if (a[0]) a[1] = 2; }\n\n" + plain);
  EXPECT_EQ(Facts(base, "Static").architectures, Facts(moved, "Static").architectures);
  const gate::GateResult result = JudgeBuilds(base, of("three", slow));
  EXPECT_EQ(result.verdict, gate::Verdict::kInconclusive);
  EXPECT_NE(result.headline.find("other PTX compute_80"), std::string::npos) << result.headline;
}

TEST_F(StaticEvidenceTest, CodeThatIsNotComparedIsHashed) {
  Write("build/k.cubin", ReadFile(FA_PROFILE_TEST_DATA "/cubins/sm_90a.cubin"));
  Write("build/data.bin", "abc" + ReadFile(FA_PROFILE_TEST_DATA "/cubins/lint_sm_90a.cubin"));
  Write("build/copy.bin", "abc" + ReadFile(FA_PROFILE_TEST_DATA "/cubins/sm_90a.cubin"));  // linked into k, perhaps
  gate::Evidence base = Of((folder_ / "build").string());
  ASSERT_TRUE(base.other_code);
  ASSERT_EQ(base.other_code->size(), 1U);
  EXPECT_TRUE(base.other_code->contains("data.bin"));
  base.unread_more = 7;
  const gate::Evidence read = gate::EvidenceFromJson(gate::ToJson(base), "a");
  EXPECT_EQ(read.other_code, base.other_code);
  EXPECT_EQ(read.unread_more, 7);
  gate::StaticOptions options;
  options.kernel_pattern = "indexed";
  EXPECT_TRUE(gate::StaticEvidence((folder_ / "build").string(), options).other_code->empty());
}

TEST_F(StaticEvidenceTest, AnOlderCubinThatCannotBeReadIsNamed) {
  const std::string both =
      Compile(Write("k.cu", kSource), "k.o", {"-gencode", "arch=compute_80,code=sm_80", "--compress-mode=none"});
  std::string bytes = ReadFile(both);
  // The older cubin's section headers: past its end.
  const sass::MachineCode code(both);
  const auto older = std::ranges::find(code.images(), "sm_80", &sass::CodeImage::architecture);
  ASSERT_NE(older, code.images().end());
  ASSERT_EQ(older->packing, sass::CodeImage::Packing::kNone);
  constexpr std::size_t kSectionHeaders = 40;
  bytes[older->offset + kSectionHeaders + 5] = '\x7f';
  const gate::Evidence damaged = Of(Write("damaged.o", bytes));
  EXPECT_EQ(damaged.unread_code.size(), 1U);
  EXPECT_EQ(JudgeBuilds(damaged, damaged).verdict, gate::Verdict::kInconclusive);
}

TEST_F(StaticEvidenceTest, AKernelInSeveralObjectsIsOneCase) {
  const std::string first = Clean("k.o");
  const std::string second = Compile(Write("other.cu", kSource), "other.o");
  const std::string archive = (folder_ / "libboth.a").string();
  ASSERT_EQ(sass::RunCudaTool({"/usr/bin/ar", "cr", archive, first, second}).status, 0);
  const gate::Evidence evidence = Of(archive);
  EXPECT_EQ(Kernels(evidence), (std::vector<std::string>{"Hidden", "Static", "Sums<48>"}));
  EXPECT_EQ(Facts(evidence, "Sums<48>").code.size(), 1U);
}

TEST_F(StaticEvidenceTest, ABuildAndItsRecordingHaveTheSameHash) {
  const gate::Evidence& built = OfTheLadder();
  const gate::Evidence recorded = gate::LoadEvidence({FA_PROFILE_BUNDLED_RECORDING});
  const gate::CodeFacts& measured =
      recorded.cases.at(gate::FindCase(recorded, "minimal", "1,8,512,64").value()).code.at(0);
  const std::vector<gate::CodeFacts>& code = Facts(built, "minimal").code;
  const auto same = std::ranges::find(code, measured.name, &gate::CodeFacts::name);
  ASSERT_NE(same, code.end());
  // Another compiler may have made the recording: then the instructions differ, and this says nothing.
  if (same->counts != measured.counts) GTEST_SKIP() << "the recording was made by another compiler";
  EXPECT_EQ(same->code_hash, measured.code_hash);
}

TEST_F(StaticEvidenceTest, AnInvalidBuildIsAnErrorWithAHint) {
  EXPECT_THROW((void)Of((folder_ / "nowhere").string()), Error);
  EXPECT_THROW((void)Of(folder_.string()), Error);
  EXPECT_THROW((void)Of(Write("text.o", "hello")), Error);
  gate::StaticOptions options;
  options.build_log = (folder_ / "nowhere.log").string();
  EXPECT_THROW((void)gate::StaticEvidence(FA_PROFILE_MUTANTS, options), Error);
}

}  // namespace
}  // namespace fa_profile::static_evidence_test
