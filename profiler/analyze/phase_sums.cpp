#include "phase_sums.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "control_flow.h"
#include "fa_profile/measured_code.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/profile.h"
#include "mbarrier_waits.h"

namespace fa_profile::analyze {
namespace {

constexpr const char* kPredicateOn = "smsp__sass_thread_inst_executed_pred_on";

const std::string& PhaseAt(const LabelledFunction& labelled, std::optional<std::size_t> index) {
  return index && *index < labelled.phases.size() ? labelled.phases[*index] : labelled.otherwise;
}

/// Phases that consist only of waiting for other warps.
bool IsSynchronisation(std::string_view phase) { return phase == "sync" || phase == "barriers"; }

/// Samples of one function, split into work and waiting.
class FunctionSamples {
 public:
  FunctionSamples(const LabelledFunction& labelled, PhaseSums& sums)
      : labelled_(labelled),
        instructions_(labelled.function->instructions),
        sums_(sums),
        async_wait_(AsyncWaits(*labelled.function)),
        at_work_(instructions_.size(), 0.0) {}

  void Add(const PcSample& pc) {
    const auto index = IndexOf(*labelled_.function, pc.offset);
    PhaseVariables& phase = sums_.phases[PhaseAt(labelled_, index)];
    for (const auto& [sampled, count] : pc.samples) {
      if (IsTwin(sampled)) continue;
      const std::string reason(ReasonAt(sampled, index ? &instructions_[*index] : nullptr));
      const auto samples = static_cast<double>(count);
      phase["samples." + reason] += samples;
      phase["samples.total"] += samples;
      const bool at_barrier = reason == "barrier";
      const bool for_a_role = reason == "sleeping" || (index && async_wait_[*index]);
      if (at_barrier || for_a_role) phase["samples.waiting"] += samples;
      if (labelled_.phases.empty() || !(at_barrier || for_a_role)) {
        phase["time.samples"] += samples;
        if (index) at_work_[*index] += samples;
      } else if (at_barrier && index) {
        at_barrier_[*index] += samples;
      } else {
        phase["samples.uncharged"] += samples;
      }
    }
  }

  /// Call this once all samples are there: barrier waits go to the phases that the barrier waits for.
  void ChargeBarriers() {
    if (at_barrier_.empty()) return;
    const ControlFlow flow = ReadControlFlow(*labelled_.function);
    std::map<std::size_t, std::map<std::string, double>> shares_at;  // by barrier
    for (const auto& [index, waits] : at_barrier_) {
      const auto barrier = BarrierPassed(*labelled_.function, flow, index);
      if (barrier && !shares_at.contains(*barrier)) shares_at[*barrier] = SharesOf(*barrier, flow);
      const std::map<std::string, double> shares = barrier ? shares_at[*barrier] : std::map<std::string, double>{};
      if (shares.empty()) sums_.phases[labelled_.phases[index]]["samples.uncharged"] += waits;
      for (const auto& [phase, share] : shares) sums_.phases[phase]["time.samples"] += share * waits;
    }
  }

 private:
  /// Some warps only arrive at this barrier (BAR.ARV): those that wait at it wait for another role, whose code does not
  /// lead here.
  bool BelongsToRoles(std::size_t barrier) const {
    const auto id = [](const Instruction& instruction) {
      return instruction.operands.substr(0, instruction.operands.find(','));
    };
    const std::string waited = id(instructions_[barrier]);
    return std::ranges::any_of(instructions_, [&](const Instruction& other) {
      if (!sass::ArrivesAtBarrier(other.opcode)) return false;
      // An id in a register may be any id.
      return id(other) == waited || !id(other).starts_with("0x") || !waited.starts_with("0x");
    });
  }

  /// By phase, for all that it waits for. Empty if that is not known.
  std::map<std::string, double> SharesOf(std::size_t barrier, const ControlFlow& flow) const {
    if (BelongsToRoles(barrier)) return {};
    std::map<std::string, double> work;
    std::map<std::string, double> synchronisation;
    for (const std::size_t i : WaitedFor(*labelled_.function, flow, barrier)) {
      if (at_work_[i] == 0.0) continue;
      (IsSynchronisation(labelled_.phases[i]) ? synchronisation : work)[labelled_.phases[i]] += at_work_[i];
    }
    std::map<std::string, double>& shares = work.empty() ? synchronisation : work;
    double total = 0.0;
    for (const auto& [phase, samples] : shares) total += samples;
    for (auto& [phase, samples] : shares) samples /= total;
    return shares;
  }

