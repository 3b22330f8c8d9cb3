#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fa_profile/infer_phases.h"
#include "inference/flow.h"
#include "inference/memory.h"
#include "inference/operands.h"
#include "inference/ranks.h"
#include "inference/regions.h"
#include "inference/rounds.h"
#include "inference/step_budget.h"
#include "inference/tensor_memory.h"
#include "inference/values.h"

namespace fa_profile::analyze {

/// Everything that earlier stages found out about a function. Nothing is owned.
struct CodeFacts {
  const DeviceFunction& function;
  const std::vector<Operands>& operands;
  const Flow& flow;
  const Values& values;
  const TensorMemory& tensor;
  const Memory& memory;
  const Ranks& ranks;
  const Regions& regions;
  const StaticRounds& rounds;
  const std::vector<double>& weight;  ///< by instruction: how often it runs, or ten for each loop around it
};

enum class Phase : std::uint8_t {
  kUnassigned,
  kLoadQ,
  kLoadKv,
  kSync,
  kQk,
  kSoftmax,
  kRescale,
  kPv,
  kEpilogue,
  kSetup,
};
inline constexpr std::size_t kPhases = 10;

/// "load_q"; kUnattributed for kUnassigned.
std::string_view PhaseName(Phase phase);

struct Assigned {
  Phase phase = Phase::kUnassigned;
  InferenceGrade grade = InferenceGrade::kGuess;
  std::string_view reason = "none";
};

/// The phases found so far. The first one found for an instruction stays.
class Assignment {
 public:
  explicit Assignment(std::size_t instructions) : assigned_(instructions) {}

  void Set(std::size_t i, Phase phase, InferenceGrade grade, std::string_view reason) {
    if (assigned_[i].phase == Phase::kUnassigned) assigned_[i] = {phase, grade, reason};
  }
  bool Has(std::size_t i) const { return assigned_[i].phase != Phase::kUnassigned; }
  Phase Of(std::size_t i) const { return assigned_[i].phase; }
  const std::vector<Assigned>& all() const { return assigned_; }

 private:
  std::vector<Assigned> assigned_;
};

/// Loads that feed products: those in the key loop, or in the deepest loop of producer warps, are load_kv; so are
/// others that read through the same pointers, and the rest is load_q.
void AssignLoads(const CodeFacts& code, StepBudget& budget, Assignment& phases);

/// Code that computes, stores or waits: products, exponentials, whatever works on scores, exponentials or the output.
void AssignByRank(const CodeFacts& code, StepBudget& budget, Assignment& phases);

/// Everything else, from what it belongs to: shared stores go with what made them; addresses, conditions, zeros and
/// shared loads with what uses them; branches with what they guard. Addresses and conditions before the key loop that
/// serve several phases are kSetup.
void AssignByNeighbours(const CodeFacts& code, StepBudget& budget, Assignment& phases);

}  // namespace fa_profile::analyze
