#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile {

/// One instruction of a function made by hand. `stack`: functions, innermost first, as a phase test needs them.
struct Line {
  std::string predicate;
  std::string opcode;
  std::string operands;
  std::vector<std::string> stack;
};

/// A function of these instructions, 16 bytes each. A frame's file is "kernel.cu" and its line the instruction's
/// number.
inline DeviceFunction MakeFunction(const std::vector<Line>& lines, std::int64_t id = 1,
                                   const std::string& name = "kernel") {
  DeviceFunction function;
  function.id = id;
  function.cubin_crc = 1;
  function.name = name;
  for (const Line& line : lines) {
    Instruction instruction;
    instruction.offset = static_cast<std::uint32_t>(16 * function.instructions.size());
    instruction.predicate = line.predicate;
    instruction.opcode = line.opcode;
    instruction.operands = line.operands;
    for (const std::string& frame : line.stack) {
      instruction.frames.push_back({frame, "/src/kernel.cu", static_cast<int>(function.instructions.size())});
    }
    function.instructions.push_back(std::move(instruction));
  }
  return function;
}

}  // namespace fa_profile
