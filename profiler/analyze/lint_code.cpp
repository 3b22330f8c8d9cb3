#include "lint_code.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "fa_profile/opcodes.h"
#include "inference/operands.h"

namespace fa_profile::analyze {
namespace {

/// The offset of an access at [R1] or [R1+0x10]: R1 is the stack pointer in NVIDIA's calling convention.
std::optional<std::int64_t> StackOffset(std::string_view operands) {
  const std::size_t open = operands.find('[');
  const std::size_t close = operands.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  std::string_view address = operands.substr(open + 1, close - open - 1);
  if (!address.starts_with("R1")) return std::nullopt;
  address.remove_prefix(2);
  if (address.empty()) return 0;
  const bool negative = address.starts_with("+-");
  address.remove_prefix(std::min<std::size_t>(negative ? 2 : 1, address.size()));
  if (!address.starts_with("0x")) return std::nullopt;  // R10, or R1 plus a register
  std::int64_t offset = 0;
  const char* const end = address.data() + address.size();
  const auto [rest, error] = std::from_chars(address.data() + 2, end, offset, 16);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return negative ? -offset : offset;
}

/// An access to local memory.
struct StackAccess {
  std::size_t instruction = 0;
  bool is_store = false;
  int bytes = 0;
  std::optional<std::int64_t> offset;  ///< from the stack pointer; absent: the address is computed at run time
  bool is_last_use = false;
};

std::vector<StackAccess> StackAccesses(const DeviceFunction& function) {
  std::vector<StackAccess> accesses;
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    const Instruction& instruction = function.instructions[i];
    const Form form = sass::FormOf(instruction.opcode);
    const bool is_store = form == Form::kLocalStore;
    if (!is_store && form != Form::kLocalLoad) continue;
    accesses.push_back({i, is_store, sass::AccessBytes(instruction.opcode), StackOffset(instruction.operands),
                        !is_store && sass::IsLastUse(instruction.opcode)});
  }
  return accesses;
}

/// Whether no address in the stack frame is computed: the stack pointer is set once in a kernel, moved once by the size
/// of the frame, and otherwise only the base of constant offsets.
bool OnlyConstantOffsets(const DeviceFunction& function, const std::vector<StackAccess>& accesses) {
  constexpr Slot kStackPointer = 1;
  if (std::ranges::any_of(accesses, [](const StackAccess& access) { return !access.offset; })) return false;
  int moves = 0;
  for (const Instruction& instruction : function.instructions) {
    const Operands operands = ReadOperands(instruction);
    const auto uses = std::ranges::count(operands.uses, kStackPointer, &Use::slot);
    if (uses == 0) continue;
    const bool moves_it = std::ranges::find(operands.definitions, kStackPointer) != operands.definitions.end();
    const bool is_access = StackOffset(instruction.operands).has_value();
    if (uses > 1 || (!moves_it && !is_access) || (moves_it && ++moves > 1)) return false;
  }
  return true;
}

/// By access: whether it spills a register, or reloads one.
std::vector<bool> FindSpills(const DeviceFunction& function, const std::vector<StackAccess>& accesses) {
  std::optional<std::int64_t> lowest_last_use;
  for (const StackAccess& access : accesses) {
    if (access.is_last_use && access.offset && (!lowest_last_use || *access.offset < *lowest_last_use)) {
      lowest_last_use = access.offset;
    }
  }
  const bool only_constant = OnlyConstantOffsets(function, accesses);
  std::set<std::int64_t> stored;  // bytes of the frame
  std::set<std::int64_t> loaded;
  for (const StackAccess& access : accesses) {
    for (int byte = 0; only_constant && byte < access.bytes; ++byte) {
      (access.is_store ? stored : loaded).insert(*access.offset + byte);
    }
  }
  std::vector<bool> spills;
  spills.reserve(accesses.size());
  for (const StackAccess& access : accesses) {
    bool is_spill = access.offset && lowest_last_use && *access.offset >= *lowest_last_use;
    const std::set<std::int64_t>& others = access.is_store ? loaded : stored;
    for (int byte = 0; only_constant && byte < access.bytes; ++byte) {
      is_spill = is_spill || others.contains(*access.offset + byte);
    }
    spills.push_back(is_spill);
  }
  return spills;
}

void ReadStack(const DeviceFunction& function, LintCode& code) {
  const std::vector<StackAccess> accesses = StackAccesses(function);
  const std::vector<bool> spills = FindSpills(function, accesses);
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const StackAccess& access = accesses[i];
    LocalAccesses& counted = spills[i] ? code.spills : code.arrays;
    (spills[i] ? code.spill_instructions : code.array_instructions).push_back(access.instruction);
    ++(access.is_store ? counted.stores : counted.loads);
    (access.is_store ? counted.store_bytes : counted.load_bytes) += access.bytes;
    if (!access.offset) ++code.register_addressed;
  }
}

