#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fa_profile {

/// Where the CUDA toolkit's program `name` is: `variable` of the environment, PATH, CUDA_HOME, CUDA_PATH,
/// /usr/local/cuda, or the folders under the user's cache that ci/setup.sh fills. Absent when nowhere. Throws Error
/// when `variable` is set and names no program.
std::optional<std::string> FindCudaTool(const std::string& name, const char* variable);

/// What a program left behind.
struct ProgramResult {
  int exit_code = 0;  ///< 128 + the signal's number when one ended it
  std::string out;
  std::string err;
};

/// Runs a program in `folder`, without a shell, and takes all it prints. Throws Error when it cannot be started, or
/// runs longer than `limit_s` (it is killed then).
ProgramResult RunProgram(const std::vector<std::string>& arguments, int limit_s, const std::string& folder = ".");

/// A folder of its own under the system's temporary one, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace fa_profile