  const LabelledFunction& labelled_;
  const std::vector<Instruction>& instructions_;
  PhaseSums& sums_;
  std::vector<bool> async_wait_;
  std::vector<double> at_work_;               // samples, by instruction
  std::map<std::size_t, double> at_barrier_;  // samples, by the instruction where the warp was found
};

const LabelledFunction* FindLabelled(const std::vector<LabelledFunction>& functions, std::int64_t id) {
  const auto found = std::ranges::find_if(functions, [&](const auto& labelled) { return labelled.function->id == id; });
  return found == functions.end() ? nullptr : &*found;
}

/// Phases with a count that cannot be known.
struct Unknowns {
  std::set<std::string> opcodes;  // with code that was not disassembled
  std::set<std::string> shapes;   // with matrix instructions that do not say their shape
  std::set<std::string> copies;   // with TMA copies, whose global bytes are in no instruction's count
};

void Forget(PhaseVariables& variables, std::initializer_list<std::string_view> prefixes) {
  std::erase_if(variables, [&](const auto& item) {
    return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return item.first.starts_with(prefix); });
  });
}

double ValueOf(const SassCount& count, const char* metric) {
  const auto found = count.values.find(metric);
  return found == count.values.end() ? 0.0 : static_cast<double>(found->second);
}

/// Shared-memory wavefronts by the path they take, as the range profiler counts them.
void AddWavefronts(std::string_view opcode, const SassCount& count, PhaseVariables& phase) {
  using sass::OpcodeClass;
  const OpcodeClass opcode_class = sass::ClassOf(opcode);
  const double wavefronts = ValueOf(count, kWavefronts);
  if (sass::FormOf(opcode) == sass::Form::kAsyncCopy) phase["wavefronts.ldgsts"] += wavefronts;
  if (opcode_class == OpcodeClass::kSharedLoad || opcode_class == OpcodeClass::kSharedStore ||
      opcode_class == OpcodeClass::kMatrixLoad || opcode_class == OpcodeClass::kMatrixStore) {
    phase["wavefronts.ldst"] += wavefronts;
    phase["wavefronts.ldst_ideal"] += ValueOf(count, kWavefrontsIdeal);
  }
}

/// Returns whether the FLOPs are known.
bool AddWork(const Instruction& instruction, const SassCount& count, PhaseVariables& phase) {
  const double executed = ValueOf(count, kExecuted);
  const double threads = ValueOf(count, kPredicateOn);
  const sass::Form form = sass::FormOf(instruction.opcode);
  const std::string name(sass::ClassName(sass::ClassOf(instruction.opcode)));
  phase["inst." + name] += executed;
  phase["thread_inst." + name] += threads;
  if (sass::IsHmma(instruction.opcode)) phase["inst.hmma"] += executed;
  if (form == sass::Form::kWarpgroupMatrix) phase["inst.gmma"] += executed;
  if (form == sass::Form::kMbarrier) phase["inst.mbarrier"] += executed;
  AddWavefronts(instruction.opcode, count, phase);
  const auto flops = sass::TensorFlops(instruction.opcode);
  phase["work.tensor_flops"] += flops.value_or(0.0) * executed;
  phase["work.flops"] += sass::ThreadFlops(instruction.opcode, instruction.operands) * threads;
  phase["work.exponentials"] += sass::ThreadExponentials(instruction.opcode) * threads;
  return flops.has_value();
}

/// Names of the SASS metrics that the phase catalogue reads.
std::set<std::string> SassNames() {
  std::set<std::string> names;
  for (const CatalogueMetric& metric : PhaseCatalogue()) {
    for (const std::string& name : FormulaNames(metric.formula)) {
      if (name.starts_with("sass.")) names.insert(name.substr(5));
    }
  }
  return names;
}

void AddZeroSamples(PhaseVariables& phase) {
  for (const char* name :
       {"samples.total", "samples.selected", "samples.waiting", "samples.uncharged", "time.samples"}) {
    phase.try_emplace(name, 0.0);
  }
}

void AddZeroCounts(const std::set<std::string>& unavailable, PhaseVariables& phase) {
  for (const std::string& name : SassNames()) {
    if (!unavailable.contains(name)) phase.try_emplace("sass." + name, 0.0);
  }
  for (int i = 0; i < sass::kOpcodeClasses; ++i) {
    const std::string name(sass::ClassName(static_cast<sass::OpcodeClass>(i)));
    phase.try_emplace("inst." + name, 0.0);
    phase.try_emplace("thread_inst." + name, 0.0);
  }
  for (const char* name :
       {"inst.hmma", "inst.gmma", "inst.mbarrier", "inst.polling", "wavefronts.ldst", "wavefronts.ldst_ideal",
        "wavefronts.ldgsts", "work.tensor_flops", "work.flops", "work.exponentials"}) {
    phase.try_emplace(name, 0.0);
  }
}

