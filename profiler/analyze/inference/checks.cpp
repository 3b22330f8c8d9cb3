#include "inference/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "inference/gradients.h"

namespace fa_profile::analyze {
namespace {

constexpr double kLargestImbalance = 0.02;

/// Scores are sums: even a lane with one element of head_dim adds those of other lanes.
constexpr double kFewestOfASum = 1.5;

/// Head sizes that differ between Q with K and V: those of FlashAttention 3, for DeepSeek's models and others. The
/// multiply-adds of QK per exponential are head_dim_qk, minus what rescaling adds to the exponentials. And 40, which
/// TensorRT pads to the 16 columns of an instruction for PV, not to the 8 of its depth for QK.
struct HeadDims {
  double qk;
  double v;
};
constexpr HeadDims kUnequalHeadDims[] = {{192, 128}, {576, 512}, {64, 256}, {64, 512}, {40, 48}};
/// On tensor memory also those whose blocks compute half or a quarter of V's columns.
constexpr HeadDims kTensorHeadDims[] = {{192, 128}, {320, 256}, {576, 512}, {576, 256},
                                        {576, 128}, {512, 256}, {512, 128}};
constexpr double kFewestPerExponential = 0.9;

/// head_dim of Q and K, for products on tensor memory in loops over keys: the depth of all of QK for each that begins a
/// sum. 0 if none is known to begin one.
double QueryDepth(const CodeFacts& code) {
  double depth = 0.0;
  double begun = 0.0;
  for (std::size_t i = 0; i < code.tensor.shape.size(); ++i) {
    if (code.ranks.computes[i] != Computes::kQk || !code.tensor.shape[i] || !code.regions.InKeyLoop(i)) continue;
    depth += code.tensor.shape[i]->k;
    begun += code.memory.sums[i].empty() ? 1.0 : 0.0;
  }
  return begun > 0.0 ? depth / begun : 0.0;
}

bool IsWithin(double value, double expected) { return std::abs(value - expected) <= kLargestImbalance * expected; }

bool IsBalanced(const CodeFacts& code, const InferenceChecks& checks) {
  const double ratio = checks.qk_to_pv_ratio.value_or(0.0);
  if (std::abs(ratio - 1.0) <= kLargestImbalance) return true;
  if (code.tensor.used) {
    return std::ranges::any_of(kTensorHeadDims, [&](const HeadDims& dims) {
      return IsWithin(QueryDepth(code), dims.qk) && IsWithin(ratio, dims.qk / dims.v);
    });
  }
  const double dim = checks.multiply_adds_per_exponential.value_or(0.0);
  return std::ranges::any_of(kUnequalHeadDims, [&](const HeadDims& dims) {
    const bool fits = kFewestPerExponential * dims.qk <= dim && dim <= (1.0 + kLargestImbalance) * dims.qk;
    return fits && IsWithin(ratio, dims.qk / dims.v);
  });
}

bool IsMatrixForm(Form form) {
  return form == Form::kMatrix || form == Form::kWarpgroupMatrix || form == Form::kTensorMemory ||
         form == Form::kUnknownMatrix;
}

/// Multiply-adds for one warp's rows. One thread issues a product on tensor memory for the warps of a block: those of
/// 32 lanes each, or of 16 if M is 64.
std::optional<double> WarpMultiplyAdds(const CodeFacts& code, std::uint32_t i) {
  if (code.operands[i].form != Form::kTensorMemory) {
    return MultiplyAdds(code.function.instructions[i], code.operands[i].form);
  }
  const auto& shape = code.tensor.shape[i];
  constexpr int kMostRows = 32;
  return shape ? std::optional<double>(1.0 * std::min(shape->m / 4, kMostRows) * shape->n * shape->k) : std::nullopt;
}

/// Scores of one warp that the products of QK begin: those that add to no other product of QK. Nothing for scalar
/// products, or if some add to a product and to something else, because then a loop hides how many begin.
std::optional<double> BegunScores(const CodeFacts& code, const std::vector<double>& times, StepBudget& budget) {
  double scores = 0.0;
  for (std::uint32_t i = 0; i < code.operands.size(); ++i) {
    if (code.ranks.computes[i] != Computes::kQk) continue;
    const auto depth = sass::TensorDepth(code.function.instructions[i].opcode);
    const auto work_done = WarpMultiplyAdds(code, i);
    if (!depth || !work_done) return std::nullopt;
    std::size_t products = 0;
    std::size_t others = 0;
    for (const ValueUse& use : code.values.UsesOf(i)) {
      if (use.role != Role::kC) continue;
      for (const std::uint32_t definition : code.values.DefinitionsOf(use.value, budget)) {
        ++(code.ranks.computes[definition] == Computes::kQk ? products : others);
      }
    }
    if (products > 0 && others > 0) return std::nullopt;
    if (products == 0) scores += times[i] * *work_done / *depth;
  }
  return scores > 0.0 ? std::optional(scores) : std::nullopt;
}

/// Whether a scalar product of PV is added to an output: each element of O is a sum over keys.
bool SumsOutput(const CodeFacts& code) {
  for (std::uint32_t i = 0; i < code.operands.size(); ++i) {
    if (code.ranks.computes[i] != Computes::kPv) continue;
    for (const ValueUse& use : code.values.UsesOf(i)) {
      if (use.role == Role::kC && code.ranks.rank[use.value] == Rank::kOutput) return true;
    }
  }
  return false;
}

bool HasWord(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

bool NameSaysBackward(std::string_view name) { return HasWord(name, {"bwd", "Bwd", "backward", "Backward"}); }

bool NameSaysAttention(std::string_view name) {
  return HasWord(name, {"attn", "Attn", "attention", "Attention", "fmha", "mha", "flash", "Flash"});
}

/// The failed check, among those for forward attention that begin with both products.
Refusal FailedCount(const CodeFacts& code, const InferenceChecks& checks) {
  if (checks.unassigned_products > 0) {
    return {"products", fmt::format("{} matrix {} neither QK nor PV", checks.unassigned_products,
                                    checks.unassigned_products == 1 ? "instruction is" : "instructions are")};
  }
  if (!code.regions.ExponentialBetween()) return {"other", "not attention: no exponential is between the two products"};
  if (checks.key_loops == 0) return {"loop", "no loop over keys holds both products"};
  if (!IsBalanced(code, checks)) {
    const char* const basis = checks.counted        ? ""
                              : checks.rounds_known ? " by instructions in the code"
                                                    : " by instructions in the code, with loops of unknown length";
    return {"ratio",
            fmt::format("QK:PV multiply-adds are {:.2f}{}, not 1.00", checks.qk_to_pv_ratio.value_or(0.0), basis)};
  }
  return {};
}

}  // namespace

bool ExponentialOfOutput(const CodeFacts& code) {
  for (std::uint32_t i = 0; i < code.operands.size(); ++i) {
    if (code.operands[i].form != Form::kExponential || !code.regions.PrecedesProduct(i)) continue;
    for (const ValueUse& use : code.values.UsesOf(i)) {
      if (IsData(use.role) && code.ranks.rank[use.value] == Rank::kOutput) return true;
    }
  }
  return false;
}

InferenceChecks CheckPhases(const CodeFacts& code, const std::vector<double>& executed, StepBudget& budget) {
  InferenceChecks checks;
  checks.counted = !executed.empty();
  checks.rounds_known = code.rounds.products_known;
  checks.key_loops = code.regions.key_loops();
  std::vector<double> once(code.operands.size(), 1.0);
  if (code.tensor.used) {
    // Compilers begin the products of the first rounds before the loop, without the exponentials that belong to them.
    checks.rounds_known = false;
    for (std::size_t i = 0; i < once.size(); ++i) once[i] = code.regions.InKeyLoop(i) ? 1.0 : 0.0;
  }
  const std::vector<double>& times = checks.counted ? executed : checks.rounds_known ? code.rounds.times : once;
  double qk = 0.0;
  double pv = 0.0;
  double exponentials = 0.0;
  constexpr double kThreads = 32.0;
  for (std::uint32_t i = 0; i < code.operands.size(); ++i) {
    const Instruction& instruction = code.function.instructions[i];
    const Form form = code.operands[i].form;
    const Computes computes = code.ranks.computes[i];
    const double done = WarpMultiplyAdds(code, i).value_or(1.0) * times[i];
    if (computes == Computes::kQk) {
      qk += done;
    } else if (computes == Computes::kPv) {
      pv += done;
    } else if (IsMatrixForm(form) && !code.operands[i].never) {
      ++checks.unassigned_products;
    }
    if (computes == Computes::kExponential && code.regions.PrecedesProduct(i)) {
      exponentials += kThreads * sass::ThreadExponentials(instruction.opcode) * times[i];
    }
  }
  if (pv > 0.0) checks.qk_to_pv_ratio = qk / pv;
  const bool known = checks.counted || (code.rounds.exponentials_known && !code.tensor.used);
  if (exponentials > 0.0 && known) {
    checks.multiply_adds_per_exponential = qk / exponentials;
    if (const auto scores = BegunScores(code, times, budget)) checks.exponentials_per_score = exponentials / *scores;
  }
  return checks;
}

Refusal WithoutExponentials(const std::vector<Operands>& operands) {
  const bool products =
      std::ranges::any_of(operands, [](const Operands& o) { return IsMatrixForm(o.form) && !o.never; });
  if (products) return {"gemm", "not attention: matrix products without exponentials (GEMM, convolution)"};
  return {"other", "not attention: no exponentials (MUFU.EX2)"};
}

Refusal FailedCheck(const CodeFacts& code, const InferenceChecks& checks, StepBudget& budget) {
  const auto computes = [&](Computes what) {
    return std::ranges::find(code.ranks.computes, what) != code.ranks.computes.end();
  };
  for (std::size_t i = 0; i < code.tensor.shape.size(); ++i) {
    if (code.operands[i].form != Form::kTensorMemory || code.operands[i].never || code.tensor.shape[i]) continue;
    return {"tensor-memory", fmt::format("the code has no constant shape for the matrix instruction at 0x{:04x}",
                                         code.function.instructions[i].offset)};
  }
  for (std::size_t i = 0; i < code.operands.size(); ++i) {
    if (code.operands[i].form != Form::kUnknownMatrix) continue;
    return {"opcode", fmt::format("the matrix instruction {} is not known", code.function.instructions[i].opcode)};
  }
  const bool matrix = std::ranges::any_of(
      code.operands, [](const Operands& operands) { return IsMatrixForm(operands.form) && !operands.never; });
  if (!computes(Computes::kQk)) {
    // If shared memory was confused, K seems to be O. Without a maximum it is another kernel that multiplies results of
    // exponentials: the next step of an RNN.
    if (matrix && computes(Computes::kPv) && code.ranks.has_any_maximum) {
      return {"products",
              "exponentials are multiplied with loaded values, but the product that they are made of was not found"};
    }
    return {"other", "not attention: no product of two loaded values reaches an exponential"};
  }
  if (IsBackwardPass(code, budget)) {
    return {"backward",
            "backward pass: products of two loaded values are multiplied with exponentials, and then again"};
  }
  if (!computes(Computes::kPv)) return {"other", "not attention: exponentials are not multiplied with loaded values"};
  Refusal refusal = FailedCount(code, checks);
  // If dQ, dK and dV are not found in the code, products are left over, or outside the loop.
  const bool may_be_backward = refusal.word == "products" || refusal.word == "loop" || refusal.word == "ratio";
  // Scalar products also occur in the backward kernels of embeddings and losses: there the name must say attention.
  if (may_be_backward && NameSaysBackward(code.function.name)) {
    if (!matrix && !NameSaysAttention(code.function.name)) {
      return {"other", "not attention: by its name a backward kernel of something else; the code says: " + refusal.why};
    }
    refusal = {"backward", "backward pass, by the kernel's name; the code alone says: " + refusal.why};
  }
  const bool scalar_ratio = refusal.word == "ratio" && !matrix;
  if ((refusal.word == "loop" || scalar_ratio) && !code.ranks.has_running_maximum) {
    return {"other",
            "not attention: no exponential is of scores less their maximum, and the products do not fit each other"};
  }
  if (refusal.word == "loop" && !matrix && !SumsOutput(code)) {
    return {"other", "not attention: exponentials times loaded values are not summed over keys"};
  }
  // Without it the two products may be layers of a network, with an activation between them. Elsewhere maxima are often
  // lost in shared memory.
  if (refusal.word.empty() && code.tensor.used && !code.ranks.has_running_maximum) {
    return {"other", "not attention: no exponential is of scores less their maximum"};
  }
  // A decay that is multiplied with a state, as in a selective scan.
  const bool is_sum = checks.multiply_adds_per_exponential.value_or(kFewestOfASum) >= kFewestOfASum;
  if (refusal.word.empty() && !matrix && !is_sum && !code.ranks.has_running_maximum) {
    return {"other", "not attention: each exponential is of one product, not of a sum, and not less a maximum"};
  }
  if (refusal.word == "loop" && code.regions.tile_loops() > 0) {
    refusal.why =
        "cannot say: the loop that holds both products also stores to global memory, and may be over tiles of queries";
  }
  return refusal;
}

}  // namespace fa_profile::analyze
