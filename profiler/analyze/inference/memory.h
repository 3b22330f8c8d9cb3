#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "inference/flow.h"
#include "inference/operands.h"
#include "inference/step_budget.h"
#include "inference/tensor_memory.h"
#include "inference/values.h"

namespace fa_profile::analyze {

/// Which stores to shared memory a load is assumed to read.
enum class SharedMemoryModel : std::uint8_t {
  kEveryStore,   ///< all that reach the load: right if each place holds one thing all the time
  kNewestStore,  ///< of those, the ones since the barrier before the last: right if a buffer is reused
  kNewestOfAll,  ///< the same, for all buffers around the load's place: right if one place belongs to several in turn
};

/// Which store a load of shared or local memory reads, as far as the constant parts of addresses show: the rest is
/// thread and loop indices. Stores of one kind at nearby places form a buffer, and a load reads the nearest buffer at
/// or below its place whose stores reach it. Slots of the stack are exact. This is the weakest rule of the inference.
struct Memory {
  std::vector<std::optional<std::int64_t>> place;   ///< by instruction: constant part of its shared or local address
  std::vector<std::vector<std::uint32_t>> sources;  ///< by load: the stores it may read
  std::vector<std::vector<std::uint32_t>> readers;  ///< by store: the loads that may read it

  /// By product in tensor memory, else empty: what wrote the result that it is added to. `sources` has A's.
  std::vector<std::vector<std::uint32_t>> sums;
};

/// `forward`: the edges along which a value in memory is followed. `tensor` is copied into the result. Incomplete when
/// `budget` is exhausted.
Memory ReadMemory(const DeviceFunction& function, const std::vector<Operands>& operands, const Flow& flow,
                  const Edges& forward, const Values& values, const TensorMemory& tensor, SharedMemoryModel model,
                  StepBudget& budget);

}  // namespace fa_profile::analyze
