#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

/// Something NVIDIA's compilers warned of. Empty where the log does not say.
struct CompilerWarning {
  std::string text;    ///< one line, without paths, line numbers and mangled names: the same for the same fault
  std::string symbol;  ///< mangled, of the function it names
  std::string file;    ///< path as the log has it
  int line = 0;        ///< 0: not known
  std::string unit;    ///< file name of the source that was being compiled
};

/// The warnings of nvcc, ptxas and nvlink in what a build printed (make, ninja, or nvcc itself), in its order, each
/// once. With ptxas -v a function's spills for `architecture` count too, and so do its notes of lost performance.
/// Warnings of the host compiler do not. Hostile input: takes time in proportion to the text.
std::vector<CompilerWarning> ParseBuildLog(std::string_view log, const std::string& architecture);

}  // namespace fa_profile
