#pragma once

#include <cstddef>
#include <vector>

#include "control_flow.h"
#include "inference/step_budget.h"

namespace fa_profile::analyze {

using Edges = std::vector<std::vector<std::size_t>>;  ///< by block

/// A natural loop: everything that can get back to its header without passing it.
struct Loop {
  std::size_t header = 0;
  std::vector<std::size_t> blocks;  ///< sorted, the header among them
};

/// The control flow of one function, with what is needed to follow values through it.
struct Flow {
  ControlFlow graph;
  Edges successors;  ///< the graph's, plus calls to their subroutines; not to code for diverged threads
  Edges predecessors;
  Edges value_predecessors;        ///< also from a subroutine's RET to the place after each of its calls
  std::vector<std::size_t> order;  ///< blocks that run, each before its successors except for loops
  std::vector<Loop> loops;         ///< by header

  bool Dominates(std::size_t above, std::size_t block) const;  ///< both must run
  bool Runs(std::size_t block) const;                          ///< false for code for diverged threads

  std::vector<std::size_t> dominator_first;  ///< by block: interval of the dominator tree
  std::vector<std::size_t> dominator_last;
};

/// Stops early when `budget` is exhausted: then the result is incomplete.
Flow ReadFlow(const DeviceFunction& function, StepBudget& budget);

/// Blocks that can be reached from `starts` over one edge or more.
std::vector<bool> Reached(const std::vector<std::size_t>& starts, const Edges& edges, StepBudget& budget);

}  // namespace fa_profile::analyze
