#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fa_profile/opcodes.h"
#include "inference/flow.h"
#include "inference/operands.h"
#include "inference/step_budget.h"
#include "inference/values.h"

namespace fa_profile::analyze {

/// Which instruction writes what another reads in tensor memory, Blackwell's memory for results and operands of matrix
/// instructions: lanes, and in each 512 columns of 32 bits. Columns are the constant parts of addresses, as in shared
/// memory; the rest, the allocation's base and a warp's lanes, is the same for all. Writers and readers are often
/// different warps, so the control flow does not say which of two writers of a column was last: what is read does.
struct TensorMemory {
  bool used = false;  ///< without matrix instructions on tensor memory everything below is empty

  // By instruction.
  std::vector<std::vector<std::uint32_t>> sources;  ///< LDTM: what wrote it; product: what wrote A
  std::vector<std::vector<std::uint32_t>> sums;     ///< product: what wrote the result that it is added to
  std::vector<std::vector<std::uint32_t>> readers;  ///< what reads its result
  std::vector<std::optional<sass::ProductShape>> shape;
  std::vector<std::optional<std::int64_t>> column;  ///< the first one accessed; a product's: of its result

  /// From blocks that write to blocks that read: the way of values between warps with different roles.
  Edges links;
};

/// Incomplete when `budget` is exhausted.
TensorMemory ReadTensorMemory(const DeviceFunction& function, const std::vector<Operands>& operands, const Flow& flow,
                              const Values& values, StepBudget& budget);

}  // namespace fa_profile::analyze
