#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "fa_profile/recording.h"
#include "inference/flow.h"
#include "inference/operands.h"
#include "inference/step_budget.h"
#include "inference/values.h"

namespace fa_profile::analyze {

/// Distinguishes the uses of one buffer of shared memory by program order.
///
/// A kernel that stages its output where K was copies K again for the next tile, often under a condition: "if there is
/// another tile, copy it; wait; load". On the path without the copy the load seems to read the output, but nothing uses
/// what it loads there. So a computed and stored value does not reach a load if a copy from global memory and a barrier
/// come between them, and vice versa.
class Overwrites {
 public:
  /// `forward`: the edges along which a value in memory is followed.
  Overwrites(const DeviceFunction& function, const std::vector<Operands>& operands, const Flow& flow,
             const Edges& forward, const Values& values, StepBudget& budget);

  /// Those of `stores`, which are sorted and may all be the newest of a buffer before `load`, that none of the others
  /// overwrites. Never empty unless `stores` is.
  std::vector<std::uint32_t> Left(const std::vector<std::uint32_t>& stores, std::uint32_t load);

 private:
  /// What a store puts into memory.
  enum class Kind : std::uint8_t { kConstant, kCopied, kComputed };
  /// Stores of one kind in one block without a barrier between them.
  struct Group {
    Kind kind = Kind::kConstant;
    std::vector<std::uint32_t> stores;
  };

  Kind KindOf(std::uint32_t store);
  Kind ReadKind(std::uint32_t store);
  std::vector<Group> GroupsOf(const std::vector<std::uint32_t>& stores);
  bool IsWait(std::uint32_t instruction) const;
  /// Whether `first` can run before `last` without `load` in between; `in_one_piece`: and without a barrier.
  bool Precedes(std::uint32_t first, std::uint32_t last, std::uint32_t load, bool in_one_piece);

  const DeviceFunction& function_;
  const std::vector<Operands>& operands_;
  const Flow& flow_;
  const Values& values_;
  StepBudget& budget_;
  Edges before_;  // by block, along `forward`
  std::map<std::uint32_t, Kind> kinds_;
};

}  // namespace fa_profile::analyze
