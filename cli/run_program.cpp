#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "commands.h"
#include "fa_profile/child_process.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/inject_protocol.h"
#include "run_setup.h"

namespace fa_profile {
namespace {

// A file that is removed when the run ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<std::string>& lines) {
    std::string name = (std::filesystem::temp_directory_path() / "fa-profile-XXXXXX").string();
    const int descriptor = mkstemp(name.data());
    if (descriptor < 0) {
      throw Error("mkstemp", std::strerror(errno), "no temporary file in " + name, "set TMPDIR to a writable folder");
    }
    close(descriptor);
    path_ = name;
    std::ofstream file(path_);
    for (const std::string& line : lines) file << line << '\n';
    if (!file.flush()) throw Error("the metric list cannot be written to " + path_, "is the disk full?");
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Beside the program in a build folder, or in ../lib of an installation.
std::string FindInjectionLibrary() {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const std::filesystem::path& candidate :
       {folder / "libfa_profile_inject.so", folder / FA_PROFILE_INSTALL_LIB_FROM_BIN / "libfa_profile_inject.so"}) {
    if (std::filesystem::exists(candidate, ignored)) return std::filesystem::canonical(candidate, ignored).string();
  }
  throw Error("libfa_profile_inject.so is missing beside the program", "build or install fa-profile again");
}

// When the file was written last; absent when it does not exist.
std::optional<std::filesystem::file_time_type> LastWrite(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_time_type time = std::filesystem::last_write_time(path, error);
  return error ? std::nullopt : std::optional(time);
}

// Of a program that ended and left no recording.
std::string WhatItDid(int status, const std::string& kernel_pattern) {
  if (WIFSIGNALED(status)) return std::string(" was killed (") + strsignal(WTERMSIG(status)) + ")";
  std::string text = " launched no kernel";
  if (!kernel_pattern.empty()) text += " that matches " + kernel_pattern;
  if (WEXITSTATUS(status) != 0) text += "; its exit code is " + std::to_string(WEXITSTATUS(status));
  return text;
}

}  // namespace

int RunProgram(const RunOptions& options) {
  if (const std::string why_not = WhyNoGpu(); !why_not.empty()) {
    throw Error("profiling a program needs a GPU: " + why_not, "run it on a machine where `nvidia-smi` lists one");
  }
  const std::string library = FindInjectionLibrary();
  const MetricSet set = WantedMetrics(options, OpenDevice(options.device));
  ReleaseDevice();  // the program shall have the GPU for itself
  const TemporaryFile metrics(set.metrics);
  const std::string path = OutputPath(options);
  Session session = NewSession(options, set.name);
  session.replay_mode = "kernel";
  session.cache_policy = "warm";
  const std::pair<const char*, std::string> environment[] = {
      {"CUDA_INJECTION64_PATH", library},
      {kInjectOutput, std::filesystem::absolute(path).string()},
      {kInjectOverwrite, options.overwrite ? "1" : "0"},
      {kInjectMetrics, metrics.path()},
      {kInjectSet, options.metrics.empty() && options.section_folder.empty() ? set.name : ""},
      {kInjectSession, WriteSession(session)},
      {kInjectCache, CacheDirectory()},
      {kInjectKernelPattern, options.kernel_pattern},
      {kInjectMaxLaunches, std::to_string(options.max_launches)},
  };
  // The library finds the path taken only inside the program, which has then run for nothing.
  if (std::error_code ignored; !options.overwrite && std::filesystem::exists(path, ignored)) {
    throw Error("recording " + path + " exists", "give another name with -o, or --force to replace it");
  }
  for (const auto& [name, value] : environment) setenv(name, value.c_str(), /*overwrite=*/1);

  const std::string part = path + ".part";
  const auto path_before = LastWrite(path);
  const auto part_before = LastWrite(part);
  const pid_t child = StartChild(options.program[0], options.program);
  // Ctrl-C goes to the program; this process stays to report what was measured.
  (void)std::signal(SIGINT, SIG_IGN);
  const int status = WaitForChild(child);
  // An older file at the same place is not what this run measured.
  const bool finished = LastWrite(path) != path_before;
  const std::string written = finished ? path : part;
  if (!finished && LastWrite(part) == part_before) {
    throw Error("nothing was measured: " + options.program[0] + WhatItDid(status, options.kernel_pattern),
                "kernels launched by a CUDA graph are not seen; what the program printed may say more");
  }
  PrintReport(written, *options.format, {"", {}, options.summary, options.explain, options.phase_map});
  std::cerr << fmt::format("\nrecording: {}  (again: fa-profile report {})\n", written, written);
  if (WIFSIGNALED(status)) {
    throw Error(options.program[0] + " was killed (" + strsignal(WTERMSIG(status)) + ")",
                "what was measured before is in " + written);
  }
  if (WEXITSTATUS(status) != 0) {
    std::cerr << fmt::format("fa-profile: {} ended with exit code {}\n", options.program[0], WEXITSTATUS(status));
  }
  return kExitFine;
}

}  // namespace fa_profile
