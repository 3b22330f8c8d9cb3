#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>

#include "inference/phases_of_code.h"

namespace fa_profile::analyze {
namespace {

using Votes = std::array<double, kPhases>;
using PhaseSet = std::uint16_t;  // one bit per phase

bool IsStoreOnChip(Form form) {
  return form == Form::kSharedStore || form == Form::kLocalStore || form == Form::kSharedAtomic ||
         form == Form::kTensorStore;
}

PhaseSet Bit(Phase phase) { return static_cast<PhaseSet>(1U << static_cast<unsigned>(phase)); }

Phase Largest(const Votes& votes) {
  const auto found = std::ranges::max_element(votes);
  return *found > 0.0 ? static_cast<Phase>(found - votes.begin()) : Phase::kUnassigned;
}

class NeighbourAssigner {
 public:
  NeighbourAssigner(const CodeFacts& code, StepBudget& budget, Assignment& phases)
      : code_(code), budget_(budget), phases_(phases), size_(static_cast<std::uint32_t>(code.operands.size())) {}

  void Assign() {
    AssignStores();
    AssignPadding();
    AssignSetup();
    AskConsumers();
    AssignControl();
    AskConsumers();
    AssignRest();
  }

 private:
  /// A store of a computed value belongs to the phase that computed it; a store of a loaded one to the load.
  void AssignStores() {
    for (std::uint32_t i = 0; i < size_ && budget_.Spend(); ++i) {
      if (!IsStoreOnChip(code_.operands[i].form) || phases_.Has(i)) continue;
      const Rank rank = code_.ranks.rank[i];
      if (rank >= Rank::kPartial) {
        AssignComputedStore(i, rank);
      } else if (rank == Rank::kGlobal && code_.operands[i].form == Form::kSharedStore) {
        const Phase loaded = PhaseOfLoadBehind(i);
        const Phase nearest = code_.regions.InKeyLoop(i) ? Phase::kLoadKv : Phase::kLoadQ;
        phases_.Set(i, loaded == Phase::kUnassigned ? nearest : loaded,
                    loaded == Phase::kUnassigned ? InferenceGrade::kGuess : InferenceGrade::kDerived, "stored");
      }
    }
  }

  void AssignComputedStore(std::uint32_t i, Rank rank) {
    if (!code_.regions.PrecedesProduct(i)) {
      phases_.Set(i, Phase::kEpilogue, InferenceGrade::kDerived, "stored");
      return;
    }
    Votes votes{};
    for (const ValueUse& use : code_.values.UsesOf(i)) {
      if (!IsData(use.role)) continue;
      for (const std::uint32_t made : code_.values.DefinitionsOf(use.value, budget_)) {
        const bool decides = phases_.Has(made) && code_.ranks.rank[made] == rank;
        if (decides) votes[static_cast<std::size_t>(phases_.Of(made))] += 1.0;
      }
    }
    Phase phase = Largest(votes);
    if (phase == Phase::kUnassigned) {
      phase = rank == Rank::kPartial ? Phase::kQk : rank == Rank::kOutput ? Phase::kPv : Phase::kSoftmax;
    }
    phases_.Set(i, phase, InferenceGrade::kDerived, "stored");
  }

  Phase PhaseOfLoadBehind(std::uint32_t store) {
    std::vector<bool> seen(code_.values.instructions(), false);
    std::vector<std::uint32_t> pending{store};
    while (!pending.empty() && budget_.Spend(10)) {
      const std::uint32_t i = pending.back();
      pending.pop_back();
      for (const ValueUse& use : code_.values.UsesOf(i)) {
        if (!IsData(use.role)) continue;
        for (const std::uint32_t made : code_.values.DefinitionsOf(use.value, budget_)) {
          if (seen[made]) continue;
          seen[made] = true;
          if (code_.operands[made].form == Form::kGlobalLoad && phases_.Has(made)) return phases_.Of(made);
          pending.push_back(made);
        }
      }
    }
    return Phase::kUnassigned;
  }

  /// "@!PT LDS RZ, [RZ]", which ptxas puts before LDGSTS.
  void AssignPadding() {
    constexpr std::uint32_t kNearby = 40;
    for (std::uint32_t i = 0; i < size_; ++i) {
      if (!code_.operands[i].never || code_.operands[i].form != Form::kSharedLoad) continue;
      const std::uint32_t end = std::min(size_, i + kNearby);
      for (std::uint32_t copy = i + 1; copy < end && budget_.Spend(); ++copy) {
        if (code_.operands[copy].form != Form::kAsyncCopy) continue;
        phases_.Set(i, phases_.Of(copy), InferenceGrade::kDerived, "padding");
        break;
      }
    }
  }

