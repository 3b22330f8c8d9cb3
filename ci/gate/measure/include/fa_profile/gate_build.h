#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace fa_profile::gate {

/// A build that can be measured: a fa-profile program with its ladder, or a kernel library (kernel_abi.h), which this
/// program loads.
struct GateBuild {
  std::string path;       ///< as given
  std::string program;    ///< absolute path of the program to start
  std::string library;    ///< absolute path; empty: the program's own kernels
  std::string kernel_id;  ///< the library's name for its kernel; empty without a library
};

/// Finds the build at `path`: a program, a folder with one (cli/fa-profile, bin/fa-profile or fa-profile), or a kernel
/// library (*.so, or a name such as libmine.so.2). Throws Error, with the cure, if it is not found, if the program does
/// not start or is older than the gate, and if the library cannot be loaded or has no name. `tool`: the program that
/// loads libraries; empty: this one.
GateBuild FindGateBuild(const std::string& path, const std::string& tool = "");

/// What a process measures: each of the kernels at each of the shapes.
struct GateRequest {
  std::vector<std::string> kernels;    ///< the base's ids; empty: those that match `pattern`
  std::string pattern;                 ///< regular expression; ignored for libraries
  std::vector<std::string> shapes;     ///< Shape::ToString(); empty: the default shape
  std::vector<std::string> libraries;  ///< kernel libraries in addition to the build's kernels
  std::set<std::string> metrics;       ///< ids of the catalogue that are recorded beside the deterministic ones
  int device = 0;
};

/// argv of a timing process: it prints one line of JSON (timing_sample.h).
std::vector<std::string> TimingCommand(const GateBuild& build, const GateRequest& request, int launches,
                                       std::uint64_t order);

/// argv of a recording process: it verifies `draws` random inputs, counts, samples, and writes a recording.
std::vector<std::string> RecordingCommand(const GateBuild& build, const GateRequest& request, int draws,
                                          const std::string& output);

/// The same as a line for a shell.
std::string ShellLine(const std::vector<std::string>& arguments);

}  // namespace fa_profile::gate
