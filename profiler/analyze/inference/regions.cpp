#include "inference/regions.h"

#include <algorithm>
#include <cstdint>
#include <set>

namespace fa_profile::analyze {
namespace {

/// By block: whether one of its instructions matches.
template <typename Is>
std::vector<bool> BlocksWith(const Flow& flow, const Is& is) {
  std::vector<bool> blocks(flow.graph.blocks.size(), false);
  for (std::size_t i = 0; i < flow.graph.block_of.size(); ++i) {
    if (is(i)) blocks[flow.graph.block_of[i]] = true;
  }
  return blocks;
}

bool Meet(const Loop& loop, const std::vector<bool>& blocks) {
  return std::ranges::any_of(loop.blocks, [&](std::size_t block) { return blocks[block]; });
}

std::vector<std::size_t> BlocksOf(const std::vector<bool>& blocks) {
  std::vector<std::size_t> indices;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (blocks[block]) indices.push_back(block);
  }
  return indices;
}

enum class Stored : std::uint8_t { kScores, kOutput, kOther };

/// What a global store writes, by the highest rank of its data. Unknown for a bulk copy.
Stored StoredBy(std::size_t store, Form form, const Values& values, const Ranks& ranks, StepBudget& budget) {
  Rank highest = Rank::kNone;
  const auto uses = values.UsesOf(store);
  budget.Spend(1 + uses.size());
  for (const ValueUse& use : uses) {
    if (IsData(use.role) && use.value != kNoValue) highest = std::max(highest, ranks.rank[use.value]);
  }
  if (form != Form::kGlobalStore || highest < Rank::kPartial) return Stored::kOther;
  return highest == Rank::kOutput ? Stored::kOutput : Stored::kScores;
}

/// The blocks of all loops that are not over tiles.
std::vector<bool> BlocksOfLoops(const Flow& flow, const std::vector<bool>& over_tiles) {
  std::vector<bool> inside(flow.graph.blocks.size(), false);
  for (std::size_t i = 0; i < flow.loops.size(); ++i) {
    if (over_tiles[i]) continue;
    for (const std::size_t block : flow.loops[i].blocks) inside[block] = true;
  }
  return inside;
}

/// A loop over keys of one of the roles: products with two results, or what takes scores or outputs out and puts
/// probabilities or outputs back.
bool ComputesWithTensorMemory(const Loop& loop, const std::vector<Operands>& operands, const Flow& flow,
                              const TensorMemory& tensor) {
  std::set<std::int64_t> results;
  bool loads = false;
  bool stores = false;
  for (const std::size_t block : loop.blocks) {
    for (std::size_t i = flow.graph.blocks[block].first; i < flow.graph.blocks[block].end; ++i) {
      const Form form = operands[i].form;
      if (form == Form::kTensorMemory && tensor.column[i]) results.insert(*tensor.column[i]);
      loads = loads || form == Form::kTensorLoad;
      stores = stores || form == Form::kTensorStore || form == Form::kExponential;
    }
  }
  return results.size() > 1 || (loads && stores);
}

}  // namespace

std::vector<bool> LoopsOverTiles(const std::vector<Operands>& operands, const Flow& flow, const TensorMemory& tensor) {
  const auto with = [&](const auto& is) {
    return BlocksWith(flow, [&](std::size_t i) { return is(operands[i].form); });
  };
  const std::vector<bool> stores = with(sass::IsGlobalStore);
  const std::vector<bool> exponentials = with([](Form form) { return form == Form::kExponential; });
  std::vector<bool> over_tiles;
  for (const Loop& loop : flow.loops) over_tiles.push_back(Meet(loop, stores) && Meet(loop, exponentials));
  if (!tensor.used) return over_tiles;
  for (const Loop& inner : flow.loops) {
    if (!ComputesWithTensorMemory(inner, operands, flow, tensor)) continue;
    for (std::size_t i = 0; i < flow.loops.size(); ++i) {
      const Loop& loop = flow.loops[i];
      if (&loop != &inner && std::ranges::binary_search(loop.blocks, inner.header)) over_tiles[i] = true;
    }
  }
  return over_tiles;
}

std::vector<bool> WithoutKeyLoops(std::vector<bool> over_tiles, const std::vector<Operands>& operands, const Flow& flow,
                                  const Values& values, const Ranks& ranks, StepBudget& budget) {
  std::vector<bool> outputs(flow.graph.blocks.size(), false);
  std::vector<bool> more_than_scores(flow.graph.blocks.size(), false);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::size_t block = flow.graph.block_of[i];
    if (!sass::IsGlobalStore(operands[i].form) || operands[i].never || !flow.Runs(block)) continue;
    const Stored stored = StoredBy(i, operands[i].form, values, ranks, budget);
    if (stored == Stored::kOutput) outputs[block] = true;
    if (stored != Stored::kScores) more_than_scores[block] = true;
  }
  for (std::size_t i = 0; i < flow.loops.size(); ++i) {
    const Loop& loop = flow.loops[i];
    if (!over_tiles[i] || Meet(loop, more_than_scores)) continue;
    const std::vector<bool> behind = Reached({loop.header}, flow.successors, budget);
    for (std::size_t block = 0; block < outputs.size(); ++block) {
      if (outputs[block] && behind[block]) over_tiles[i] = false;
    }
  }
  return over_tiles;
}

