#include "inference/key_tile.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "inference/groups_left.h"

namespace fa_profile::analyze {
namespace {

class TileReader {
 public:
  TileReader(const CodeFacts& code, const Assignment& phases, StepBudget& budget, const Loop& loop)
      : code_(code), phases_(phases), budget_(budget), loop_(loop) {
    for (const std::size_t block : loop.blocks) {
      const BasicBlock& basic = code.flow.graph.blocks[block];
      for (std::size_t i = basic.first; i < basic.end; ++i) instructions_.push_back(static_cast<std::uint32_t>(i));
    }
    budget_.Spend(instructions_.size());
  }

  bool HoldsExponentials() const {
    return std::ranges::any_of(instructions_,
                               [&](auto i) { return code_.ranks.computes[i] == Computes::kExponential; });
  }

  KeyTile Read() {
    KeyTile tile;
    double softmax = 0.0;
    for (const std::uint32_t i : instructions_) {
      if (code_.operands[i].never) continue;
      if (phases_.Of(i) == Phase::kSoftmax) softmax += code_.rounds.times[i];
      if (code_.ranks.computes[i] == Computes::kExponential) {
        tile.exponentials += sass::ThreadExponentials(code_.function.instructions[i].opcode) * code_.rounds.times[i];
      }
    }
    tile.softmax_instructions = static_cast<int>(std::lround(std::min(softmax, 1e9)));
    tile.rescale = Rescale();
    tile.rounds_known = RoundsKnown();
    tile.overlaps_exponentials = Overlaps();
    return tile;
  }

 private:
  /// Whether every round of the loop runs the block.
  bool RunsInEveryRound(std::size_t block) const {
    return std::ranges::all_of(code_.flow.predecessors[loop_.header], [&](std::size_t before) {
      return !std::ranges::binary_search(loop_.blocks, before) || code_.flow.Dominates(block, before);
    });
  }

  /// A tile that a warp skips (because of a causal mask) is skipped entirely: rescaling in the same block as an
  /// exponential or a product, or on every path to one, happens in every computed tile.
  const char* Rescale() const {
    bool some = false;
    std::set<std::size_t> computing;  // blocks
    for (const std::uint32_t i : instructions_) {
      const Computes computes = code_.ranks.computes[i];
      const bool computes_tile =
          computes == Computes::kExponential || computes == Computes::kQk || computes == Computes::kPv;
      if (computes_tile && !code_.operands[i].guard) computing.insert(code_.flow.graph.block_of[i]);
    }
    const auto in_every_tile = [&](std::size_t block) {
      return RunsInEveryRound(block) || std::ranges::any_of(computing, [&](std::size_t other) {
               return block == other || code_.flow.Dominates(block, other);
             });
    };
    for (const std::uint32_t i : instructions_) {
      const Computes computes = code_.ranks.computes[i];
      if (computes != Computes::kRescale && computes != Computes::kScale) continue;
      if (phases_.Of(i) != Phase::kRescale || code_.operands[i].never) continue;
      if (!code_.operands[i].guard && in_every_tile(code_.flow.graph.block_of[i])) return "every tile";
      some = true;
    }
    return some ? "some tiles" : "never";
  }

  bool RoundsKnown() const {
    const std::vector<Loop>& loops = code_.flow.loops;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (code_.rounds.is_unknown[i] && std::ranges::binary_search(loop_.blocks, loops[i].header)) return false;
    }
    return true;
  }

  /// In code order, twice around: what was begun in one round may be waited for in the next.
  std::optional<bool> Overlaps() const {
    std::size_t running = 0;  // groups of products that are running
    bool asynchronous = false;
    for (int round = 0; round < 2; ++round) {
      for (const std::uint32_t i : instructions_) {
        const Instruction& instruction = code_.function.instructions[i];
        const Form form = code_.operands[i].form;
        if (form == Form::kWarpgroupMatrix) {
          asynchronous = true;
          if (EndsGroup(instruction)) ++running;
        } else if (sass::WaitsForProducts(instruction.opcode)) {
          running = std::min(running, GroupsLeft(instruction.operands));
        } else if (code_.ranks.computes[i] == Computes::kExponential && running > 0) {
          return true;
        }
      }
    }
    return asynchronous ? std::optional(false) : std::nullopt;
  }

  const CodeFacts& code_;
  const Assignment& phases_;
  StepBudget& budget_;
  const Loop& loop_;
  std::vector<std::uint32_t> instructions_;
};

}  // namespace

std::optional<KeyTile> ReadKeyTile(const CodeFacts& code, const Assignment& phases, StepBudget& budget) {
  std::optional<KeyTile> least;
  const std::vector<Loop>& loops = code.flow.loops;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (!code.rounds.is_outer[i]) continue;
    bool innermost = true;
    for (std::size_t other = 0; other < loops.size() && innermost; ++other) {
      if (!budget.Spend()) return std::nullopt;
      innermost = other == i || !code.rounds.is_outer[other] ||
                  !std::ranges::binary_search(loops[i].blocks, loops[other].header);
    }
    TileReader reader(code, phases, budget, loops[i]);
    if (!innermost || !reader.HoldsExponentials()) continue;
    KeyTile tile = reader.Read();
    if (!least || tile.softmax_instructions < least->softmax_instructions) least = std::move(tile);
  }
  return least;
}

}  // namespace fa_profile::analyze
