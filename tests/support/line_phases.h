// Phases named by the lines of a source: by the comment at a line's end, "# softmax". For languages whose compiler does
// not say which functions it inlined. For tests and bench/infer_phases.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "control_flow.h"
#include "fa_profile/error.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/recording.h"

namespace fa_profile {

struct LinePhases {
  std::string source;  ///< the file's name, without folders
  std::map<int, std::string> phases;
};

inline LinePhases ReadLinePhases(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("cannot read " + path);
  LinePhases lines{path.substr(path.rfind('/') + 1), {}};
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::size_t comment = line.rfind("  # ");
    if (comment != std::string::npos) lines.phases[number] = line.substr(comment + 4);
  }
  return lines;
}

/// Makes the phase of the innermost line of the source the only function.
inline void NameByLines(DeviceFunction& function, const LinePhases& lines) {
  for (Instruction& instruction : function.instructions) {
    std::string phase;
    for (const InlineFrame& frame : instruction.frames) {
      if (!phase.empty() || !frame.file.ends_with(lines.source)) continue;
      const auto found = lines.phases.find(frame.line);
      if (found != lines.phases.end()) phase = found->second;
    }
    instruction.frames = {{phase.empty() ? function.name : phase, lines.source, 0}};
  }
}

/// By instruction: 1 in loops, but for waits and branches, which belong to no line; else 0.
inline std::vector<double> WeightsInLoops(const DeviceFunction& function) {
  std::vector<double> weights;
  for (const int depth : analyze::ReadControlFlow(function).loop_depth) {
    const sass::Form form = sass::FormOf(function.instructions[weights.size()].opcode);
    weights.push_back(depth > 0 && !sass::IsSync(form) && !sass::IsControl(form) ? 1.0 : 0.0);
  }
  return weights;
}

/// The weights of instructions that load, compute or store values.
inline std::vector<double> OfValues(const DeviceFunction& function, std::vector<double> weights) {
  using enum sass::Form;
  constexpr sass::Form kForms[] = {kGlobalLoad,  kAsyncCopy,    kBulkLoad,   kGlobalStore, kBulkStore,
                                   kSharedLoad,  kSharedStore,  kTensorLoad, kTensorStore, kTensorCopy,
                                   kMatrix,      kTensorMemory, kMultiply,   kAdd,         kMaximum,
                                   kExponential, kReciprocal,   kShuffle,    kConversion,  kWarpgroupMatrix};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const sass::Form form = sass::FormOf(function.instructions[i].opcode);
    if (std::ranges::find(kForms, form) == std::end(kForms)) weights[i] = 0.0;
  }
  return weights;
}

}  // namespace fa_profile