ForwardEdges WithinOneTile(const Flow& flow, const std::vector<bool>& over_tiles, const TensorMemory& tensor) {
  std::vector<bool> cut(flow.graph.blocks.size(), false);  // headers
  for (std::size_t i = 0; i < flow.loops.size(); ++i) {
    if (over_tiles[i]) cut[flow.loops[i].header] = true;
  }
  ForwardEdges forward;
  forward.successors.resize(flow.successors.size());
  forward.predecessors.resize(flow.successors.size());
  for (std::size_t block = 0; block < flow.successors.size(); ++block) {
    for (const std::size_t next : flow.successors[block]) {
      if (cut[next] && flow.Dominates(next, block)) continue;
      forward.successors[block].push_back(next);
      forward.predecessors[next].push_back(block);
    }
  }
  for (std::size_t block = 0; block < tensor.links.size(); ++block) {
    for (const std::size_t next : tensor.links[block]) {
      forward.successors[block].push_back(next);
      forward.predecessors[next].push_back(block);
    }
  }
  return forward;
}

ForwardEdges WithSharedProbabilities(const ForwardEdges& forward, const std::vector<Operands>& operands,
                                     const Flow& flow, const std::vector<bool>& over_tiles, const Memory& memory,
                                     const Ranks& ranks, StepBudget& budget) {
  const std::vector<bool> products = BlocksWith(flow, [&](std::size_t i) {
    return operands[i].form == Form::kTensorMemory && ranks.computes[i] == Computes::kPv && memory.sources[i].empty();
  });
  const std::vector<bool> before = Reached(BlocksOf(products), forward.predecessors, budget);
  const std::vector<bool> in_loops = BlocksOfLoops(flow, over_tiles);
  const std::vector<bool> stores = BlocksWith(flow, [&](std::size_t i) {
    const std::size_t block = flow.graph.block_of[i];
    return operands[i].form == Form::kSharedStore && ranks.rank[i] == Rank::kExponential &&
           (in_loops[block] || before[block]);
  });
  ForwardEdges linked = forward;
  for (const std::size_t from : BlocksOf(stores)) {
    for (const std::size_t to : BlocksOf(products)) {
      linked.successors[from].push_back(to);
      linked.predecessors[to].push_back(from);
    }
  }
  return linked;
}

Regions::Regions(const Flow& flow, const std::vector<bool>& over_tiles, const ForwardEdges& forward, const Ranks& ranks,
                 const TensorMemory& tensor, StepBudget& budget)
    : flow_(&flow) {
  const std::size_t count = flow.graph.blocks.size();
  const auto computing = [&](Computes what) {
    return BlocksWith(flow, [&](std::size_t i) { return ranks.computes[i] == what; });
  };
  const std::vector<bool> qk = computing(Computes::kQk);
  const std::vector<bool> pv = computing(Computes::kPv);
  std::vector<bool> products = qk;
  for (std::size_t block = 0; block < count; ++block) products[block] = qk[block] || pv[block];
  after_block_ = Reached(BlocksOf(products), forward.successors, budget);
  before_block_ = Reached(BlocksOf(products), forward.predecessors, budget);

  const std::size_t instructions = ranks.computes.size();
  first_product_.assign(count, instructions);
  behind_products_.assign(count, 0);
  for (std::size_t i = 0; i < instructions; ++i) {
    if (ranks.computes[i] != Computes::kQk && ranks.computes[i] != Computes::kPv) continue;
    const std::size_t block = flow.graph.block_of[i];
    first_product_[block] = std::min(first_product_[block], i);
    behind_products_[block] = i + 1;
  }

  key_loop_.assign(count, false);
  role_loop_ = tensor.used ? BlocksOfLoops(flow, over_tiles) : std::vector<bool>(count, false);
  for (std::size_t i = 0; i < flow.loops.size(); ++i) {
    if (!Meet(flow.loops[i], qk) || !Meet(flow.loops[i], pv)) continue;
    ++(over_tiles[i] ? tile_loops_ : key_loops_);
    if (over_tiles[i]) continue;
    for (const std::size_t block : flow.loops[i].blocks) key_loop_[block] = true;
  }

  const std::vector<bool> from_qk = Reached(BlocksOf(qk), tensor.used ? forward.successors : flow.successors, budget);
  const std::vector<bool> to_pv = Reached(BlocksOf(pv), tensor.used ? forward.predecessors : flow.predecessors, budget);
  for (std::size_t i = 0; i < instructions; ++i) {
    const std::size_t block = flow.graph.block_of[i];
    if (ranks.computes[i] != Computes::kExponential) continue;
    exponential_between_ = exponential_between_ || ((from_qk[block] || qk[block]) && (to_pv[block] || pv[block]));
  }
}

bool Regions::FollowsProduct(std::size_t instruction) const {
  const std::size_t block = flow_->graph.block_of[instruction];
  return after_block_[block] || instruction > first_product_[block];
}

bool Regions::PrecedesProduct(std::size_t instruction) const {
  const std::size_t block = flow_->graph.block_of[instruction];
  return before_block_[block] || instruction + 1 < behind_products_[block];
}

}  // namespace fa_profile::analyze
