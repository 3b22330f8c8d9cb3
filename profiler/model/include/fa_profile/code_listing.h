#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"
#include "fa_profile/shape.h"

namespace fa_profile {

/// The subject of a listing: the code of one function in one measured call.
struct ListedCode {
  std::string kernel;  ///< the profile entry's
  std::optional<Shape> shape;
  std::string part;         ///< the part of the call that launches the function; empty: the call has one kernel
  std::string function;     ///< demangled; empty when no function was measured
  std::string missing;      ///< why there are no instructions, in words; empty: there are
  std::string attribution;  ///< how the phases were found, as in PhaseTable
  std::optional<PhaseInference> inference;  ///< present if inference from machine code was tried
  double samples = 0.0;                     ///< in the function, without the branch skid if it was counted
  std::optional<double> call_share_ratio;   ///< the function's share of the call's samples; absent: not sampled
  bool counted = false;
  /// Basis of the shares: "samples"; without samples "executed instructions".
  std::string weighed_by;
};

/// Measurements of an instruction, or of all instructions in a line. What was not measured is absent.
struct CodeCost {
  std::optional<double> share_ratio;  ///< share of the function's samples, or executed instructions (weighed_by)
  double samples = 0.0;
  std::vector<StallShare> stalls;  ///< shares of its samples, worst first; without "selected"
  std::optional<double> executed;  ///< by warps
  std::optional<double> threads_per_instruction;
  std::optional<double> shared_wavefronts;  ///< absent if it took none
  std::optional<double> excess_wavefronts;  ///< those of them that bank conflicts caused
  std::optional<double> global_sectors;     ///< sectors of 32 bytes requested from L1; absent if it took none
  std::optional<double> excess_sectors;     ///< those of them that threads side by side would not need
};

struct ListedInstruction {
  std::size_t index = 0;  ///< in its function, from 0
  std::uint32_t offset = 0;
  std::string phase;  ///< kUnattributed: none
  std::string
      grade;  ///< "direct", "derived", "guess"; "named" by the code's functions, "map", "opcode"; empty: no phase
  std::string reason;  ///< why, in one word: "product", "function"; empty: no phase
  CodeCost cost;
  std::optional<InlineFrame> place;  ///< the innermost source line; absent: no line information
  std::string text;                  ///< "@!P0 HMMA.16816.F32 R4, R8, R12, R4"
};

/// The instructions of a function, by address.
struct InstructionListing {
  ListedCode code;
  std::vector<ListedInstruction> instructions;
  std::size_t of_instructions = 0;  ///< instructions in the function; fewer are listed if only the hottest were
                                    ///< requested
};

struct PhaseShare {
  std::string phase;
  double ratio = 0.0;  ///< share of the line's weight
};

/// A line of a source file and the instructions that come from it.
struct ListedLine {
  std::string file;
  int line = 0;
  std::vector<PhaseShare> phases;  ///< largest first
  CodeCost cost;
  std::size_t instructions = 0;
  std::optional<std::string> text;  ///< the line's text; absent: the file was not read
};

/// The source lines of a function, hottest first; for code without lines its instructions, hottest first.
struct SourceListing {
  ListedCode code;
  std::vector<ListedLine> lines;
  std::vector<ListedInstruction> instructions;  ///< only if no instruction has a line
  std::size_t of_lines = 0;                     ///< number of lines, or instructions, in the function
  std::optional<double> unplaced_ratio;         ///< share of instructions without a line; absent: not weighed
  std::vector<std::string> read_files;          ///< files whose text this machine has read
  std::vector<std::string> changed_files;       ///< changed after the recording was made: lines may have moved
};

/// A source file, as far as this machine can read it.
struct SourceText {
  std::string file;                ///< its name in the recording
  std::vector<std::string> lines;  ///< without line ends
  std::string unread;              ///< why it was not read, in words; empty: it was
  bool changed = false;            ///< after the recording was made: lines may have moved
  bool outside = false;            ///< unread, because it is not below the folder of sources
  bool differs = false;            ///< unread, because it is not what was recorded
};

}  // namespace fa_profile
