#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "attention_code.h"

namespace fa_profile {

/// Code that no compiler writes, with at least the requested number of instructions: it could make an analysis slow.
struct PathologicalCode {
  const char* name;
  std::vector<Line> (*make)(std::size_t instructions);
};

inline Line JumpTo(std::size_t instruction, const std::string& predicate = "@P0") {
  char target[24];
  (void)std::snprintf(target, sizeof target, "0x%zx", 16 * instruction);
  return {predicate, "BRA", target, {}};
}

/// The exponential without which a kernel is refused at once.
inline void AddExponential(std::vector<Line>& lines) { lines.push_back({"", "MUFU.EX2", "R5, R5", {}}); }

inline std::vector<Line> OneBasicBlock(std::size_t instructions) {
  std::vector<Line> lines;
  AddExponential(lines);
  while (lines.size() < instructions) {
    const std::string r = "R" + std::to_string(lines.size() % 250);
    const std::string s = "R" + std::to_string((lines.size() * 7) % 250);
    lines.push_back({"", lines.size() % 3 == 0 ? "HMMA.16816.F32" : "FFMA", r + ", " + s + ", " + r + ", " + s, {}});
  }
  return lines;
}

/// Loops in loops, all of them with one head after the other and one end after the other.
inline std::vector<Line> NestedLoops(std::size_t instructions) {
  std::vector<Line> lines;
  AddExponential(lines);
  const std::size_t loops = instructions / 3;
  for (std::size_t i = 0; i < loops; ++i) {
    const std::string r = "R" + std::to_string(i % 250);
    lines.push_back({"", "FADD", r + ", " + r + ", R5", {}});
    lines.push_back({"@P1", "BRA", "0x10", {}});
  }
  for (std::size_t i = 0; i < loops; ++i) lines.push_back(JumpTo(1 + 2 * (loops - 1 - i)));
  return lines;
}

/// Two ways into each loop.
inline std::vector<Line> IrreducibleLoops(std::size_t instructions) {
  std::vector<Line> lines;
  AddExponential(lines);
  const std::size_t last = instructions - instructions % 4;
  while (lines.size() < last) {
    const std::size_t at = lines.size();
    lines.push_back(JumpTo((at + 2) % last, "@P1"));
    lines.push_back({"", "FADD", "R6, R5, R6", {}});
    lines.push_back({"", "FMUL", "R5, R6, R5", {}});
    lines.push_back(JumpTo(at + 1));
    lines.push_back(JumpTo((at * 31) % last, "@P2"));
  }
  return lines;
}

inline std::vector<Line> OnlySharedMemory(std::size_t instructions) {
  std::vector<Line> lines;
  AddExponential(lines);
  while (lines.size() < instructions) {
    const std::size_t i = lines.size();
    const std::string place = "[R2+0x" + std::to_string(i % 9973) + "]";
    lines.push_back(i % 2 == 0 ? Line{"", "STS", place + ", R5", {}} : Line{"", "LDS", "R5" + place, {}});
    if (i % 64 == 0) lines.push_back({"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {}});
  }
  lines.push_back(JumpTo(0));
  return lines;
}

inline std::vector<Line> OnlyLocalMemory(std::size_t instructions) {
  std::vector<Line> lines = OnlySharedMemory(instructions);
  for (Line& line : lines) {
    if (line.opcode == "STS") line.opcode = "STL";
    if (line.opcode == "LDS") line.opcode = "LDL";
  }
  return lines;
}

inline std::vector<Line> AllPredicated(std::size_t instructions) {
  std::vector<Line> lines;
  AddExponential(lines);
  while (lines.size() < instructions) {
    const std::size_t i = lines.size();
    const std::string r = "R" + std::to_string((i * 13) % 250);
    const std::string predicate = std::string(i % 2 == 0 ? "@P" : "@!P") + std::to_string(i % 7);
    lines.push_back({predicate, "FADD", r + ", " + r + ", R5", {}});
  }
  lines.push_back(JumpTo(0));
  return lines;
}

/// A step of attention 50,000 / 22 times in the loop.
inline std::vector<Line> UnrolledAttention(std::size_t instructions) {
  const std::vector<Line> lines = MmaAttention();
  std::vector<Line> unrolled(lines.begin(), lines.begin() + 13);
  while (unrolled.size() < instructions) unrolled.insert(unrolled.end(), lines.begin() + 13, lines.begin() + 35);
  unrolled.insert(unrolled.end(), lines.begin() + 35, lines.end());
  return unrolled;
}

/// Each instruction can be reached from each, and all products follow each other.
inline std::vector<Line> EverythingReachesEverything(std::size_t instructions) {
  std::vector<Line> lines = UnrolledAttention(instructions * 3 / 4);
  std::vector<Line> jumping;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    jumping.push_back(lines[i]);
    if (i % 3 == 0) jumping.push_back(JumpTo((i * 7919) % lines.size(), "@P" + std::to_string(i % 7)));
  }
  return jumping;
}

/// Subroutines that call each other.
inline std::vector<Line> ManyCalls(std::size_t instructions) {
  std::vector<Line> lines;
  AddExponential(lines);
  while (lines.size() + 4 < instructions) {
    const std::size_t i = lines.size();
    char target[24];
    (void)std::snprintf(target, sizeof target, "0x%zx", 16 * ((i * 37) % instructions));
    lines.push_back({"", "CALL.REL.NOINC", target, {}});
    lines.push_back({"", "FADD", "R5, R5, R6", {}});
    lines.push_back({"@P1", "RET.REL.NODEC", "R20 0x0", {}});
  }
  return lines;
}

inline constexpr PathologicalCode kPathologicalCode[] = {
    {"one basic block", OneBasicBlock},
    {"nested loops", NestedLoops},
    {"irreducible loops", IrreducibleLoops},
    {"only shared memory", OnlySharedMemory},
    {"only local memory", OnlyLocalMemory},
    {"all predicated", AllPredicated},
    {"unrolled attention", UnrolledAttention},
    {"everything reaches everything", EverythingReachesEverything},
    {"many calls", ManyCalls},
};

}  // namespace fa_profile
