#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile::gate {

/// A warning of NVIDIA's compilers. Empty fields: not in the log.
struct CompilerWarning {
  std::string text;    ///< one line without paths, line numbers and mangled names
  std::string symbol;  ///< mangled name of the function it mentions
  std::string file;    ///< path as in the log
  std::optional<int> line;
  std::string unit;  ///< file name of the compiled source
};

/// The warnings of nvcc, ptxas and nvlink in a build's output (make, ninja, or nvcc itself), in order, each once.
/// Includes spills for `architecture` reported by ptxas -v, and its notes on lost performance, but no warnings of the
/// host compiler. Hostile input: takes time in proportion to the text.
std::vector<CompilerWarning> ParseBuildLog(std::string_view log, const std::string& architecture);

}  // namespace fa_profile::gate
