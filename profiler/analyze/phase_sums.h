#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/phase_map.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Why an instruction has its phase. Both are empty if it has none.
struct PhaseGround {
  std::string_view grade;   ///< GradeName() of an inference; "named" by the code's functions, "map", "opcode"
  std::string_view reason;  ///< one word: InferredInstruction::reason; for a rule "function", "line" or "opcode"
};

/// A function and the phases of its instructions. Nothing is owned.
struct LabelledFunction {
  const DeviceFunction* function = nullptr;
  std::string otherwise;                  ///< phase of the instructions that `phases` does not list
  std::vector<std::string> phases;        ///< by instruction; empty: the whole function is `otherwise`
  std::vector<PhaseGround> grounds = {};  ///< by instruction; empty: not requested
};

/// The function's instructions by a map's rules; `grade` is used for every ground.
LabelledFunction LabelByRules(const DeviceFunction& function, const PhaseMap& map, std::string_view grade);

/// Variables that the phase catalogue's formulas read, summed over the instructions of one phase:
/// - `samples.<reason>`; `samples.total`; `samples.waiting`, at a barrier or for another role; of these
///   `samples.uncharged`, for an unknown phase;
/// - `time.samples`: samples at work, and the waiting ones at barriers charged to the phase they waited for;
/// - `sass.<metric>`; `inst.<class>`, `inst.hmma` and `inst.gmma`, executed by warps; `thread_inst.<class>`, by threads
///   whose predicate was on; `work.tensor_flops`, `work.flops`, `work.exponentials`;
/// - `inst.polling`, of waits for mbarriers, and `inst.mbarrier`, all SYNCS; `wavefronts.ldst`, `wavefronts.ldst_ideal`
///   and `wavefronts.ldgsts`, of shared loads and stores and of cp.async. What closures compare needs them.
using PhaseVariables = std::map<std::string, double>;

/// Sums by phase. What was not measured is absent; what was measured, and did not happen in a phase, is 0.
struct PhaseSums {
  std::map<std::string, PhaseVariables> phases;
  bool sampled = false;
  bool counted = false;

  /// Over all phases. A variable that any phase lacks is absent.
  PhaseVariables Whole() const;
};

/// CUPTI's stall reason for a sample at an instruction (null: unknown), corrected. A warp that waits for its own
/// warpgroup's matrix instructions (WARPGROUP.DEPBAR) is sampled as if at a barrier. It waits for no other phase: that
/// is its work, and the reason becomes gmma.
std::string_view ReasonAt(std::string_view reason, const Instruction* instruction);

/// Whether it is a reason's twin: samples of the same warps, in cycles in which the scheduler issued nothing.
inline bool IsTwin(std::string_view reason) { return reason.ends_with("_not_issued"); }

/// `sampling`, without the branch skid if counts allow, and `counting` may be null; only what belongs to these
/// functions counts. `unavailable`: SASS metrics that the chip lacks: their absence is not 0. kUnattributed is among
/// the phases.
PhaseSums SumPhases(const std::vector<LabelledFunction>& functions, const PcSampling* sampling,
                    const SassCounting* counting, const std::set<std::string>& unavailable);

/// Names or lines that several phases of a map claim: one DataLoss per pair of rules.
std::vector<DataLoss> OverlapsOf(const PhaseMap& map);

}  // namespace fa_profile::analyze
