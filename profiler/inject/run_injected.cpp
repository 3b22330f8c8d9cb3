#include "fa_profile/run_injected.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "fa_profile/child_process.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/inject_protocol.h"
#include "fa_profile/notice.h"
#include "fa_profile/private_folder.h"
#include "fa_profile/recording_file.h"

namespace fa_profile::inject {
namespace {

namespace fs = std::filesystem;

// What the CUDA driver and NVTX load into a program.
constexpr const char* kCudaLibrary = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxLibrary = "NVTX_INJECTION64_PATH";

volatile pid_t the_program = 0;  // signals are passed on to it

// Next to the program in a build folder, or in ../lib of an installation.
std::string FindInjectionLibrary() {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& candidate :
       {folder / "libfa_profile_inject.so", folder / FA_PROFILE_INSTALL_LIB_FROM_BIN / "libfa_profile_inject.so"}) {
    if (fs::exists(candidate, ignored)) return fs::canonical(candidate, ignored).string();
  }
  throw Error("libfa_profile_inject.so is missing next to the program", "build or install fa-profile again");
}

// The library that the user has set there; empty: none, or ours.
std::string AnotherLibrary(const char* variable, const std::string& ours) {
  const char* const other = std::getenv(variable);
  return other == nullptr || ours == other ? "" : other;
}

// Folders in which programs would find a libcupti from another CUDA than this build's.
std::vector<std::string> ForeignCuptis() {
  std::vector<std::string> found;
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
      const std::string name = entry.path().filename().string();
      // libcupti.so.12, but not libcupti.so.2025.3.1, to which it points.
      const std::string version = name.starts_with("libcupti.so.") ? name.substr(12) : "";
      if (!version.empty() && version.size() < 4 && name != FA_PROFILE_CUPTI) found.push_back(entry.path().string());
    }
  }
  return found;
}

// When the file was last written; absent if it does not exist.
std::optional<fs::file_time_type> LastWrite(const std::string& path) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(path, error);
  return error ? std::nullopt : std::optional(time);
}

// Gives a finished recording its name where the program has forbidden that to its process (seccomp). Otherwise it is
// the ".part" of a process that was killed.
std::string PartOrWhole(const std::string& path) {
  std::string part = path + ".part";
  std::error_code error;
  try {
    if (!store::RecordingReader(part).Load().session.complete) return part;
    fs::rename(part, path, error);
    if (error) return part;
    (void)store::RecordingReader(path);  // checks what a ".part" need not have
    fs::remove(part + "-journal", error);
    return path;
  } catch (const Error&) {
    fs::rename(path, part, error);  // the report says what is wrong with it
    return part;
  }
}

// The recordings that the library listed: complete, or the ".part" of a process that was killed or still runs.
void FindRecordings(const fs::path& list, InjectedEnd& end) {
  std::vector<std::string> paths;
  std::vector<std::string> killed;
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    std::string path = line.substr(0, tab);
    const auto earlier = std::ranges::find(paths, path);
    // From an earlier run, and not reported.
    if (earlier != paths.end() && tab == std::string::npos) continue;
    if (earlier != paths.end()) {  // a process was started again, as torchrun does
      killed.push_back(line.substr(tab + 1));
    } else {
      paths.push_back(std::move(path));
    }
  }
  for (const std::string& path : paths) {
    if (const std::optional<int> process = store::WriterOf(path + ".part")) {
      end.running.push_back({path, *process});
      continue;
    }
    const auto whole = LastWrite(path);
    const auto part = LastWrite(path + ".part");
    // With --force there may be an older recording and this run's part.
    if (whole && (!part || *whole >= *part)) {
      end.recordings.push_back(path);
    } else if (part) {
      end.recordings.push_back(whole ? path + ".part" : PartOrWhole(path));
    }
  }
  end.recordings.insert(end.recordings.end(), killed.begin(), killed.end());
}

