#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fa_profile {

/// Something that can be measured: a fa-profile program, which holds the ladder, or a kernel library (kernel_abi.h),
/// which this very program loads.
struct GateBuild {
  std::string path;       ///< as given
  std::string program;    ///< what is started, an absolute path
  std::string library;    ///< absolute path; empty: the program's own kernels
  std::string kernel_id;  ///< of the library, as it calls itself; empty without one
};

/// Finds the build at `path`: a program, a folder with one (cli/fa-profile, bin/fa-profile or fa-profile), or a kernel
/// library (*.so, or a name such as libmine.so.2). Throws Error, with the cure, when there is none, when the program
/// does not start or is older than the gate, and when the library cannot be loaded or has no name. `tool`: the program
/// that loads libraries; empty: this one.
GateBuild FindGateBuild(const std::string& path, const std::string& tool = "");

/// Kernels and shapes, each of them with each: what a process is asked for.
struct GateRequest {
  std::vector<std::string> kernels;    ///< ids, as the base calls them; empty: those that `pattern` finds
  std::string pattern;                 ///< regular expression; for libraries not used
  std::vector<std::string> shapes;     ///< AttentionShape::ToString(); empty: the default shape
  std::vector<std::string> libraries;  ///< kernel libraries beside the build's own kernels
  int device = 0;
};

/// argv of the process that times: it prints one line of JSON (timing_sample.h).
std::vector<std::string> TimingCommand(const GateBuild& build, const GateRequest& request, int launches,
                                       std::uint64_t order);

/// argv of the process that verifies `draws` random inputs, counts and samples, and writes a recording.
std::vector<std::string> RecordingCommand(const GateBuild& build, const GateRequest& request, int draws,
                                          const std::string& output);

/// The same as a line for a shell.
std::string ShellLine(const std::vector<std::string>& arguments);

}  // namespace fa_profile
