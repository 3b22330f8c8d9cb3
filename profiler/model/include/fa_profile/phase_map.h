#pragma once

#include <string>
#include <vector>

namespace fa_profile {

/// One phase and what belongs to it. An instruction belongs to the first phase, in the map's order of rules, that
/// matches any of: a function in its inline stack, a source line, an opcode.
struct PhaseRule {
  /// A range of source lines.
  struct Lines {
    std::string file;  ///< a path, or the end of one ("kernel.cu")
    int first = 0;     ///< 1-based, inclusive
    int last = 0;
  };

  std::string phase;
  std::vector<std::string> functions;  ///< base names of inlined device functions: "softmax", without scope or <...>
  std::vector<Lines> lines;
  std::vector<std::string> opcodes;  ///< prefixes of the machine opcode: "HMMA", "MUFU.EX2"
};

/// Assigns a kernel's instructions to phases.
struct PhaseMap {
  std::string name;              ///< for the report: "inline functions", "phase map my.yaml", "opcode classes"
  std::vector<PhaseRule> rules;  ///< functions are tried for all rules first, then lines, then opcodes
};

/// The phases of attention, each the function of that name: load_q load_kv sync qk softmax rescale pv epilogue.
PhaseMap AttentionPhases();

/// The name of the phases by opcode, sass::OpcodePhases().
inline constexpr const char* kOpcodePhasesName = "opcode classes";

/// The name of the method that infers phases (docs/phases.md).
inline constexpr const char* kInferredPhasesName = "inference from machine code";

/// Phases of one model are comparable: "named" by functions or a map, "inferred", "opcode classes". A phase of another
/// model is other code under the same name. `attribution`: PhaseTable::attribution.
inline std::string PhaseModelOf(const std::string& attribution) {
  if (attribution == kOpcodePhasesName) return kOpcodePhasesName;
  return attribution == kInferredPhasesName ? "inferred" : "named";
}

/// Where the phases of a kernel come from.
enum class PhaseSource {
  kBest,       ///< a map, if given; else functions, if the code has any; else code; else opcodes
  kMap,        ///< the user's map
  kFunctions,  ///< AttentionPhases()
  kCode,       ///< inferred from machine code; opcodes if that is refused
  kOpcodes,    ///< by opcode, for code that has none of these
};

}  // namespace fa_profile
