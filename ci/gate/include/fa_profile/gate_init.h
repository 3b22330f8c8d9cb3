#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fa_profile::gate {

/// What `fa-profile gate init` writes for a repository that has no gate yet.
struct GateInitOptions {
  std::vector<std::string> files;         ///< recordings, evidence (.json), or builds with machine code
  std::string thresholds;                 ///< the threshold file to write
  std::string from = "OWNER/fa-profile";  ///< where workflows get the action or the template from
  bool has_groups = false;                ///< `from` may be GROUP/GROUP/REPOSITORY, as on GitLab
  std::string version;                    ///< of it, "v0.2.0"
  /// Workflows to write: where, and a text in which @FROM@, @VERSION@, @LIBRARY@ and @THRESHOLDS@ are filled in.
  std::vector<std::pair<std::string, std::string>> workflows;
};

/// The first of `files` that can be what workflows compare. Absent: none of them.
std::optional<std::string> ComparedFile(const std::vector<std::string>& files);

/// Of ComparedFile() in workflows, where it is absent.
inline constexpr const char* kSomeLibrary = "build/libmine.so";

/// Writes all files, or none, and returns their paths. Where a threshold file is there, workflows that read it are
/// written alone. Throws Error when a file is there already or cannot be written, when one cannot be read, and for
/// names that a workflow could not hold.
std::vector<std::string> InitGate(const GateInitOptions& options);

}  // namespace fa_profile::gate
