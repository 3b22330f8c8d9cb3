// The phases inferred from the machine code of the ladder's rungs, against the functions that the rungs are written in:
// samples of the recording that ships with the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fa_profile/analyze.h"
#include "fa_profile/infer_phases.h"
#include "fa_profile/recording_file.h"
#include "support/phase_agreement.h"

namespace fa_profile::load::inferred_ladder_test {
namespace {

struct Rung {
  std::string name;  // "mma 1,8,512,64"
  analyze::InferredPhases inferred;
  PhaseAgreement agreement;

  bool Is(std::string_view kernel) const { return name.starts_with(std::string(kernel) + " "); }
  double Ratio(const std::string& named, const std::string& found) const { return agreement.Ratio(named, found); }
};

const Recording& Bundled() {
  static const Recording recording = store::RecordingReader(FA_PROFILE_BUNDLED_RECORDING).Load();
  return recording;
}

/// Every case of one kernel but cublas, whose code is not ours, and hopper: inference refuses it (its own test).
const std::vector<Rung>& Rungs() {
  static const std::vector<Rung> rungs = [] {
    std::vector<Rung> result;
    for (const MeasuredKernel& kernel : MeasuredKernels(Bundled())) {
      if (kernel.name.starts_with("cublas ") || kernel.name.starts_with("hopper ")) continue;
      analyze::InferredPhases inferred = analyze::InferPhases(*kernel.function, kernel.executed);
      PhaseAgreement agreement = ComparePhases(*kernel.function, inferred, kernel.weights);
      result.push_back({kernel.name, std::move(inferred), std::move(agreement)});
    }
    return result;
  }();
  return rungs;
}

struct Limit {
  double right_ratio;
  double error_ratio;
};

// docs/evidence/phases.md has the figures. `scalar` computes its rescaling in
// its function softmax. The address of O's tile, which `wmma` uses in pv, is in its function rescale.
std::optional<Limit> LimitOf(const Rung& rung) {
  if (rung.Is("minimal")) return std::nullopt;
  if (rung.Is("scalar")) return Limit{0.95, 0.04};
  if (rung.name == "wmma 2,16,2048,128") return Limit{0.98, 0.016};
  return Limit{0.985, 0.010};
}

TEST(InferredLadderTest, SamplesGetThePhaseThatTheCodeNames) {
  int compared = 0;
  for (const Rung& rung : Rungs()) {
    const auto limit = LimitOf(rung);
    if (!limit) continue;
    EXPECT_EQ(rung.inferred.refusal, "") << rung.name;
    EXPECT_GE(rung.agreement.RightRatio(), limit->right_ratio) << rung.name;
    EXPECT_LE(rung.agreement.LargestErrorRatio(), limit->error_ratio) << rung.name;
    ++compared;
  }
  EXPECT_EQ(compared, 15) << "five rungs at three shapes";
}

TEST(InferredLadderTest, MinimalDiffersOnlyByWhereItLoadsAndComputesExponentials) {
  // Its functions qk and pv load K and V themselves, and pv computes the exponentials again.
  for (const Rung& rung : Rungs()) {
    if (!rung.Is("minimal")) continue;
    ASSERT_EQ(rung.inferred.refusal, "");
    const double named_otherwise =
        rung.Ratio("qk", "load_kv") + rung.Ratio("pv", "load_kv") + rung.Ratio("pv", "softmax");
    EXPECT_GE(rung.agreement.RightRatio() + named_otherwise, 0.995) << rung.name;
  }
}

TEST(InferredLadderTest, HopperIsRefusedNotNamedWrongly) {
  int refused = 0;
  for (const MeasuredKernel& kernel : MeasuredKernels(Bundled())) {
    if (!kernel.name.starts_with("hopper ")) continue;
    EXPECT_NE(analyze::InferPhases(*kernel.function, kernel.executed).refusal, "") << kernel.name;
    ++refused;
  }
  EXPECT_GE(refused, 3);
}

TEST(InferredLadderTest, ChecksOfCountsAreExact) {
  for (const Rung& rung : Rungs()) {
    EXPECT_TRUE(rung.inferred.checks.counted);
    EXPECT_NEAR(rung.inferred.checks.qk_to_pv_ratio.value_or(0.0), 1.0, 0.001) << rung.name;
    EXPECT_EQ(rung.inferred.checks.unassigned_products, 0);
    EXPECT_EQ(rung.inferred.checks.key_loops, 1);
  }
}

// Kernels of others, which name no phase: FlashAttention 2 and CUTLASS' fused attention, as PyTorch has them. The
// second keeps Q and P in one place of shared memory, one after the other.
TEST(InferredLadderTest, PyTorchsKernelsPassTheChecks) {
  const Recording recording = store::RecordingReader(FA_PROFILE_PYTORCH_RECORDING).Load();
  int inferred = 0;
  for (const DeviceFunction& function : recording.functions) {
    if (function.instructions.empty()) continue;
    const analyze::InferredPhases phases = analyze::InferPhases(function);
    EXPECT_EQ(phases.refusal, "") << function.name;
    EXPECT_NEAR(phases.checks.qk_to_pv_ratio.value_or(0.0), 1.0, 1e-9);
    EXPECT_EQ(phases.checks.unassigned_products, 0);
    std::set<std::string_view> named;
    for (const analyze::InferredInstruction& instruction : phases.instructions) named.insert(instruction.phase);
    for (const char* const phase : {"load_kv", "qk", "softmax", "rescale", "pv", "epilogue", "setup", "sync"}) {
      EXPECT_TRUE(named.contains(phase)) << phase << " of " << function.name;
    }
    ++inferred;
  }
  EXPECT_EQ(inferred, 2);
}

// Clock reads inside copies of the kernels, on a GPU of the same kind two days later (tests/data/phases). In the clocks
// a wait at a barrier of rung 7 is sync's, and in the shares it is charged to the phase waited for.
TEST(InferredLadderTest, SharesAgreeWithClocksInsideTheKernels) {
  const Profile profile = analyze::Analyze(Bundled(), std::nullopt, PhaseSource::kCode);
  int compared = 0;
  for (const nlohmann::json& kernel :
       nlohmann::json::parse(std::ifstream(std::string(FA_PROFILE_TEST_DATA) + "/phases/clocks.json"))) {
    const auto rung = kernel.at("rung").get<std::string>();
    const auto shape = kernel.at("shape").get<std::string>();
    const auto entry = std::ranges::find_if(profile.entries, [&](const ProfileEntry& candidate) {
      return candidate.kernel == rung && candidate.part.empty() && candidate.shape &&
             candidate.shape->ToString() == shape;
    });
    ASSERT_NE(entry, profile.entries.end()) << rung << " " << shape;
    std::map<std::string, double> clocks;
    for (const auto& [lap, share] : kernel.at("clock_share").items()) {
      const std::string wait = "wait ";
      clocks[lap.starts_with(wait) ? lap.substr(wait.size()) : lap] += share.at("all_warps").get<double>();
    }
    for (const auto& [phase, share] : clocks) {
      if (phase == "sync") continue;
      const auto found = std::ranges::find(entry->phases->phases, phase, &PhaseEntry::name);
      ASSERT_NE(found, entry->phases->phases.end()) << phase;
      constexpr double kThreeAndAHalfPoints = 0.035;
      EXPECT_NEAR(found->metrics.at("phase_time_ratio"), share, kThreeAndAHalfPoints)
          << rung << " " << shape << " " << phase;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 28) << "two kernels at two shapes, seven phases each";
}

}  // namespace
}  // namespace fa_profile::load::inferred_ladder_test
