#include "mbarrier_waits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "control_flow.h"
#include "fa_profile/opcodes.h"

namespace fa_profile::analyze {
namespace {

using Instructions = std::vector<Instruction>;

/// The predicate that receives a wait's answer. nvdisasm 13.2 prints "P0[R18+URZ], R11".
std::string AnswerOf(const Instruction& instruction) {
  if (!sass::AsksMbarrier(instruction.opcode)) return {};
  return instruction.operands.substr(0, instruction.operands.find_first_of(",["));
}

/// "P0" from "@!P0".
std::string_view Bare(std::string_view predicate) {
  return predicate.substr(std::min(predicate.find_first_not_of("@!"), predicate.size()));
}

bool IsBranch(const Instruction& instruction) { return sass::FormOf(instruction.opcode) == sass::Form::kBranch; }

/// "@!P0 BRA 0x3c0", and "BRA !P2, 0x3160".
bool BranchesOn(const Instruction& instruction, const std::string& predicate) {
  if (predicate.empty() || !IsBranch(instruction)) return false;
  const std::string_view operands = instruction.operands;
  return Bare(instruction.predicate) == predicate || Bare(operands.substr(0, operands.find(','))) == predicate;
}

/// Forgets the questions whose answer an instruction overwrites: its first two operands may be predicates,
/// "ISETP.NE.AND P0, PT, R4, RZ, PT". "PR" means all of them.
void ForgetOverwritten(const Instruction& instruction, std::map<std::string, std::size_t>& questions) {
  if (questions.empty()) return;
  const sass::Opcode& row = sass::FindOpcode(instruction.opcode);
  if (row.traits.defines_nothing || row.form == sass::Form::kMbarrier) return;
  std::string_view rest = instruction.operands;
  for (int operand = 0; operand < 2 && !rest.empty(); ++operand) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    std::string_view name = rest.substr(0, end);
    name = name.substr(std::min(name.find_first_not_of(' '), name.size()));
    if (operand == 0 && name == "PR") questions.clear();
    questions.erase(std::string(name));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

// The instructions of one wait are near each other, scheduled among others.
constexpr std::size_t kNearInstructions = 8;

/// A question, and the branch on its answer shortly after.
struct PollLoop {
  std::size_t first = 0;  ///< where it asks again: just before the question, at a YIELD
  std::size_t question = 0;
  std::size_t branch = 0;
  bool here = true;  ///< false: the branch leads to another loop, which asks again
  bool leaves_by_branch = false;
};

std::optional<PollLoop> PollLoopAt(const Instructions& instructions, std::size_t question) {
  const std::string answer = AnswerOf(instructions[question]);
  const std::size_t end = std::min(instructions.size(), question + 1 + kNearInstructions);
  std::size_t branch = question + 1;
  while (branch < end && !IsBranch(instructions[branch])) ++branch;
  if (branch >= end || !BranchesOn(instructions[branch], answer)) return std::nullopt;
  const Instruction& on_answer = instructions[branch];
  const bool asks_again = on_answer.predicate.starts_with("@!") || on_answer.operands.starts_with('!');
  if (!asks_again) return PollLoop{question, question, branch, true, true};
  const std::size_t again = BranchTarget(instructions, on_answer).value_or(question);
  const bool here = again <= question && question - again <= kNearInstructions;
  return PollLoop{here ? again : question, question, branch, here};
}

/// The loop that a branch on an early answer leads to.
std::optional<PollLoop> LoopBehind(const Instructions& instructions, const Instruction& branch) {
  if (!IsBranch(branch)) return std::nullopt;
  const std::size_t target = BranchTarget(instructions, branch).value_or(instructions.size());
  const std::size_t end = std::min(instructions.size(), target + kNearInstructions);
  for (std::size_t i = target; i < end && !IsBranch(instructions[i]); ++i) {
    if (!BranchesOn(branch, AnswerOf(instructions[i]))) continue;
    // A branch back to where another wait is asked early has its predicate by chance.
    const auto loop = PollLoopAt(instructions, i);
    if (loop && loop->here) return loop;
  }
  return std::nullopt;
}

}  // namespace

std::vector<MbarrierWait> MbarrierWaits(const DeviceFunction& function) {
  const Instructions& instructions = function.instructions;
  std::map<std::size_t, MbarrierWait> waits;          // by branch
  std::set<std::size_t> asked_early;                  // questions of loops that are entered from elsewhere
  std::map<std::string, std::size_t> last_questions;  // before the instruction, by the predicate of the answer
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    ForgetOverwritten(instructions[i], last_questions);
    if (const std::string answer = AnswerOf(instructions[i]); !answer.empty()) last_questions[answer] = i;
    const auto loop = LoopBehind(instructions, instructions[i]);
    if (!loop || (loop->first <= i && i <= loop->branch)) continue;
    const auto early = last_questions.find(AnswerOf(instructions[loop->question]));
    if (early == last_questions.end() || (loop->first <= early->second && early->second <= loop->branch)) continue;
    waits[i] = {early->second, i, loop->first, loop->branch, loop->leaves_by_branch};
    asked_early.insert(loop->question);
  }
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const auto loop =
        AnswerOf(instructions[i]).empty() || asked_early.contains(i) ? std::nullopt : PollLoopAt(instructions, i);
    if (loop)
      waits.try_emplace(loop->branch, MbarrierWait{i, loop->branch, loop->first, loop->branch, loop->leaves_by_branch});
  }
  std::vector<MbarrierWait> found;
  for (const auto& [branch, wait] : waits) found.push_back(wait);
  return found;
}

std::vector<bool> AsyncWaits(const DeviceFunction& function) {
  const Instructions& instructions = function.instructions;
  std::vector<bool> waits(instructions.size(), false);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (!AnswerOf(instructions[i]).empty()) {
      const PollLoop loop = PollLoopAt(instructions, i).value_or(PollLoop{i, i, i});
      for (std::size_t k = loop.first; k <= loop.branch; ++k) waits[k] = true;
    }
    if (LoopBehind(instructions, instructions[i])) waits[i] = true;
  }
  return waits;
}

}  // namespace fa_profile::analyze