  /// The instructions that use an instruction's result, directly or through shared memory.
  template <typename Take>
  void ForConsumers(std::uint32_t i, const Take& take) {
    const auto consumers = code_.values.ConsumersOf(i);
    budget_.Spend(consumers.size() + code_.memory.readers[i].size());
    for (const Consumer& consumer : consumers) {
      if (consumer.instruction != i) take(consumer.instruction);
    }
    for (const std::uint32_t load : code_.memory.readers[i]) take(load);
  }

  /// Whether its result is used in no value: an address, a counter, a condition.
  bool IsAddressing(std::uint32_t i) const {
    const Form form = code_.operands[i].form;
    if (sass::IsControl(form) || IsStoreOnChip(form) || code_.ranks.rank[i] > Rank::kGlobal) return false;
    return form == Form::kAddress || form == Form::kCompare || sass::IsMove(form) || form == Form::kOther ||
           form == Form::kGlobalLoad;
  }

  /// Addresses and conditions outside loops, before the products: those that serve several phases are setup.
  void AssignSetup() {
    std::vector<PhaseSet> serves(size_, 0);
    bool changed = true;
    constexpr int kMostRounds = 50;
    for (int round = 0; changed && round < kMostRounds; ++round) {
      changed = false;
      for (std::uint32_t i = size_; i-- > 0;) {
        if (phases_.Has(i) || !budget_.Spend()) continue;
        PhaseSet all = serves[i];
        ForConsumers(i, [&](std::uint32_t user) { all |= phases_.Has(user) ? Bit(phases_.Of(user)) : serves[user]; });
        changed = changed || all != serves[i];
        serves[i] = all;
      }
    }
    for (std::uint32_t i = 0; i < size_; ++i) {
      const PhaseSet set = serves[i] & static_cast<PhaseSet>(~Bit(Phase::kSync));
      const bool several = (set & (set - 1)) != 0;
      const bool in_loop = code_.regions.InKeyLoop(i) || code_.regions.InRoleLoop(i);
      const bool before = !code_.regions.FollowsProduct(i) && !in_loop;
      if (several && before && !phases_.Has(i) && IsAddressing(i))
        phases_.Set(i, Phase::kSetup, InferenceGrade::kDerived, "shared");
    }
  }

  /// For code on tensor memory, of equally many, the nearest: its uniform registers are defined under predicates that
  /// are always true, so that far uses seem to see what was there before.
  Phase PhaseOfConsumers(std::uint32_t i) {
    const double nearness = code_.tensor.used ? 1e-3 : 0.0;
    Votes votes{};
    ForConsumers(i, [&](std::uint32_t user) {
      const Phase phase = phases_.Of(user);
      if (phase != Phase::kUnassigned && phase != Phase::kSetup) {
        const double distance = user > i ? user - i : size_;
        votes[static_cast<std::size_t>(phase)] += std::max(code_.weight[user], 1e-9) * (1.0 + nearness / distance);
      }
    });
    const Phase phase = Largest(votes);
    if (phase != Phase::kSync) return phase;
    votes[static_cast<std::size_t>(Phase::kSync)] = 0.0;  // what barriers need is mostly computed for something else
    const Phase other = Largest(votes);
    return other == Phase::kUnassigned ? phase : other;
  }

  void AskConsumers() {
    bool changed = true;
    constexpr int kMostRounds = 30;
    for (int round = 0; changed && round < kMostRounds; ++round) {
      changed = false;
      for (std::uint32_t i = size_; i-- > 0;) {
        if (phases_.Has(i) || IsControl(code_.operands[i].form) || !budget_.Spend()) continue;
        const Phase phase = PhaseOfConsumers(i);
        if (phase == Phase::kUnassigned) continue;
        phases_.Set(i, phase, InferenceGrade::kDerived, "consumers");
        changed = true;
      }
    }
  }

