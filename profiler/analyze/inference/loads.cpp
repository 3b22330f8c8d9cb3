#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <map>
#include <string_view>

#include "inference/constant_parts.h"
#include "inference/phases_of_code.h"

namespace fa_profile::analyze {
namespace {

/// Kernel parameters that are addresses, one bit each.
using Pointers = std::uint64_t;

bool IsProductOf(const CodeFacts& code, std::size_t i) {
  return code.ranks.computes[i] == Computes::kQk || code.ranks.computes[i] == Computes::kPv;
}

class LoadAssigner {
 public:
  LoadAssigner(const CodeFacts& code, StepBudget& budget) : code_(code), budget_(budget) {}

  void Assign(Assignment& phases) {
    const std::vector<bool> feeds = FeedingProducts();
    std::vector<std::uint32_t> loads;
    for (std::uint32_t i = 0; i < code_.operands.size(); ++i) {
      const Form form = code_.operands[i].form;
      const bool copies = form == Form::kAsyncCopy || form == Form::kBulkLoad;
      if (copies || (form == Form::kGlobalLoad && feeds[i])) loads.push_back(i);
    }
    if (loads.empty()) return;
    const std::vector<std::uint32_t> inner = Innermost(loads);
    FindPointers();
    ConstantParts parts(code_.function, code_.values, budget_);
    std::map<std::uint32_t, Pointers> pointers;
    Pointers common = ~Pointers{0};
    for (const std::uint32_t load : loads) {
      pointers[load] = PointersOf(load) | TensorMapOf(load, parts);
      common &= pointers[load];
    }
    for (const std::uint32_t load : loads) {
      if (std::ranges::binary_search(inner, load)) {
        phases.Set(load, Phase::kLoadKv, InferenceGrade::kDirect, "load");
        continue;
      }
      const Pointers own = pointers[load] & ~common;
      const bool shared = std::ranges::any_of(inner, [&](std::uint32_t kv) {
        return budget_.Spend() && 2 * std::popcount(own & pointers[kv]) > std::popcount(own);
      });
      phases.Set(load, shared ? Phase::kLoadKv : Phase::kLoadQ, InferenceGrade::kDerived, "pointer");
    }
    AssignQuery(feeds, phases);
    AssignPrepared(feeds, phases);
  }

 private:
  /// Loads in the key loop; if there are none, those in the deepest loop of all.
  std::vector<std::uint32_t> Innermost(const std::vector<std::uint32_t>& loads) const {
    std::vector<std::uint32_t> inner;
    int deepest = 0;
    for (const std::uint32_t load : loads) {
      if (code_.regions.InKeyLoop(load)) inner.push_back(load);
      deepest = std::max(deepest, code_.flow.graph.loop_depth[load]);
    }
    if (!inner.empty() || deepest == 0) return inner;
    std::ranges::copy_if(loads, std::back_inserter(inner),
                         [&](std::uint32_t load) { return code_.flow.graph.loop_depth[load] == deepest; });
    return inner;
  }

  bool MadeInKeyLoop(const std::vector<std::uint32_t>& definitions) const {
    return std::ranges::any_of(definitions, [&](std::uint32_t made) { return code_.regions.InKeyLoop(made); });
  }

  /// A factor of a product in the key loop that is made before the loop is Q: K and V change from round to round. Code
  /// there that reads it from shared memory, scales, converts or rotates it is load_q.
  void AssignQuery(const std::vector<bool>& feeds, Assignment& phases) {
    std::vector<bool> seen(code_.values.instructions(), false);
    std::vector<std::uint32_t> pending;
    const auto add_factors = [&](std::uint32_t i, bool only_factors) {
      for (const ValueUse& use : code_.values.UsesOf(i)) {
        if (!IsData(use.role) || (only_factors && use.role == Role::kC)) continue;
        if (code_.ranks.rank[use.value] != Rank::kGlobal) continue;
        const std::vector<std::uint32_t> definitions = code_.values.DefinitionsOf(use.value, budget_);
        if (MadeInKeyLoop(definitions)) continue;
        for (const std::uint32_t made : definitions) {
          if (!feeds[made] || seen[made]) continue;
          seen[made] = true;
          pending.push_back(made);
        }
      }
    };
    for (std::uint32_t i = 0; i < code_.operands.size() && budget_.Spend(); ++i) {
      if (code_.ranks.computes[i] == Computes::kQk && code_.regions.InKeyLoop(i)) add_factors(i, true);
    }
    while (!pending.empty() && budget_.Spend(10)) {
      const std::uint32_t i = pending.back();
      pending.pop_back();
      phases.Set(i, Phase::kLoadQ, InferenceGrade::kDerived, "query");
      add_factors(i, false);
    }
  }

