#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// How an instruction's phase was found.
enum class InferenceGrade : std::uint8_t {
  kDirect,   ///< from what it computes: a product, an exponential, a load in the key loop, a barrier
  kDerived,  ///< from what uses its result, or from where its operands come from
  kGuess,    ///< from its neighbours
};

/// "direct", "derived", "guess".
std::string_view GradeName(InferenceGrade grade);

struct InferredInstruction {
  std::string_view phase;  ///< "softmax"; "setup": addresses and conditions before the key loop; or kUnattributed
  InferenceGrade grade = InferenceGrade::kGuess;
  std::string_view reason;  ///< one word: "product", "consumers", "branch"
};

/// The checks made before the phases were believed.
struct InferenceChecks {
  /// Multiply-adds of S = Q K^T over those of O = P V. 1 if head_dim is the same for both. Absent without PV.
  std::optional<double> qk_to_pv_ratio;
  /// Multiply-adds of QK per exponential of the softmax: head_dim, if no exponential is computed twice.
  std::optional<double> multiply_adds_per_exponential;
  bool counted = false;  ///< from executed instructions; false: from instructions in the code, by the rounds of their
                         ///< loops
  bool rounds_known = true;  ///< not counted: all loops around products of one kind are counted loops
  /// Exponentials per score, if the code shows the number of scores: products that begin sums, not loops.
  std::optional<double> exponentials_per_score;
  int unassigned_products = 0;  ///< matrix instructions that are neither QK nor PV
  int key_loops = 0;            ///< loops that hold both products
};

/// The phases of a function, or a refusal.
struct InferredPhases {
  /// By instruction, in order. Empty when refused.
  std::vector<InferredInstruction> instructions;
  /// Empty if the phases passed all checks; else the check that failed, in words: "QK:PV multiply-adds are 1.33, not
  /// 1.00".
  std::string refusal;
  /// Word for the refusal, else empty: "code" (no instructions), "size" (more work than is done for one function),
  /// "gemm" (products without exponentials), "branches" (with unknown targets), "other" (not attention), "backward" (a
  /// backward pass), "opcode" (an unknown matrix instruction), "tensor-memory", "products" (some are neither QK nor
  /// PV), "loop" (a softmax, but no loop over keys), "ratio" (of QK to PV).
  std::string_view refusal_word;
  InferenceChecks checks;
  std::optional<KeyTile> tile;  ///< absent when refused
  std::size_t steps = 0;        ///< work that it took, for tests and benchmarks
};

/// Infers the phases of a forward attention kernel from its machine code, without names or lines (docs/phases.md).
///
/// The names are AttentionPhases()' own and "setup". `executed`: how often a warp executed each instruction, by
/// instruction; empty: not counted, and instructions in loops weigh ten times as much for each loop around them.
/// Products in counted loops count for each round. Any sequence of instructions is taken. Code that is not forward
/// attention, or cannot be followed, is refused. Pure.
InferredPhases InferPhases(const DeviceFunction& function, const std::vector<double>& executed = {});

}  // namespace fa_profile::analyze
