// The phases inferred from machine code that the inference was not made for: the variants of tests/phase_variants, in
// two halves, and two kernels of Triton. Recordings: tests/data/phases. What a limit lets through was measured on
// 2026-11-23 and is in docs/evidence/phases.md; a fall of quality goes below it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/recording_file.h"
#include "support/phase_agreement.h"

namespace fa_profile::load {
namespace {

using Agreements = std::map<std::string, PhaseAgreement>;  // by variant

Recording LoadPhases(const std::string& name) {
  return store::RecordingReader(std::string(FA_PROFILE_PHASE_RECORDINGS) + "/" + name + ".fap").Load();
}

/// Agreements for one half of the variants.
const Agreements& Half(bool set_aside) {
  static const std::map<bool, Agreements> halves = [] {
    std::map<bool, Agreements> result;
    for (const char* const shape : {"64-512", "64-causal-512", "128-512", "128-causal-512", "64-4096"}) {
      const Recording recording = LoadPhases(std::string("variants-") + shape);
      for (const MeasuredKernel& kernel : MeasuredKernels(recording)) {
        const std::string variant = VariantOf(kernel.name);
        result[IsSetAside(variant)][variant] =
            ComparePhases(*kernel.function, analyze::InferPhases(*kernel.function, kernel.executed), kernel.weights);
      }
    }
    return result;
  }();
  return halves.at(set_aside);
}

std::set<std::string> Refused(const Agreements& half) {
  std::set<std::string> names;
  for (const auto& [variant, agreement] : half) {
    if (!agreement.refusal.empty()) names.insert(variant);
  }
  return names;
}

LowDistribution RightPct(const Agreements& half) {
  std::vector<double> values;
  for (const auto& [variant, agreement] : half) {
    if (agreement.refusal.empty()) values.push_back(100 * agreement.RightRatio());
  }
  return DistributionOf(values);
}

LowDistribution MinusErrorPoints(const Agreements& half) {
  std::vector<double> values;
  for (const auto& [variant, agreement] : half) {
    if (agreement.refusal.empty()) values.push_back(-100 * agreement.LargestErrorRatio());
  }
  return DistributionOf(values);
}

/// Variants with less than 90 % right that are not among `known`.
std::set<std::string> WrongCuts(const Agreements& half, const std::set<std::string>& known) {
  std::set<std::string> names;
  for (const auto& [variant, agreement] : half) {
    if (agreement.refusal.empty() && agreement.RightRatio() < 0.9 && !known.contains(variant)) names.insert(variant);
  }
  return names;
}

/// The largest share that went from one product to the other, of any variant.
double LargestMixOfProducts(const Agreements& half) {
  double largest = 0.0;
  for (const auto& [variant, agreement] : half) {
    if (!agreement.refusal.empty()) continue;
    largest = std::max(largest, agreement.Ratio("qk", "pv") + agreement.Ratio("pv", "qk"));
  }
  return largest;
}

TEST(InferredVariantsTest, TheHalfThatRulesWereTunedOn) {
  const Agreements& half = Half(false);
  EXPECT_EQ(half.size(), 56U);
  // No exponential instruction; QK twice for each PV; -G, which keeps all values in local memory.
  EXPECT_EQ(Refused(half), (std::set<std::string>{"v_debug", "v_polynomial", "v_two_pass"}));
  EXPECT_GE(RightPct(half).median, 98.5);
  EXPECT_GE(RightPct(half).tenth_percentile, 95.0);
  EXPECT_GE(MinusErrorPoints(half).median, -0.8);
  EXPECT_GE(MinusErrorPoints(half).tenth_percentile, -3.0);
  // The first two convert K and V in registers in their function load_kv; the third has hundreds of spilled registers.
  EXPECT_EQ(WrongCuts(half, {"v_row_warp", "v_row_warp_d128_causal", "v_spills_d128"}), std::set<std::string>());
  EXPECT_GE(RightPct(half).worst, 68.0);
}

TEST(InferredVariantsTest, TheHalfThatWasSetAside) {
  const Agreements& half = Half(true);
  EXPECT_EQ(half.size(), 48U);
  const std::set<std::string> known{"v_producer_named_p_shared", "v_register_tile"};
  for (const std::string& variant : Refused(half)) EXPECT_TRUE(known.contains(variant)) << variant << " is refused";
  EXPECT_GE(RightPct(half).median, 98.5);
  EXPECT_GE(RightPct(half).tenth_percentile, 92.0);
  EXPECT_GE(MinusErrorPoints(half).median, -0.8);
  EXPECT_GE(MinusErrorPoints(half).tenth_percentile, -5.0);
  EXPECT_EQ(WrongCuts(half, {"v_wmma_causal", "v_row_warp_one_key", "v_spills_causal_rows32", "v_wgmma_producer"}),
            std::set<std::string>());
  EXPECT_GE(RightPct(half).worst, 70.0);
}

TEST(InferredVariantsTest, TheTwoProductsAreToldApart) {
  for (const bool set_aside : {false, true}) {
    EXPECT_LE(LargestMixOfProducts(Half(set_aside)), 0.05);
    for (const auto& [variant, agreement] : Half(set_aside)) {
      if (!agreement.refusal.empty()) continue;
      EXPECT_NEAR(agreement.checks.qk_to_pv_ratio.value_or(0.0), 1.0, 0.02) << variant;
      EXPECT_EQ(agreement.checks.unassigned_products, 0) << variant;
    }
  }
}

TEST(InferredVariantsTest, TritonsKernelsPassTheChecks) {
  const Recording recording = LoadPhases("triton-attention");
  std::set<std::string> inferred;
  for (const MeasuredKernel& kernel : MeasuredKernels(recording)) {
    const analyze::InferredPhases phases = analyze::InferPhases(*kernel.function, kernel.executed);
    EXPECT_EQ(phases.refusal, "") << kernel.name;
    EXPECT_TRUE(phases.checks.counted);
    EXPECT_NEAR(phases.checks.qk_to_pv_ratio.value_or(0.0), 1.0, 0.001) << kernel.name;
    EXPECT_EQ(phases.checks.key_loops, 1) << kernel.name;
    const PhaseAgreement agreement = ComparePhases(*kernel.function, phases, kernel.weights);
    EXPECT_GE(agreement.graded[0] / agreement.Whole(), 0.70) << kernel.name << ": direct";
    EXPECT_LE(agreement.graded[2] / agreement.Whole(), 0.06) << kernel.name << ": guesses";
    std::set<std::string_view> named;
    for (const analyze::InferredInstruction& instruction : phases.instructions) named.insert(instruction.phase);
    for (const char* const phase : {"load_kv", "qk", "softmax", "rescale", "pv", "epilogue", "sync"}) {
      EXPECT_TRUE(named.contains(phase)) << phase << " of " << kernel.name;
    }
    inferred.insert(kernel.function->name);
  }
  EXPECT_EQ(inferred, (std::set<std::string>{"attend", "attend_causal"}));
}

}  // namespace
}  // namespace fa_profile::load
