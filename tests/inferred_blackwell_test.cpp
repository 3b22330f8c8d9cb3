// Phases inferred from machine code that keeps scores, probabilities and outputs in tensor memory: kernels of Triton,
// against the lines of their source (bench/programs/blackwell_attention.py). What a limit lets through was measured on
// 2026-11-28 and is in docs/evidence/phases.md.
#include <gtest/gtest.h>

#include <string>

#include "fa_profile/disassembly.h"
#include "fa_profile/kernel_code.h"
#include "support/line_phases.h"
#include "support/phase_agreement.h"

namespace fa_profile::load::inferred_blackwell_test {
namespace {

constexpr const char* kSource = FA_PROFILE_SOURCE "/bench/programs/blackwell_attention.py";

struct Kernel {
  DeviceFunction function;  ///< its phases named by lines
  analyze::InferredPhases inferred;
};

Kernel Infer(const std::string& name) {
  const std::string path = std::string(FA_PROFILE_TEST_DATA "/cubins/blackwell/") + name + "_sm100.cubin";
  const auto cubins = sass::ReadGpuCode(path);
  const sass::CubinInfo info = sass::ReadCubin(cubins.at(0).bytes);
  const auto codes = DisassembleKernels(path, cubins[0], info, {info.functions.at(0).name}, sass::RequireNvdisasm());
  Kernel kernel{codes.at(0).function, {}};
  kernel.inferred = analyze::InferPhases(kernel.function, {});
  NameByLines(kernel.function, ReadLinePhases(kSource));
  return kernel;
}

void ExpectAgreement(const std::string& name) {
  SCOPED_TRACE(name);
  const auto [function, inferred] = Infer(name);
  ASSERT_EQ(inferred.refusal, "");
  EXPECT_EQ(inferred.checks.qk_to_pv_ratio, 1.0);
  const std::vector<double> weights = WeightsInLoops(function);
  const PhaseAgreement values = ComparePhases(function, inferred, OfValues(function, weights));
  EXPECT_GT(values.RightRatio(), 0.97);
  EXPECT_LT(values.LargestErrorRatio(), 0.03);
  const PhaseAgreement all = ComparePhases(function, inferred, weights);
  EXPECT_GT(all.RightRatio(), 0.86) << "addresses, too";
}

TEST(InferredBlackwellTest, ProbabilitiesGoThroughTensorMemory) {
  ExpectAgreement("descriptors_fp16_64x64_d64_causal_w4_s3");
}

TEST(InferredBlackwellTest, ProbabilitiesGoThroughSharedMemory) {
  ExpectAgreement("persistent_fp8e4nv_64x64_d64_causal_w4_s2");
}

TEST(InferredBlackwellTest, EachRoleHasItsOwnWarpsAndLoop) {
  ExpectAgreement("persistent_bf16_128x128_d64_causal_ws_w8_s2");
}

TEST(InferredBlackwellTest, EveryProductIsQkOrPv) {
  const auto [function, inferred] = Infer("persistent_bf16_128x128_d64_causal_ws_w8_s2");
  int qk = 0;
  int pv = 0;
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    if (sass::FormOf(function.instructions[i].opcode) != sass::Form::kTensorMemory) continue;
    qk += inferred.instructions[i].phase == "qk" ? 1 : 0;
    pv += inferred.instructions[i].phase == "pv" ? 1 : 0;
  }
  EXPECT_EQ(qk, 12) << "three tiles of 4 x 16 columns: two before the loop and one in it";
  EXPECT_EQ(pv, 8);
}

}  // namespace
}  // namespace fa_profile::load::inferred_blackwell_test