  /// Assembling loaded values, such as halves of two rows for a fragment, belongs to the load. Arithmetic on them does
  /// not: a conversion goes with what needs it.
  void AssignPrepared(const std::vector<bool>& feeds, Assignment& phases) {
    bool changed = true;
    constexpr int kMostRounds = 20;
    for (int round = 0; changed && round < kMostRounds; ++round) {
      changed = false;
      for (std::uint32_t i = 0; i < code_.operands.size() && budget_.Spend(); ++i) {
        if (!feeds[i] || phases.Has(i) || code_.ranks.rank[i] != Rank::kGlobal) continue;
        if (!sass::IsMove(code_.operands[i].form)) continue;
        const Phase phase = PhaseOfLoadedOperands(i, phases);
        if (phase == Phase::kUnassigned) continue;
        phases.Set(i, phase, InferenceGrade::kDerived, "prepared");
        changed = true;
      }
    }
  }

  /// The phase of all loaded operands; kUnassigned if they differ or one has none.
  Phase PhaseOfLoadedOperands(std::uint32_t i, const Assignment& phases) {
    Phase phase = Phase::kUnassigned;
    for (const ValueUse& use : code_.values.UsesOf(i)) {
      if (!IsData(use.role) || code_.ranks.rank[use.value] != Rank::kGlobal) continue;
      for (const std::uint32_t made : code_.values.DefinitionsOf(use.value, budget_)) {
        if (code_.ranks.rank[made] != Rank::kGlobal) continue;
        if (phase == Phase::kUnassigned) phase = phases.Of(made);
        if (phases.Of(made) != phase) return Phase::kUnassigned;
      }
    }
    return phase;
  }

  /// By instruction: whether its loaded value becomes a factor of a product. Scores are not followed, so a loaded bias
  /// or mask feeds none.
  std::vector<bool> FeedingProducts() {
    std::vector<bool> feeds(code_.values.instructions(), false);
    std::vector<bool> seen(code_.values.size(), false);
    std::vector<Value> pending;
    const auto add = [&](Value value) {
      if (value == kNoValue || seen[value] || code_.ranks.rank[value] != Rank::kGlobal) return;
      seen[value] = true;
      pending.push_back(value);
    };
    bool reads_shared_memory = false;  // operands of warpgroup matrix instructions are not followed
    for (std::uint32_t i = 0; i < code_.operands.size(); ++i) {
      if (!IsProductOf(code_, i)) continue;
      reads_shared_memory = reads_shared_memory || code_.operands[i].form == Form::kWarpgroupMatrix;
      for (const ValueUse& use : code_.values.UsesOf(i)) {
        if (IsData(use.role)) add(use.value);
      }
    }
    for (std::uint32_t i = 0; reads_shared_memory && i < code_.operands.size(); ++i) {
      if (code_.operands[i].form == Form::kSharedStore) add(i);
    }
    while (!pending.empty() && budget_.Spend()) {
      const Value value = pending.back();
      pending.pop_back();
      if (code_.values.IsJoin(value)) {
        for (const Value input : code_.values.InputsOf(value)) add(input);
        continue;
      }
      feeds[value] = true;
      for (const ValueUse& use : code_.values.UsesOf(value)) {
        if (IsData(use.role)) add(use.value);
      }
      for (const std::uint32_t store : code_.memory.sources[value]) add(store);
    }
    return feeds;
  }

  /// The register that "desc[UR4]" holds a descriptor in, the same for all addresses.
  static std::optional<Slot> DescriptorOf(std::string_view operands) {
    constexpr std::string_view kDescriptor = "desc[";
    const std::size_t at = operands.find(kDescriptor);
    return at == std::string_view::npos ? std::nullopt : ReadSlot(operands.substr(at + kDescriptor.size()));
  }

