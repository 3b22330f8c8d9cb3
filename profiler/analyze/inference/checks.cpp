#include "inference/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "opcode.h"

namespace fa_profile::analyze {
namespace {

constexpr double kLargestImbalance = 0.02;

/// Sizes of a head that differ between Q with K and V: those of FlashAttention 3, for DeepSeek's models and others. The
/// multiply-adds of QK per exponential are head_dim_qk, less what rescaling adds to the exponentials.
struct HeadDims {
  double qk;
  double v;
};
constexpr HeadDims kUnequalHeadDims[] = {{192, 128}, {576, 512}, {64, 256}, {64, 512}};
constexpr double kFewestPerExponential = 0.9;

bool IsBalanced(const InferenceChecks& checks) {
  const double ratio = checks.qk_to_pv_ratio.value_or(0.0);
  if (std::abs(ratio - 1.0) <= kLargestImbalance) return true;
  const double dim = checks.multiply_adds_per_exponential.value_or(0.0);
  return std::ranges::any_of(kUnequalHeadDims, [&](const HeadDims& dims) {
    const double expected = dims.qk / dims.v;
    const bool fits = kFewestPerExponential * dims.qk <= dim && dim <= (1.0 + kLargestImbalance) * dims.qk;
    return fits && std::abs(ratio - expected) <= kLargestImbalance * expected;
  });
}

}  // namespace

InferenceChecks CheckPhases(const CodeFacts& code, const std::vector<double>& executed) {
  InferenceChecks checks;
  checks.counted = !executed.empty();
  checks.key_loops = code.regions.key_loops();
  double qk = 0.0;
  double pv = 0.0;
  double exponentials = 0.0;
  for (std::uint32_t i = 0; i < code.operands.size(); ++i) {
    const Instruction& instruction = code.function.instructions[i];
    const Form form = code.operands[i].form;
    const Computes computes = code.ranks.computes[i];
    const double times = executed.empty() ? 1.0 : executed[i];
    const double work = MultiplyAdds(instruction, form).value_or(1.0) * times;
    const bool is_matrix = form == Form::kMatrix || form == Form::kWarpgroupMatrix || form == Form::kTensorMemory;
    if (computes == Computes::kQk) {
      qk += work;
    } else if (computes == Computes::kPv) {
      pv += work;
    } else if (is_matrix && !code.operands[i].never) {
      ++checks.unassigned_products;
    }
    constexpr double kThreads = 32.0;
    if (computes == Computes::kExponential && code.regions.PrecedesProduct(i)) {
      exponentials += kThreads * ThreadExponentials(instruction.opcode) * times;
    }
  }
  if (pv > 0.0) checks.qk_to_pv_ratio = qk / pv;
  if (exponentials > 0.0) checks.multiply_adds_per_exponential = qk / exponentials;
  return checks;
}

std::string FailedCheck(const CodeFacts& code, const InferenceChecks& checks) {
  const auto has = [&](Form form) {
    return std::ranges::any_of(code.operands, [&](const Operands& operands) { return operands.form == form; });
  };
  const auto computes = [&](Computes what) {
    return std::ranges::find(code.ranks.computes, what) != code.ranks.computes.end();
  };
  if (!has(Form::kExponential)) return "it computes no exponentials (MUFU.EX2)";
  if (has(Form::kTensorMemory)) return "operands of matrix instructions in tensor memory cannot be followed";
  if (!computes(Computes::kQk)) return "no product of two loaded values reaches an exponential";
  if (!computes(Computes::kPv)) return "exponentials are not multiplied with loaded values";
  if (checks.unassigned_products > 0) {
    return fmt::format("{} matrix {} neither QK nor PV", checks.unassigned_products,
                       checks.unassigned_products == 1 ? "instruction is" : "instructions are");
  }
  if (!code.regions.ExponentialBetween()) return "no exponential is between the two products";
  if (checks.key_loops == 0) return "no loop over keys holds both products";
  if (!IsBalanced(checks)) {
    return fmt::format("QK:PV multiply-adds are {:.2f}{}, not 1.00", checks.qk_to_pv_ratio.value_or(0.0),
                       checks.counted ? "" : " by instructions in the code");
  }
  return {};
}

}  // namespace fa_profile::analyze
