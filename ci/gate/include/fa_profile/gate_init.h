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
  std::string from = "OWNER/fa-profile";  ///< source of the workflows' action or template
  bool has_groups = false;                ///< `from` may be GROUP/GROUP/REPOSITORY, as on GitLab
  std::string version;                    ///< its version, "v0.2.0"
  /// Workflows to write: path, and a text in which @FROM@, @VERSION@, @LIBRARY@ and @THRESHOLDS@ are filled in.
  std::vector<std::pair<std::string, std::string>> workflows;
};

/// The first of `files` that workflows can compare. Absent: none of them.
std::optional<std::string> ComparedFile(const std::vector<std::string>& files);

/// Used in workflows if there is no ComparedFile().
inline constexpr const char* kSomeLibrary = "build/libmine.so";

/// Writes all files, or none, and returns their paths. If a threshold file exists, only workflows that read it are
/// written. Throws Error when a file already exists or cannot be written, when one cannot be read, and for names that a
/// workflow could not hold.
std::vector<std::string> InitGate(const GateInitOptions& options);

}  // namespace fa_profile::gate