// How a program that left no recording ended.
std::string WhatItDid(int status) {
  if (WIFSIGNALED(status)) return std::string(" was killed (") + strsignal(WTERMSIG(status)) + ")";
  std::string text = " launched no kernel";
  if (WEXITSTATUS(status) != 0) text += "; its exit code is " + std::to_string(WEXITSTATUS(status));
  return text;
}

}  // namespace

std::vector<Diagnosis> DiagnosePrograms() {
  std::string library;
  try {
    library = FindInjectionLibrary();
  } catch (const Error& error) {
    return {{Diagnosis::Level::kProblem, "programs", error.message(), error.hint()}};
  }
  std::vector<Diagnosis> found;
  const auto warn = [&](const char* variable, const char* consequence) {
    const std::string other = AnotherLibrary(variable, library);
    if (other.empty()) return;
    found.push_back({Diagnosis::Level::kWarning, "programs", std::string(variable) + " is " + other + consequence,
                     std::string("unset ") + variable});
  };
  warn(kCudaLibrary, ", which is not loaded into a program that fa-profile measures");
  warn(kNvtxLibrary, ", so NVTX ranges of programs are not recorded");
  for (const std::string& cupti : ForeignCuptis()) {
    found.push_back(
        {Diagnosis::Level::kWarning, "programs",
         cupti +
             " belongs to another CUDA version: a program that loads it has two copies of CUPTI, which disturb each "
             "other if both profile",
         "leave its folder out of LD_LIBRARY_PATH, or use a fa-profile built with that CUDA"});
  }
  if (found.empty()) found.push_back({Diagnosis::Level::kOk, "programs", "no other tool is loaded into them", ""});
  return found;
}

InjectedEnd RunInjected(const std::vector<std::string>& program, const InjectPlan& asked) {
  const PrivateFolder folder;
  InjectPlan plan = asked;
  plan.output = fs::absolute(plan.output).string();
  // Otherwise the library would find the existing file only inside the program, which would have run for nothing.
  const std::string first = ExpandOutput(plan.output, true);
  if (std::error_code ignored; !plan.overwrite && fs::exists(first, ignored)) {
    throw Error("recording " + first + " exists", "give another name with -o, or --force to replace it");
  }
  if (std::error_code ignored; !fs::is_directory(fs::path(first).parent_path(), ignored)) {
    throw Error("folder " + fs::path(first).parent_path().string() + " not found",
                "create it, or give another name with -o");
  }
  WriteWholeFile((folder.path() / kInjectPlanFile).string(), WriteInjectPlan(plan));
  const std::string library = FindInjectionLibrary();
  if (!AnotherLibrary(kCudaLibrary, library).empty()) {
    Notice(std::string(kCudaLibrary) + " names another library, which is not loaded while fa-profile measures");
  }
  setenv(kCudaLibrary, library.c_str(), /*overwrite=*/1);
  if (!AnotherLibrary(kNvtxLibrary, library).empty()) {
    Notice(std::string(kNvtxLibrary) + " names another library, so NVTX ranges are not recorded: unset it");
  }
  setenv(kNvtxLibrary, library.c_str(), /*overwrite=*/0);
  setenv(kInjectFolder, folder.path().c_str(), /*overwrite=*/1);

  const pid_t child = StartChild(program[0], program);
  (void)std::signal(SIGINT, SIG_IGN);  // this process stays to report what was measured
  the_program = child;
  for (const int signal : {SIGTERM, SIGHUP}) {
    (void)std::signal(signal, [](int received) { (void)kill(the_program, received); });
  }
  const int status = WaitForChild(child);
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) (void)std::signal(signal, SIG_DFL);
  InjectedEnd end;
  end.status = status;
  FindRecordings(folder.path() / kInjectRecordings, end);
  if (!end.recordings.empty() || !end.running.empty()) return end;
  throw Error("nothing was measured: " + program[0] + WhatItDid(status),
              "the output of the program may tell more; a program that clears its environment (clearenv, env -i) "
              "removes CUDA_INJECTION64_PATH and is not watched");
}

}  // namespace fa_profile::inject
