#include "inference/gradients.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "fa_profile/opcodes.h"

namespace fa_profile::analyze {
namespace {

/// Delta is subtracted from dP, then it is scaled, and masked or dropped: nothing else comes before the product with P.
bool IsOnTheWayToDs(std::string_view opcode, Form form) {
  if (form == Form::kMove) return sass::IntegerOpOf(opcode) != sass::IntegerOp::kNone;
  return (form == Form::kAdd || form == Form::kMultiply) && sass::ClassOf(opcode) == sass::OpcodeClass::kFp32;
}

/// Matrix instructions that read operands from shared memory.
bool ReadsShared(Form form) { return form == Form::kWarpgroupMatrix || form == Form::kTensorMemory; }

bool IsMatrix(Form form) { return form == Form::kMatrix || ReadsShared(form); }

class GradientFinder {
 public:
  GradientFinder(const CodeFacts& code, StepBudget& budget)
      : code_(code),
        budget_(budget),
        is_dp_(code.operands.size(), false),
        is_ds_(code.operands.size(), false),
        is_packed_(code.operands.size(), false) {
    for (const Operands& operands : code.operands) {
      has_matrix_ = has_matrix_ || IsMatrix(operands.form);
      reads_shared_ = reads_shared_ || ReadsShared(operands.form);
    }
  }

  bool Find() {
    for (std::uint32_t i = 0; i < code_.operands.size(); ++i) {
      if (IsMatrix(code_.operands[i].form) != has_matrix_) continue;
      // S is not distinguished from dP here: if LSE is loaded from shared memory, dP also seems to reach exponentials.
      const bool is_matrix_qk = has_matrix_ && code_.ranks.computes[i] == Computes::kQk;
      if (code_.ranks.reaches_no_exponential[i] || is_matrix_qk) AddDp(i);
    }
    while (!pending_.empty() && budget_.Spend()) {
      const std::uint32_t i = pending_.back();
      pending_.pop_back();
      for (const Consumer& user : code_.values.ConsumersOf(i)) {
        if (budget_.Spend() && IsData(user.role)) Pass(i, user);
      }
      for (const std::uint32_t load : code_.memory.readers[i]) {
        if (budget_.Spend() && is_ds_[i]) AddDs(load, is_packed_[i]);
      }
      if (code_.tensor.used) PassTensorMemory(i);
    }
    // A matrix instruction multiplies whole tiles. There must be as many scalar products as in a part of Q K^T.
    constexpr double kFewest = 0.5;
    return products_ > 0.0 && (has_matrix_ || products_ >= kFewest * qk_products());
  }

 private:
  void AddDp(std::uint32_t i) {
    if (is_dp_[i] || is_ds_[i]) return;
    is_dp_[i] = true;
    pending_.push_back(i);
  }
  /// `packed`: to the 16 or 8 bits of a matrix instruction's operand.
  void AddDs(std::uint32_t i, bool packed = false) {
    packed = packed || code_.operands[i].form == Form::kConversion;
    if (is_ds_[i] && (is_packed_[i] || !packed)) return;
    is_ds_[i] = true;
    is_packed_[i] = packed;
    pending_.push_back(i);
  }

  double qk_products() const {
    double sum = 0.0;
    for (std::uint32_t i = 0; i < code_.operands.size(); ++i) {
      if (code_.ranks.computes[i] == Computes::kQk) sum += code_.weight[i];
    }
    return sum;
  }

  /// The rank of the other factor of a product; kNone for a square.
  Rank OtherFactor(std::uint32_t product, Role role) const {
    Rank rank = Rank::kNone;
    const auto uses = code_.values.UsesOf(product);
    for (const ValueUse& use : uses) {
      const bool is_factor = use.role == Role::kA || use.role == Role::kB;
      if (!is_factor || use.role == role) continue;
      const auto same = [&](const ValueUse& one) { return one.role == role && one.value == use.value; };
      if (std::ranges::none_of(uses, same)) rank = std::max(rank, code_.ranks.rank[use.value]);
    }
    return rank;
  }

  /// Whether the other factor is the result of MUFU.EX2, not just something with its rank: a scale that comes through
  /// memory may seem to have one.
  bool IsTimesExponential(std::uint32_t product, Role role) {
    if (OtherFactor(product, role) != Rank::kExponential) return false;
    for (const ValueUse& use : code_.values.UsesOf(product)) {
      const bool is_factor = use.role == Role::kA || use.role == Role::kB;
      if (!is_factor || use.role == role) continue;
      for (const std::uint32_t definition : code_.values.DefinitionsOf(use.value, budget_)) {
        if (code_.operands[definition].form == Form::kExponential) return true;
      }
    }
    return false;
  }

  /// dP is loaded from tensor memory, and dS may be stored there as the first factor of a product.
  void PassTensorMemory(std::uint32_t from) {
    for (const std::uint32_t reader : code_.tensor.readers[from]) {
      if (!budget_.Spend()) return;
      const Form form = code_.operands[reader].form;
      const std::vector<std::uint32_t>& sources = code_.tensor.sources[reader];
      const bool is_factor = std::ranges::find(sources, from) != sources.end();
      if (form == Form::kTensorLoad) {
        is_ds_[from] ? AddDs(reader, is_packed_[from]) : AddDp(reader);
      } else if (IsMatrix(form) && is_ds_[from] && is_factor) {
        products_ += code_.weight[reader];
      }
    }
  }

  void Pass(std::uint32_t from, const Consumer& user) {
    const std::uint32_t i = user.instruction;
    const Form form = code_.operands[i].form;
    const bool is_factor = user.role == Role::kA || user.role == Role::kB;
    const bool ds = is_ds_[from];
    if (IsMatrix(form)) {
      if (ds && is_factor) products_ += code_.weight[i];
      return;  // sums of dP are other products that reach no exponential
    }
    const bool before_products = code_.flow.graph.loop_depth[i] > 0 && code_.regions.PrecedesProduct(i);
    if (ds && reads_shared_ && form == Form::kSharedStore && is_packed_[from] && before_products)
      products_ += code_.weight[i];
    if (form == Form::kMultiply && is_factor) {
      const Rank other = OtherFactor(i, user.role);
      if (!ds && IsTimesExponential(i, user.role)) return AddDs(i);
      if (ds && !has_matrix_ && other == Rank::kGlobal && code_.regions.InKeyLoop(i)) products_ += code_.weight[i];
      if (ds && !has_matrix_ && other == Rank::kGlobal) return;
    }
    if (form == Form::kAddress || form == Form::kCompare || form == Form::kExponential) return;
    if (!ds && !IsOnTheWayToDs(code_.function.instructions[i].opcode, form)) return;
    ds ? AddDs(i, is_packed_[from]) : AddDp(i);
  }

  const CodeFacts& code_;
  StepBudget& budget_;
  std::vector<bool> is_dp_;
  std::vector<bool> is_ds_;
  std::vector<bool> is_packed_;
  std::vector<std::uint32_t> pending_;
  bool has_matrix_ = false;
  bool reads_shared_ = false;
  double products_ = 0.0;  // those with dS as a factor, by weight
};

}  // namespace

bool IsBackwardPass(const CodeFacts& code, StepBudget& budget) { return GradientFinder(code, budget).Find(); }

}  // namespace fa_profile::analyze
