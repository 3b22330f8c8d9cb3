#pragma once

#include <cstddef>
#include <vector>

#include "inference/flow.h"
#include "inference/operands.h"
#include "inference/ranks.h"
#include "inference/step_budget.h"
#include "inference/tensor_memory.h"
#include "inference/values.h"

namespace fa_profile::analyze {

/// The edges of the control flow without those that begin the next tile of queries.
struct ForwardEdges {
  Edges successors;
  Edges predecessors;
};

/// By loop: whether it holds both exponentials and global stores, like a persistent kernel's round for the next tile.
/// With tensor memory each role of warps has such a loop, and stores are only in one: there also loops around another
/// that computes with tensor memory.
std::vector<bool> LoopsOverTiles(const std::vector<Operands>& operands, const Flow& flow, const TensorMemory& tensor);

/// `over_tiles` without loops over keys that store scores or probabilities, as in FlashAttention 2 with return_softmax:
/// those that store nothing else, with an output after them.
std::vector<bool> WithoutKeyLoops(std::vector<bool> over_tiles, const std::vector<Operands>& operands, const Flow& flow,
                                  const Values& values, const Ranks& ranks, StepBudget& budget);

/// Leaves out the back edges of loops over tiles, because results for one tile do not reach the next. Adds the links of
/// tensor memory.
ForwardEdges WithinOneTile(const Flow& flow, const std::vector<bool>& over_tiles, const TensorMemory& tensor);

/// `forward` with the way of probabilities that reach PV through shared memory: from their stores, in a loop or before
/// a product, to products on tensor memory. Which of the stores such a product reads is not followed, but it reads one.
ForwardEdges WithSharedProbabilities(const ForwardEdges& forward, const std::vector<Operands>& operands,
                                     const Flow& flow, const std::vector<bool>& over_tiles, const Memory& memory,
                                     const Ranks& ranks, StepBudget& budget);

/// Where a function's products are, and what surrounds them.
class Regions {
 public:
  Regions(const Flow& flow, const std::vector<bool>& over_tiles, const ForwardEdges& forward, const Ranks& ranks,
          const TensorMemory& tensor, StepBudget& budget);

  /// Whether the instruction can run after a product and before one, of the same tile.
  bool FollowsProduct(std::size_t instruction) const;
  bool PrecedesProduct(std::size_t instruction) const;

  /// Whether it is in a loop that holds both products, without a loop over tiles.
  bool InKeyLoop(std::size_t instruction) const { return key_loop_[flow_->graph.block_of[instruction]]; }
  /// Whether it is in a loop of a role that works for the products on tensor memory, without loops over tiles.
  bool InRoleLoop(std::size_t instruction) const { return role_loop_[flow_->graph.block_of[instruction]]; }
  int key_loops() const { return key_loops_; }
  /// Loops that hold both products, but are assumed to be over tiles.
  int tile_loops() const { return tile_loops_; }

  /// Whether an exponential follows a QK product, and a PV product an exponential.
  bool ExponentialBetween() const { return exponential_between_; }

 private:
  const Flow* flow_;
  std::vector<bool> after_block_;             // a product is in an earlier block
  std::vector<bool> before_block_;            // a product is in a later block
  std::vector<std::size_t> first_product_;    // by block; the number of instructions if there is none
  std::vector<std::size_t> behind_products_;  // by block: the instruction after the last product, 0 if there is none
  std::vector<bool> key_loop_;
  std::vector<bool> role_loop_;
  int key_loops_ = 0;
  int tile_loops_ = 0;
  bool exponential_between_ = false;
};

}  // namespace fa_profile::analyze
