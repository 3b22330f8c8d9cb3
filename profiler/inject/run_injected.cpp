#include "fa_profile/run_injected.h"

#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/inject_protocol.h"
#include "fa_profile/private_folder.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

// Beside the program in a build folder, or in ../lib of an installation.
std::string FindInjectionLibrary() {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& candidate :
       {folder / "libfa_profile_inject.so", folder / FA_PROFILE_INSTALL_LIB_FROM_BIN / "libfa_profile_inject.so"}) {
    if (fs::exists(candidate, ignored)) return fs::canonical(candidate, ignored).string();
  }
  throw Error("libfa_profile_inject.so is missing beside the program", "build or install fa-profile again");
}

// When the file was written last; absent when it does not exist.
std::optional<fs::file_time_type> LastWrite(const std::string& path) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(path, error);
  return error ? std::nullopt : std::optional(time);
}

// How a program ended that left no recording.
std::string WhatItDid(int status, const std::string& kernel_pattern) {
  if (WIFSIGNALED(status)) return std::string(" was killed (") + strsignal(WTERMSIG(status)) + ")";
  std::string text = " launched no kernel";
  if (!kernel_pattern.empty()) text += " that matches " + kernel_pattern;
  if (WEXITSTATUS(status) != 0) text += "; its exit code is " + std::to_string(WEXITSTATUS(status));
  return text;
}

}  // namespace

InjectedEnd RunInjected(const InjectedRun& run) {
  const PrivateFolder folder;
  const std::string metrics = (folder.path() / "metrics").string();
  std::string lines;
  for (const std::string& metric : run.metrics) lines += metric + '\n';
  WriteWholeFile(metrics, lines);
  const std::pair<const char*, std::string> environment[] = {
      {"CUDA_INJECTION64_PATH", FindInjectionLibrary()},
      {kInjectOutput, fs::absolute(run.output).string()},
      {kInjectOverwrite, run.overwrite ? "1" : "0"},
      {kInjectMetrics, metrics},
      {kInjectSet, run.built_in_set},
      {kInjectSession, WriteSession(run.session)},
      {kInjectCache, run.cache_dir},
      {kInjectKernelPattern, run.kernel_pattern},
      {kInjectMaxLaunches, std::to_string(run.max_launches)},
  };
  // The library would find the existing file only inside the program, which has then run for nothing.
  if (std::error_code ignored; !run.overwrite && fs::exists(run.output, ignored)) {
    throw Error("recording " + run.output + " exists", "give another name with -o, or --force to replace it");
  }
  for (const auto& [name, value] : environment) setenv(name, value.c_str(), /*overwrite=*/1);

  const std::string part = run.output + ".part";
  const auto output_before = LastWrite(run.output);
  const auto part_before = LastWrite(part);
  const pid_t child = StartChild(run.program[0], run.program);
  (void)std::signal(SIGINT, SIG_IGN);  // this process stays to report what was measured
  const int status = WaitForChild(child);
  // An older file with the same name is not a measurement of this run.
  if (LastWrite(run.output) != output_before) return {run.output, status};
  if (LastWrite(part) != part_before) return {part, status};
  throw Error("nothing was measured: " + run.program[0] + WhatItDid(status, run.kernel_pattern),
              "kernels launched by a CUDA graph are not seen; the output of the program may tell more");
}

}  // namespace fa_profile
