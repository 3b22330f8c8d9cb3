#include "cuda_tool.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>
#include <system_error>

#include "fa_profile/cuda_toolkits.h"
#include "fa_profile/error.h"

namespace fa_profile::sass {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

std::optional<std::string> FindCudaTool(const std::string& name, const char* variable) {
  if (const std::string named = Variable(variable); !named.empty()) {
    if (IsProgram(named)) return named;
    throw Error(std::string(variable) + " is " + named + ", which is not a program",
                std::string("set ") + variable + " to the path of " + name + ", or unset it");
  }
  std::vector<fs::path> folders;
  std::istringstream path(Variable("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) folders.emplace_back(folder);
  for (const fs::path& toolkit : CudaToolkits()) folders.push_back(toolkit / "bin");
  for (const fs::path& folder : folders) {
    if (!folder.empty() && IsProgram(folder / name)) return (folder / name).string();
  }
  return std::nullopt;
}

ChildEnd RunCudaTool(const std::vector<std::string>& arguments, const std::string& folder, double limit_s) {
  const ChildLimits limits{.seconds = limit_s,
                           .output = std::numeric_limits<std::size_t>::max(),
                           .folder = folder,
                           .ends_with_thread = true};
  ChildEnd end = RunChildGroup(arguments.front(), arguments, limits);
  if (end.timed_out) throw Error(arguments.front() + " " + Describe(end));
  return end;
}

}  // namespace fa_profile::sass
