#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "inference/step_budget.h"
#include "inference/values.h"

namespace fa_profile::analyze {

/// Constant parts of addresses: 0x600 of "[R0+0x600]", and what was added to R0 before. A thread index, a parameter or
/// a loaded value counts as 0; of several values that may reach a use the smallest counts, so a place that moves
/// through a loop is where it begins.
class ConstantParts {
 public:
  /// What is scaled, mostly an index: "4 * R1" of "R0 + 4 * R1 + 0x600".
  enum class Scaled : std::uint8_t {
    kCounts,    ///< its constant part counts, scaled
    kIsIgnored  ///< all elements of an array have the same constant part
  };

  ConstantParts(const DeviceFunction& function, const Values& values, StepBudget& budget,
                Scaled scaled = Scaled::kCounts)
      : function_(function),
        values_(values),
        budget_(budget),
        scaled_(scaled),
        known_(values.instructions()),
        state_(values.instructions(), kUnknown) {}

  /// Of the address "[R0+UR4+0x600]" in an instruction's operands.
  std::int64_t OfAddress(std::uint32_t instruction, std::string_view address);

 private:
  enum State : std::uint8_t { kUnknown, kRunning, kKnown };

  std::optional<std::int64_t> OfValue(Value value, int depth);
  std::optional<std::int64_t> OfDefinition(std::uint32_t instruction, int depth);
  std::int64_t OfInstruction(std::uint32_t instruction, int depth);
  std::int64_t OfOperand(std::uint32_t instruction, std::string_view text, int depth);

  const DeviceFunction& function_;
  const Values& values_;
  StepBudget& budget_;
  Scaled scaled_;
  std::vector<std::int64_t> known_;
  std::vector<State> state_;
};

}  // namespace fa_profile::analyze