void AddSamples(const std::vector<LabelledFunction>& functions, const PcSampling& sampling, PhaseSums& sums) {
  std::map<std::int64_t, FunctionSamples> by_function;
  for (const PcSample& pc : sampling.samples) {
    const LabelledFunction* labelled = FindLabelled(functions, pc.function_id);
    if (labelled != nullptr) by_function.try_emplace(pc.function_id, *labelled, sums).first->second.Add(pc);
  }
  for (auto& [id, samples] : by_function) samples.ChargeBarriers();
  sums.sampled = !by_function.empty();
}

void AddCounts(const std::vector<LabelledFunction>& functions, const SassCounting& counting, PhaseSums& sums,
               Unknowns& unknowns) {
  std::map<std::int64_t, std::vector<bool>> polling;  // AsyncWaits() by function
  for (const SassCount& count : counting.counts) {
    const LabelledFunction* labelled = FindLabelled(functions, count.function_id);
    if (labelled == nullptr) continue;
    sums.counted = true;
    const auto index = IndexOf(*labelled->function, count.offset);
    const std::string& name = PhaseAt(*labelled, index);
    PhaseVariables& phase = sums.phases[name];
    for (const auto& [metric, value] : count.values) phase["sass." + metric] += static_cast<double>(value);
    if (!index || labelled->function->instructions[*index].opcode.empty()) {
      unknowns.opcodes.insert(name);
      continue;
    }
    const Instruction& instruction = labelled->function->instructions[*index];
    if (!AddWork(instruction, count, phase)) unknowns.shapes.insert(name);
    if (sass::IsBulkCopy(sass::FormOf(instruction.opcode))) unknowns.copies.insert(name);
    const auto [waits, first] = polling.try_emplace(labelled->function->id);
    if (first) waits->second = AsyncWaits(*labelled->function);
    if (waits->second[*index]) phase["inst.polling"] += ValueOf(count, kExecuted);
  }
}

}  // namespace

PhaseVariables PhaseSums::Whole() const {
  PhaseVariables whole;
  for (const auto& [phase, variables] : phases) {
    for (const auto& [name, value] : variables) whole[name] += value;
  }
  // A stall reason that a phase lacks did not occur there; any other variable that it lacks is unknown.
  std::erase_if(whole, [&](const auto& item) {
    if (item.first.starts_with("samples.")) return false;
    return std::ranges::any_of(phases, [&](const auto& phase) { return !phase.second.contains(item.first); });
  });
  return whole;
}

std::string_view ReasonAt(std::string_view reason, const Instruction* instruction) {
  const bool at_matrix = instruction != nullptr && sass::FormOf(instruction->opcode) == sass::Form::kWarpgroup;
  return reason == "barrier" && at_matrix ? "gmma" : reason;
}

PhaseSums SumPhases(const std::vector<LabelledFunction>& functions, const PcSampling* sampling,
                    const SassCounting* counting, const std::set<std::string>& unavailable) {
  PhaseSums sums;
  sums.phases[kUnattributed];
  Unknowns unknowns;
  if (sampling != nullptr) AddSamples(functions, *sampling, sums);
  if (counting != nullptr) AddCounts(functions, *counting, sums, unknowns);
  for (auto& [name, phase] : sums.phases) {
    if (sums.sampled) AddZeroSamples(phase);
    if (!sums.counted) continue;
    AddZeroCounts(unavailable, phase);
    const bool opaque = unknowns.opcodes.contains(name);
    if (opaque || unavailable.contains(kExecuted)) Forget(phase, {"inst.", "work.tensor_flops"});
    if (opaque || unavailable.contains(kPredicateOn))
      Forget(phase, {"thread_inst.", "work.flops", "work.exponentials"});
    if (opaque || unavailable.contains(kWavefronts) || unavailable.contains(kWavefrontsIdeal)) {
      Forget(phase, {"wavefronts."});
    }
    if (unknowns.shapes.contains(name)) Forget(phase, {"work.tensor_flops"});
    if (unknowns.copies.contains(name)) Forget(phase, {"sass.smsp__sass_sectors_mem_global"});
  }
  return sums;
}

}  // namespace fa_profile::analyze
