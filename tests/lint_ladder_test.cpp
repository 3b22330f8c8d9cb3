// fa-profile lint on this build's output: checked against ptxas, and against CUDA's own occupancy calculator.
#include <cuda_occupancy.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "cuda_tool.h"
#include "fa_profile/demangle.h"
#include "fa_profile/lint.h"
#include "fa_profile/occupancy.h"
#include "fa_profile/sha256.h"
#include "fa_profile/source_paths.h"
#include "lint_fixture.h"

namespace fa_profile::lint_ladder_test {
namespace {

class LintLadderTest : public LintFixture {
 protected:
  void SetUp() override { LintFixture::SetUp(); }

  // ptxas's output, while it compiles `source` for sm_90a, matches lint's for the result. Returns the kernels seen.
  int ExpectWhatPtxasSays(const std::string& source) const {
    const ChildEnd compiled = sass::RunCudaTool(
        {FA_PROFILE_NVCC, "-cubin", "-std=c++20", "-O3", "-lineinfo", "-w", "-Xptxas", "-v", "-gencode",
         "arch=compute_90a,code=sm_90a", "-I" FA_PROFILE_SOURCE "/kernels", "-I" FA_PROFILE_SOURCE "/kernels/include",
         "-I" FA_PROFILE_SOURCE "/profiler/model/include", FA_PROFILE_SOURCE "/" + source, "-o", "x.cubin"},
        folder_.string(), 300);
    EXPECT_EQ(compiled.status, 0) << compiled.err;
    const nlohmann::json lint = nlohmann::json::parse(Run("--format json x.cubin").out);
    std::map<std::string, nlohmann::json> kernels;
    for (const nlohmann::json& kernel : lint.at("kernels")) kernels[kernel.at("symbol")] = kernel;

    const std::regex said(R"(Compiling entry function '(\w+)'[^]*?(\d+) bytes stack frame, (\d+) bytes spill stores, )"
                          R"((\d+) bytes spill loads[^]*?Used (\d+) registers, used (\d+) barriers([^\n]*))");
    const std::string text = compiled.out + compiled.err;
    int seen = 0;
    for (std::sregex_iterator match(text.begin(), text.end(), said), end; match != end; ++match, ++seen) {
      SCOPED_TRACE((*match)[1]);
      const nlohmann::json& kernel = kernels.at((*match)[1]);
      const auto number = [&](std::size_t i) { return std::stoll((*match)[i]); };
      EXPECT_EQ(kernel.at("stack_frame_bytes"), number(2));
      EXPECT_EQ(kernel.at("spills").at("store_bytes"), number(3));
      EXPECT_EQ(kernel.at("spills").at("load_bytes"), number(4));
      EXPECT_EQ(kernel.at("registers_per_thread"), number(5));
      const std::string rest = (*match)[7];
      std::smatch shared;
      const bool has_shared = std::regex_search(rest, shared, std::regex(R"((\d+) bytes smem)"));
      EXPECT_EQ(kernel.at("static_shared_memory_bytes"), has_shared ? std::stoll(shared[1]) : 0);
    }
    EXPECT_EQ(static_cast<std::size_t>(seen), kernels.size());
    return seen;
  }
};

TEST_F(LintLadderTest, RungsAndMutantsHaveTheResourcesThatPtxasPrints) {
  EXPECT_EQ(ExpectWhatPtxasSays("tests/mutants/local_memory_mutants.cu"), 3);
  EXPECT_EQ(ExpectWhatPtxasSays("kernels/rung5_serial_softmax.cu"), 2);
  EXPECT_EQ(ExpectWhatPtxasSays("kernels/rung6_wmma.cu"), 2);
}

TEST_F(LintLadderTest, APackageGivesItsAttentionKernelsInOneTable) {
  std::filesystem::create_directories(folder_ / "package");
  std::filesystem::copy(FA_PROFILE_KERNELS, folder_ / "package/kernels.a");
  std::ofstream(folder_ / "package/setup.py") << "import torch\n";
  const auto kernels = Kernels("--from-wheel package --arch 90a --phase-from code");
  for (const auto& [name, kernel] : kernels) {
    SCOPED_TRACE(name);
    EXPECT_EQ(kernel.at("file"), "kernels.a");
    EXPECT_FALSE(kernel.at("inference").is_null());
  }
  int inferred = 0;
  for (const auto& [name, kernel] : kernels) {
    if (!name.starts_with("MmaForward")) continue;
    const nlohmann::json& inference = kernel.at("inference");
    EXPECT_TRUE(inference.at("refusal_word").is_null()) << name << " " << inference.dump();
    EXPECT_EQ(inference.at("tile").at("rescale"), "every tile") << name;
    EXPECT_GE(inference.at("tile").at("softmax_instructions"), 100) << name;
    ++inferred;
  }
  EXPECT_GE(inferred, 4) << "rung 7's tiles";
  EXPECT_FALSE(kernels.contains("RowSoftmaxKernel")) << "it has no product";

  // One kernel of each kind is enough: nvdisasm takes a third of a second per object.
  const std::string two = " --arch 90a --phase-from code --kernel 'MmaForward|RowSoftmaxKernel'";
  const Outcome text = Run("--from-wheel package" + two);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(Contains(text.out, "every tile")) << text.out;
  EXPECT_TRUE(Contains(text.out, "  MmaForward<")) << text.out;
  EXPECT_TRUE(Contains(text.out, "not attention: ")) << text.out;
  const Outcome csv = Run("--from-wheel package --format csv" + two);
  EXPECT_EQ(std::ranges::count(csv.out, '\n'), inferred + 1) << csv.out;
  EXPECT_TRUE(Contains(csv.out, "kernels.a,sm_90a,"));
}

TEST_F(LintLadderTest, TheAttentionLineSaysWhatATileCosts) {
  const Outcome outcome = Run(FA_PROFILE_KERNELS " --arch 90a --phase-from code --kernel MmaForward");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::regex line(
      R"(attention  softmax \d+ instructions, \d+ exponentials a tile; rescale in every tile; QK:PV)");
  EXPECT_TRUE(std::regex_search(outcome.out, line)) << outcome.out;
}

TEST_F(LintLadderTest, TheLadderHasItsPhasesAndNoFindings) {
  // Every kernel of every architecture, in one run: nvdisasm takes most of its time.
  const Outcome outcome = Run("--format json " FA_PROFILE_KERNELS);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::set<std::string> faults = {
      "wmma-without-tensor", "spills",          "stack-without-spills", "calls-printf", "no-block-fits",
      "no-line-information", "barrier-per-row", "local-traffic-in-loop"};
  const std::regex rung("^(Minimal|Scalar|Tiled|RowSoftmax|Serial|Wmma|Mma|Hopper)");
  std::set<std::string> rungs;
  const nlohmann::json lint = nlohmann::json::parse(outcome.out);
  for (const nlohmann::json& kernel : lint.at("kernels")) {
    const std::string name = FunctionName(kernel.at("name"));
    SCOPED_TRACE(kernel.at("architecture").get<std::string>() + " " + name);
    const std::set<std::string> ids = Ids(kernel);
    EXPECT_FALSE(ids.contains("code-is-a-trap"));  // nor has any kernel of the selftest and of the gate one
    if (!std::regex_search(name, rung)) continue;
    rungs.insert(name);
    for (const std::string& id : ids) EXPECT_FALSE(faults.contains(id)) << id;
    EXPECT_EQ(kernel.at("attribution"), "inline functions");
    // For rungs with dynamic shared memory the code alone gives a bound.
    EXPECT_NE(kernel.at("occupancy").is_null(), kernel.at("occupancy_limit_ratio").is_null());
    const bool has_tensor = name.starts_with("Wmma") || name.starts_with("Mma") || name.starts_with("Hopper");
    const bool is_dynamic = has_tensor || name.starts_with("Tiled");
    EXPECT_EQ(kernel.at("dynamic_shared_memory_bytes").is_null(), is_dynamic);
    std::map<std::string, int> tensor;
    for (const nlohmann::json& row : kernel.at("phases")) tensor[row.at("phase")] += row.at("tensor").get<int>();
    const bool is_serial = name.starts_with("Serial");  // which multiplies with V in scalar code
    EXPECT_EQ(tensor["qk"] > 0, has_tensor || is_serial);
    EXPECT_EQ(tensor["pv"] > 0, has_tensor);
    EXPECT_EQ(tensor["softmax"], 0);
  }
  EXPECT_GE(rungs.size(), 9U);
}

TEST_F(LintLadderTest, MutantsHaveTheirPlantedFindings) {
  const auto kernels = Kernels(FA_PROFILE_MUTANTS);
  const auto ids = [&](const char* name) { return Ids(kernels.at(name)); };
  EXPECT_EQ(ids("WmmaOnLocalKernel"), (std::set<std::string>{"code-is-a-trap", "wmma-without-tensor"}));
  EXPECT_EQ(ids("SpillsKernel"), (std::set<std::string>{"spills", "local-traffic-in-loop"}));
  EXPECT_EQ(ids("RuntimeIndexKernel"), (std::set<std::string>{"stack-without-spills", "local-traffic-in-loop"}));
  EXPECT_EQ(ids("DevicePrintfKernel"), std::set<std::string>{"calls-printf"});
  EXPECT_EQ(ids("CoalescedKernel"), std::set<std::string>{});
}

TEST_F(LintLadderTest, OnlyATrapThatTheCompilerPutThereIsAFinding) {
  for (const char* const architecture : {"80", "90a"}) {
    for (const char* const optimisation : {"-O3", "-O1"}) {
      SCOPED_TRACE(std::string(architecture) + optimisation);
      const std::string gencode = std::string("arch=compute_") + architecture + ",code=sm_" + architecture;
      const ChildEnd compiled =
          sass::RunCudaTool({FA_PROFILE_NVCC, "-cubin", "-std=c++20", "-lineinfo", optimisation, "-gencode", gencode,
                             FA_PROFILE_SOURCE "/tests/data/cubins/traps.cu", "-o", "traps.cubin"},
                            folder_.string(), 300);
      ASSERT_EQ(compiled.status, 0) << compiled.err;
      for (const auto& [name, kernel] : Kernels("traps.cubin")) {
        EXPECT_EQ(Ids(kernel).contains("code-is-a-trap"), name == "TileLoopOnLocal") << name;
      }
    }
  }
}

TEST_F(LintLadderTest, TheCodeHashDoesNotDependOnTheSourceFolder) {
  std::vector<std::string> hashes;
  for (const char* const place : {"here", "a_folder/with_another/name"}) {
    const std::filesystem::path folder = folder_ / place;
    std::filesystem::create_directories(folder);
    std::filesystem::copy(FA_PROFILE_SOURCE "/tests/data/cubins/kernels.cu", folder / "kernels.cu");
    const ChildEnd compiled = sass::RunCudaTool({FA_PROFILE_NVCC, "-cubin", "-std=c++20", "-lineinfo", "-gencode",
                                                 "arch=compute_90a,code=sm_90a", "kernels.cu", "-o", "x.cubin"},
                                                folder.string(), 300);
    ASSERT_EQ(compiled.status, 0) << compiled.err;
    hashes.push_back(Kernels((folder / "x.cubin").string()).at("reduce<128>").at("code_hash"));
    const std::map<std::string, std::string> sources = load::HashesOfSources(folder / "x.cubin");
    ASSERT_EQ(sources.size(), 1U) << "of a receipt: headers of the toolkit are left out";
    EXPECT_EQ(sources.at("kernels.cu"), Sha256OfFile(folder / "kernels.cu"));
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST_F(LintLadderTest, PtxWithoutMachineCodeIsAnErrorWithAHint) {
  const ChildEnd compiled =
      sass::RunCudaTool({FA_PROFILE_NVCC, "-c", "-std=c++20", "-gencode", "arch=compute_90,code=compute_90",
                         FA_PROFILE_SOURCE "/tests/data/cubins/kernels.cu", "-o", "ptx.o"},
                        folder_.string(), 300);
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  ExpectRefused("ptx.o", "ptx.o holds no machine code, only PTX", "code=sm_90a");
}

TEST_F(LintLadderTest, GpuCodeWithoutAKernelIsAnErrorThatNamesTheFile) {
  std::ofstream(folder_ / "none.cu") << "__device__ int number;\n";
  const ChildEnd compiled = sass::RunCudaTool(
      {FA_PROFILE_NVCC, "-cubin", "-gencode", "arch=compute_90a,code=sm_90a", "none.cu", "-o", "none.cubin"},
      folder_.string(), 300);
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  ExpectRefused("none.cubin", "no kernel in the GPU code of none.cubin", "__global__");
}

TEST(SmLimitsTest, OccupancyIsThatOfCudasOwnCalculator) {
  int compared = 0;
  for (const int sm : {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121}) {
    const auto device = analyze::SmLimits(sm);
    ASSERT_TRUE(device) << sm;
    cudaOccDeviceProp properties{};
    properties.computeMajor = sm / 10;
    properties.computeMinor = sm % 10;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = device->max_threads_per_sm;
    properties.regsPerBlock = 65536;
    properties.regsPerMultiprocessor = device->registers_per_sm;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 << 10;
    properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(device->shared_memory_per_sm_bytes);
    properties.numSms = 1;
    properties.sharedMemPerBlockOptin = static_cast<std::size_t>(device->shared_memory_per_block_optin_bytes);
    properties.reservedSharedMemPerBlock = static_cast<std::size_t>(device->reserved_shared_memory_per_block_bytes);
    for (const int threads : {32, 96, 128, 256, 768, 1024}) {
      for (const int registers : {16, 32, 40, 64, 128, 255}) {
        for (const std::int64_t shared : {0, 1000, 16 << 10, 47 << 10, 63 << 10, 99 << 10, 163 << 10, 227 << 10}) {
          if (shared > device->shared_memory_per_block_optin_bytes) continue;
          cudaOccFuncAttributes attributes{};
          attributes.maxThreadsPerBlock = 1024;
          attributes.numRegs = registers;
          attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
          attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(shared);
          cudaOccDeviceState state{};
          state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
          cudaOccResult result{};
          const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
                                                                             threads, static_cast<std::size_t>(shared));
          ASSERT_EQ(error, CUDA_OCC_SUCCESS) << sm;
          Launch launch;
          launch.block = {threads, 1, 1};
          launch.grid = {1, 1, 1};
          launch.registers_per_thread = registers;
          launch.dynamic_shared_memory_bytes = shared;
          const auto ours = analyze::TheoreticalOccupancy(*device, launch);
          EXPECT_EQ(ours ? ours->blocks_per_sm : 0, result.activeBlocksPerMultiprocessor)
              << "sm_" << sm << ", " << threads << " threads, " << registers << " registers, " << shared << " bytes";
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 2000);
}

}  // namespace
}  // namespace fa_profile::lint_ladder_test