  std::optional<std::uint32_t> TargetOf(std::uint32_t i) const {
    const std::string_view operands = code_.function.instructions[i].operands;
    const std::size_t at = operands.rfind("0x");
    if (at == std::string_view::npos) return std::nullopt;
    std::uint32_t offset = 0;
    const char* const end = operands.data() + operands.size();
    const auto [rest, error] = std::from_chars(operands.data() + at + 2, end, offset, 16);
    const auto& all = code_.function.instructions;
    const auto found = std::ranges::lower_bound(all, offset, {}, &Instruction::offset);
    if (error != std::errc{} || rest != end || found == all.end() || found->offset != offset) return std::nullopt;
    return static_cast<std::uint32_t>(found - all.begin());
  }

  /// Counts, for each instruction, the instructions of each phase before it.
  void CountPhases() {
    before_.assign(size_ + 1, {});
    for (std::uint32_t i = 0; i < size_; ++i) {
      before_[i + 1] = before_[i];
      ++before_[i + 1][static_cast<std::size_t>(phases_.Of(i))];
    }
  }

  /// The majority phase in [begin, end); kUnassigned if no phase has 60 % of the assigned ones.
  Phase PhaseOfMost(std::uint32_t begin, std::uint32_t end) const {
    constexpr double kMost = 0.6;
    Votes votes{};
    double all = 0.0;
    for (std::size_t phase = 1; phase < kPhases; ++phase) {
      votes[phase] = static_cast<double>(before_[end][phase] - before_[begin][phase]);
      all += votes[phase];
    }
    const Phase phase = Largest(votes);
    return votes[static_cast<std::size_t>(phase)] >= kMost * all ? phase : Phase::kUnassigned;
  }

  void AssignControl() {
    CountPhases();
    for (std::uint32_t i = 0; i < size_ && budget_.Spend(); ++i) {
      const Form form = code_.operands[i].form;
      if (phases_.Has(i)) continue;
      if (sass::IsBranch(form)) {
        AssignBranch(i);
      } else if (form == Form::kRegionBegin) {
        const auto target = TargetOf(i);
        if (target && *target > i) phases_.Set(i, PhaseOfMost(i, *target), InferenceGrade::kGuess, "region");
      } else if ((sass::IsConvergence(form) || code_.operands[i].never) && i > 0) {
        phases_.Set(i, phases_.Of(i - 1), InferenceGrade::kGuess, "neighbour");
      }
    }
  }

  void AssignBranch(std::uint32_t i) {
    for (const ValueUse& use : code_.values.UsesOf(i)) {
      for (const std::uint32_t asked : code_.values.DefinitionsOf(use.value, budget_)) {
        if (code_.operands[asked].form == Form::kMbarrier) {
          phases_.Set(i, Phase::kSync, InferenceGrade::kGuess, "branch");
          return;
        }
      }
    }
    const auto target = TargetOf(i);
    if (!target || *target == i) return;
    if (code_.function.instructions[i].predicate.empty() && i > 0 && phases_.Of(i - 1) == Phase::kSync) {
      phases_.Set(i, Phase::kSync, InferenceGrade::kGuess, "branch");
      return;
    }
    phases_.Set(i, PhaseOfMost(std::min(*target, i), std::max(*target, i)), InferenceGrade::kGuess, "branch");
  }

  /// After the last product everything is epilogue; addresses and conditions before the first one are setup. Code for
  /// diverged threads is at the end of the function, and is neither.
  void AssignRest() {
    for (std::uint32_t i = 0; i < size_; ++i) {
      if (phases_.Has(i) || code_.operands[i].never || !code_.flow.Runs(code_.flow.graph.block_of[i])) continue;
      const bool follows = code_.regions.FollowsProduct(i);
      if (follows && !code_.regions.PrecedesProduct(i))
        phases_.Set(i, Phase::kEpilogue, InferenceGrade::kGuess, "last");
      if (!follows && code_.regions.PrecedesProduct(i) && IsAddressing(i)) {
        phases_.Set(i, Phase::kSetup, InferenceGrade::kGuess, "first");
      }
    }
  }

  const CodeFacts& code_;
  StepBudget& budget_;
  Assignment& phases_;
  std::uint32_t size_;
  std::vector<std::array<std::uint32_t, kPhases>> before_;
};

}  // namespace

void AssignByNeighbours(const CodeFacts& code, StepBudget& budget, Assignment& phases) {
  NeighbourAssigner(code, budget, phases).Assign();
}

}  // namespace fa_profile::analyze
