#include "machine_calls.h"

#include <fmt/format.h>

#include <string_view>

#include "fa_profile/opcodes.h"

namespace fa_profile::analyze {
namespace {

/// "R10" from "R10, c[0x4][R0]".
std::string_view FirstOperand(std::string_view operands) { return operands.substr(0, operands.find(',')); }

std::string CalleeOf(std::string_view operands) {
  for (const std::string_view name : {"vprintf", "__assertfail", "malloc", "free"}) {
    if (operands.find(name) != std::string_view::npos) return std::string(name == "vprintf" ? "printf" : name);
  }
  return {};
}

}  // namespace

std::string PlaceOf(const Instruction& instruction) {
  if (instruction.frames.empty()) return fmt::format("offset {:#x}", instruction.offset);
  const InlineFrame& frame = instruction.frames.back();
  return fmt::format("{}:{}", frame.file.substr(frame.file.rfind('/') + 1), frame.line);
}

std::vector<MachineCall> RuntimeCalls(const DeviceFunction& function) {
  std::vector<MachineCall> calls;
  const auto& code = function.instructions;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (sass::FormOf(code[i].opcode) != sass::Form::kCall) continue;
    std::string callee = CalleeOf(code[i].operands);
    bool runtime = !callee.empty();
    // Its target, "R10", was loaded shortly before: the last instruction to write that register shows from where.
    const std::string_view target = FirstOperand(code[i].operands);
    for (std::size_t j = i; !runtime && target.starts_with('R') && j-- > 0;) {
      if (FirstOperand(code[j].operands) != target) continue;
      runtime = sass::ClassOf(code[j].opcode) == sass::OpcodeClass::kConstantLoad &&
                code[j].operands.find("c[0x4]") != std::string::npos;
      break;
    }
    if (runtime) calls.push_back({std::move(callee), PlaceOf(code[i]), code[i].offset});
  }
  return calls;
}

}  // namespace fa_profile::analyze