  /// The parameters that each value is derived from. Loaded pointers are not followed further back.
  void FindPointers() {
    made_of_.assign(code_.values.size(), 0);
    constexpr int kMostRounds = 20;
    bool changed = true;
    for (int round = 0; changed && round < kMostRounds; ++round) {
      changed = false;
      for (const Value value : code_.values.order()) {
        Pointers pointers = 0;
        if (code_.values.IsJoin(value)) {
          if (!budget_.Spend(code_.values.InputsOf(value).size())) return;
          for (const Value input : code_.values.InputsOf(value)) pointers |= made_of_[input];
        } else {
          if (round == 0) AddParameters(code_.function.instructions[value], value);
          pointers = made_of_[value];
          const auto uses = code_.values.UsesOf(value);
          if (!budget_.Spend(1 + uses.size())) return;
          for (const ValueUse& use : uses) {
            const bool follow = use.role != Role::kGuard && code_.operands[value].form != Form::kGlobalLoad;
            if (follow) pointers |= made_of_[use.value];
          }
        }
        changed = changed || pointers != made_of_[value];
        made_of_[value] = pointers;
      }
    }
  }

  /// For a copy by TMA, "[UR16], [UR26]": its tensor map, by where it is among the parameters.
  Pointers TensorMapOf(std::uint32_t load, ConstantParts& parts) {
    const std::vector<std::string_view> texts = SplitOperands(code_.function.instructions[load].operands);
    if (code_.operands[load].form != Form::kBulkLoad || texts.size() < 2) return 0;
    const std::int64_t place = parts.OfAddress(load, texts[1]);
    const auto number =
        parameters_.try_emplace(kFirstTensorMap + static_cast<std::uint32_t>(place), parameters_.size());
    return Bit(number.first->second);
  }

  Pointers PointersOf(std::uint32_t load) const {
    const auto descriptor = DescriptorOf(code_.function.instructions[load].operands);
    Pointers pointers = 0;
    for (const ValueUse& use : code_.values.UsesOf(load)) {
      if (use.role == Role::kAddress && use.slot != descriptor) pointers |= made_of_[use.value];
    }
    return pointers;
  }

  /// Parameters with 64 bits, or that are added to something: "c[0x0][0x228]".
  void AddParameters(const Instruction& instruction, Value value) {
    constexpr std::string_view kBank = "c[0x0][0x";
    const sass::IntegerOp op = sass::FindOpcode(instruction.opcode).traits.integer;
    const bool adds = op == sass::IntegerOp::kAdd || op == sass::IntegerOp::kShiftAdd;
    if (!adds && !sass::Makes64Bits(instruction.opcode)) return;
    const std::string_view operands = instruction.operands;
    for (std::size_t at = operands.find(kBank); at != std::string_view::npos; at = operands.find(kBank, at + 1)) {
      std::uint32_t offset = 0;
      const char* const begin = operands.data() + at + kBank.size();
      const auto [end, error] = std::from_chars(begin, operands.data() + operands.size(), offset, 16);
      constexpr std::uint32_t kPointerBytes = 8;
      if (error != std::errc{} || end == begin) continue;
      const auto number = parameters_.try_emplace(offset / kPointerBytes, parameters_.size()).first->second;
      made_of_[value] |= Bit(number);
    }
  }

  static Pointers Bit(std::size_t number) {
    return Pointers{1} << std::min<std::size_t>(number, 63);  // no kernel has more that matter
  }

  static constexpr std::uint32_t kFirstTensorMap = 1U << 20U;  // numbers of tensor maps follow those of all pointers

  const CodeFacts& code_;
  StepBudget& budget_;
  std::map<std::uint32_t, std::size_t> parameters_;  // their numbers, by offset
  std::vector<Pointers> made_of_;                    // by value
};

}  // namespace

void AssignLoads(const CodeFacts& code, StepBudget& budget, Assignment& phases) {
  LoadAssigner(code, budget).Assign(phases);
}

}  // namespace fa_profile::analyze