std::string_view CountOf(std::string_view opcode) {
  using enum sass::OpcodeClass;
  const Form form = sass::FormOf(opcode);
  if (form == Form::kTensorLoad || form == Form::kTensorStore) return {};  // no table has a column for it
  switch (sass::ClassOf(opcode)) {
    case kTensor:
      return "tensor";
    case kExponential:
      return "exponential";
    case kSharedLoad:
    case kSharedStore:
    case kMatrixLoad:
    case kMatrixStore:
      return "shared";
    case kGlobalLoad:
    case kGlobalStore:
      return "global";
    case kAsyncCopy:
      return form == Form::kTensorCopy ? "shared" : "global";
    case kLocalLoad:
    case kLocalStore:
      return "local";
    case kBarrier:
      return "barrier";
    case kAtomic:
      return "atomic";
    default:
      return {};
  }
}

/// Blocks that lead to `home`, or are reached from it, without leaving blocks of at least its depth.
std::vector<bool> Walk(const ControlFlow& flow, std::size_t home, const std::vector<int>& depths,
                       std::vector<std::size_t> BasicBlock::*next) {
  std::vector<bool> seen(flow.blocks.size(), false);
  std::vector<std::size_t> pending{home};
  while (!pending.empty()) {
    const std::size_t block = pending.back();
    pending.pop_back();
    for (const std::size_t other : flow.blocks[block].*next) {
      if (seen[other] || depths[other] < depths[home]) continue;
      seen[other] = true;
      pending.push_back(other);
    }
  }
  return seen;
}

}  // namespace

bool IsPadding(const Instruction& instruction) {
  const Form form = sass::FormOf(instruction.opcode);
  if (form == Form::kNop) return true;
  if (form != Form::kBranch || !instruction.predicate.empty()) return false;
  char self[16];
  (void)std::snprintf(self, sizeof self, "0x%x", instruction.offset);
  return instruction.operands == self;
}

bool UsesSharedMemory(const DeviceFunction& function) {
  // Not every asynchronous copy and matrix instruction names its shared memory, but each of these uses it.
  constexpr Form kForms[] = {Form::kAsyncCopy,    Form::kBulkLoad,     Form::kBulkStore, Form::kWarpgroupMatrix,
                             Form::kTensorMemory, Form::kSharedAtomic, Form::kMbarrier};
  return std::ranges::any_of(function.instructions, [&](const Instruction& instruction) {
    return std::ranges::find(kForms, sass::FormOf(instruction.opcode)) != std::end(kForms) ||
           IsCounted(instruction, "shared");
  });
}

LintCode ReadLintCode(const DeviceFunction& function, std::vector<std::string> phases) {
  LintCode code;
  code.flow = ReadControlFlow(function);
  code.phase_of = std::move(phases);
  ReadStack(function, code);
  return code;
}

bool IsCounted(const Instruction& instruction, std::string_view what) { return CountOf(instruction.opcode) == what; }

std::vector<PhaseCode> CountByPhase(const DeviceFunction& function, const LintCode& code) {
  std::vector<std::string> order;
  std::map<std::pair<std::size_t, int>, PhaseCode> rows;  // by place in `order`, and depth
  for (std::size_t i = 0; i < function.instructions.size(); ++i) {
    const Instruction& instruction = function.instructions[i];
    if (IsPadding(instruction)) continue;
    auto place = std::ranges::find(order, code.phase_of[i]);
    if (place == order.end()) place = order.insert(order.end(), code.phase_of[i]);
    const int depth = code.flow.loop_depth[i];
    PhaseCode& row = rows[{static_cast<std::size_t>(place - order.begin()), depth}];
    if (row.instructions++ == 0) {
      row.phase = *place;
      row.loop_depth = depth;
      for (const char* const count : kLintCounts) row.counts[count] = 0;
    }
    if (const std::string_view count = CountOf(instruction.opcode); !count.empty()) {
      ++row.counts[std::string(count)];
    }
  }
  std::vector<PhaseCode> sorted;
  sorted.reserve(rows.size());
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

std::vector<std::size_t> LoopAround(const ControlFlow& flow, std::size_t instruction) {
  const std::size_t home = flow.block_of[instruction];
  std::vector<int> depths;
  depths.reserve(flow.blocks.size());
  for (const BasicBlock& block : flow.blocks) depths.push_back(flow.loop_depth[block.first]);
  const std::vector<bool> from = Walk(flow, home, depths, &BasicBlock::successors);
  if (!from[home]) return {};
  const std::vector<bool> to = Walk(flow, home, depths, &BasicBlock::predecessors);
  std::vector<std::size_t> loop;
  for (std::size_t block = 0; block < flow.blocks.size(); ++block) {
    if (from[block] && to[block]) loop.push_back(block);
  }
  return loop;
}

}  // namespace fa_profile::analyze
