#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "finding_rules.h"
#include "finding_thresholds.h"

namespace fa_profile::analyze {
namespace {

/// How the phases were inferred; null if they were not.
const PhaseInference* InferenceOf(const Subject& subject) {
  const auto& phases = subject.entry.phases;
  return phases && phases->inference && phases->inference->refusal.empty() ? &*phases->inference : nullptr;
}

const PhaseEntry* FindPhase(const Subject& subject, std::string_view name) {
  const auto& phases = PhaseList(subject);
  const auto found = std::ranges::find(phases, name, &PhaseEntry::name);
  return found == phases.end() ? nullptr : &*found;
}

double TimeOf(const Subject& subject, std::string_view name) {
  const PhaseEntry* const phase = FindPhase(subject, name);
  return phase == nullptr ? 0.0 : ShareOf(*phase);
}

}  // namespace

void SoftmaxBound(const Subject& subject, Findings& findings) {
  const PhaseInference* const inference = InferenceOf(subject);
  const PhaseEntry* const softmax = FindPhase(subject, "softmax");
  if (inference == nullptr || !inference->tile || softmax == nullptr) return;
  const double products = TimeOf(subject, "qk") + TimeOf(subject, "pv");
  if (ShareOf(*softmax) < kSoftmaxBound || ShareOf(*softmax) <= products) return;
  findings.push_back(Found("softmax",
                           fmt::format("{}, qk and pv {}; a tile of keys has {} instructions of softmax and {:g} "
                                       "exponentials a thread",
                                       Takes(*softmax), Share(products), inference->tile->softmax_instructions,
                                       inference->tile->exponentials),
                           ShareOf(*softmax)));
}

void ExponentialsAgain(const Subject& subject, Findings& findings) {
  const PhaseInference* const inference = InferenceOf(subject);
  const PhaseEntry* const softmax = FindPhase(subject, "softmax");
  if (inference == nullptr || softmax == nullptr || ShareOf(*softmax) < kSmallPhase) return;
  // Exponentials are counted by warps: this says nothing about code that one thread runs.
  if (AtMost(softmax->metrics, "phase_threads_per_instruction", kSerialThreads)) return;
  const auto& per_exponential = inference->multiply_adds_per_exponential;
  std::optional<double> times = inference->exponentials_per_score;
  const AttentionShape* const shape = subject.entry.shape ? subject.entry.shape->attention() : nullptr;
  if (!times && shape != nullptr && per_exponential && *per_exponential > 0.0) {
    times = static_cast<double>(shape->head_dim) / *per_exponential;
  }
  if (!times || *times < kComputedAgain) return;
  std::string evidence = fmt::format("{:.1f} exponentials for each score", *times);
  if (per_exponential) evidence += fmt::format(", {:.0f} multiply-adds of qk for each exponential", *per_exponential);
  findings.push_back(
      Found("softmax", fmt::format("{}; {}", evidence, Takes(*softmax)), (1.0 - 1.0 / *times) * ShareOf(*softmax)));
}

void RescaleEveryTile(const Subject& subject, Findings& findings) {
  const PhaseInference* const inference = InferenceOf(subject);
  const PhaseEntry* const rescale = FindPhase(subject, "rescale");
  if (inference == nullptr || !inference->tile || rescale == nullptr) return;
  if (inference->tile->rescale != "every tile" || ShareOf(*rescale) < kSmallPhase) return;
  findings.push_back(Found("rescale",
                           fmt::format("{}; the output is rescaled in every tile of keys, whether or not a row has a "
                                       "new maximum",
                                       Takes(*rescale)),
                           ShareOf(*rescale)));
}

namespace {

/// Measured: between issue and result of products warps do hardly anything else, tile after tile. A single tile has
/// nothing to overlap with.
bool ProductsRunAlone(const Subject& subject) {
  constexpr double kGroupsOfATile = 2.0;
  constexpr double kWarpThreads = 32.0;
  if (!subject.entry.phases || !subject.entry.phases->overlap) return false;
  double waits = 0.0;
  for (const AsyncWait& wait : subject.entry.phases->async_waits) waits += wait.kind == "matrix" ? wait.waits : 0.0;
  double warps = 0.0;
  for (const Launch& launch : subject.entry.launches) {
    double threads = 1.0;
    for (int i = 0; i < 3; ++i) threads *= static_cast<double>(launch.grid[i]) * static_cast<double>(launch.block[i]);
    warps += threads / kWarpThreads;
  }
  return subject.entry.phases->overlap->work_ratio < kLittleOverlap && waits > 2.0 * kGroupsOfATile * warps;
}

}  // namespace

void NoOverlap(const Subject& subject, Findings& findings) {
  const PhaseInference* const inference = InferenceOf(subject);
  const PhaseEntry* const softmax = FindPhase(subject, "softmax");
  const bool inferred =
      inference != nullptr && inference->tile && !inference->tile->overlaps_exponentials.value_or(true);
  if (softmax == nullptr || (!inferred && !ProductsRunAlone(subject)) || ShareOf(*softmax) < kSerialTime) return;
  const auto active = Find(subject.entry.metrics, "tensor_core_utilization_ratio");
  if (!active || *active >= kBusyPipe) return;
  findings.push_back(
      Found("softmax",
            fmt::format("{}, and the tensor pipe is active {} of the time; {}",
                        inferred ? "each product is waited for before the next exponential"
                                 : "from a product's issue to its result warps do other work in " +
                                       Share(subject.entry.phases->overlap->work_ratio) + " of the cycles",
                        Share(*active), Takes(*softmax)),
            (1.0 - *active) * ShareOf(*softmax)));
}

void SetupBound(const Subject& subject, Findings& findings) {
  const PhaseEntry* const setup = FindPhase(subject, "setup");
  if (InferenceOf(subject) == nullptr || setup == nullptr || ShareOf(*setup) < kSetup) return;
  findings.push_back(Found(
      "setup", fmt::format("{}: addresses and conditions before the loop over keys", Takes(*setup)), ShareOf(*setup)));
}

}  // namespace fa_profile::analyze
