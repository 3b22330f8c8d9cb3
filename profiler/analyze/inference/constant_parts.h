#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "inference/step_budget.h"
#include "inference/values.h"

namespace fa_profile::analyze {

/// Words of shared memory that one instruction writes: its index, by place. So warps hand addresses to others.
using SharedWords = std::map<std::int64_t, std::uint32_t>;

/// Constant parts of addresses: 0x600 in "[R0+0x600]", and what was added to R0 before. A thread index, a parameter or
/// a loaded value counts as 0; of several values that may reach a use the smallest counts, so a place that moves
/// through a loop is where it begins.
class ConstantParts {
 public:
  enum class Rule : std::uint8_t {
    kGuess,  ///< as above
    /// The place of a whole array, or nothing. Scaled terms, mostly indices, are left out: all elements have one place.
    /// Nothing: another unknown was added, or several places may reach the use.
    kOnlyKnown
  };

  /// `words`, if there are any, are followed: what is loaded from one has the constant part of what was stored there.
  ConstantParts(const DeviceFunction& function, const Values& values, StepBudget& budget, Rule rule = Rule::kGuess,
                SharedWords words = {})
      : function_(function),
        values_(values),
        budget_(budget),
        rule_(rule),
        words_(std::move(words)),
        known_(values.instructions()),
        state_(values.instructions(), kUnknown),
        uncertain_(values.instructions(), false) {}

  /// For the address "[R0+UR4+0x600]" in an instruction's operands.
  std::int64_t OfAddress(std::uint32_t instruction, std::string_view address) {
    return OfAddress(instruction, address, 0);
  }

  /// The same by Rule::kOnlyKnown.
  std::optional<std::int64_t> KnownOfAddress(std::uint32_t instruction, std::string_view address);

 private:
  enum State : std::uint8_t { kUnknown, kRunning, kKnown };

  std::int64_t OfAddress(std::uint32_t instruction, std::string_view address, int depth);
  std::optional<std::int64_t> OfValue(Value value, int depth);
  std::optional<std::int64_t> OfDefinition(std::uint32_t instruction, int depth);
  std::int64_t OfInstruction(std::uint32_t instruction, int depth);
  class Sources;
  std::int64_t OfSelect(const Sources& sources);
  std::int64_t OfAdd(const Sources& sources);
  std::int64_t OfMultiplyAdd(const Sources& sources);
  std::int64_t OfShiftAdd(const Sources& sources);
  std::int64_t OfShift(const Sources& sources);
  std::int64_t OfLogic(const Sources& sources);
  std::int64_t OfSharedLoad(std::uint32_t load, int depth);
  std::int64_t Unknown();
  std::int64_t OfOperand(std::uint32_t instruction, std::string_view text, int depth);

  const DeviceFunction& function_;
  const Values& values_;
  StepBudget& budget_;
  Rule rule_;
  SharedWords words_;
  std::vector<std::int64_t> known_;
  std::vector<State> state_;
  std::vector<bool> uncertain_;  // by instruction: what it defines, by Rule::kOnlyKnown
  bool now_uncertain_ = false;   // for the value being followed
};

}  // namespace fa_profile::analyze
