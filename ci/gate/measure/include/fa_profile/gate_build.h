#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace fa_profile::gate {

/// A build that can be measured: a fa-profile program with its ladder, a kernel library (kernel_abi_2.h), which this
/// program loads, or a Python kernel (docs/python-kernels.md), which this program runs.
struct GateBuild {
  std::string path;       ///< as given
  std::string program;    ///< absolute path of the program to start
  std::string library;    ///< absolute path; empty: the program's own kernels
  std::string python;     ///< FILE.py:FUNCTION, with an absolute path; empty: not a Python kernel
  std::string kernel_id;  ///< the library's name for its kernel, or the Python function's; empty for a program
  /// Hash of the library, or of the Python file and its function; empty: unknown. A program's is not compared: it
  /// changes with everything else in the program.
  std::string host_code_hash;
  std::string base_id;  ///< kernel_id of the build that it is compared with; empty: as kernel_id
};

/// Finds the build at `path`: a program, a folder with one (cli/fa-profile, bin/fa-profile or fa-profile), a kernel
/// library (*.so, or a name such as libmine.so.2), or FILE.py:FUNCTION. Throws Error, with the cure, if it is not
/// found, if the program does not start or is older than the gate, and if the library cannot be loaded or has no name.
/// `tool`: the program that loads libraries and runs Python; empty: this one.
GateBuild FindGateBuild(const std::string& path, const std::string& tool = "");

/// The base's name for the kernel, or Python kernel's case, that `build` calls `kernel`.
std::string NameInBase(const GateBuild& build, const std::string& kernel);

/// The work of a process: each of the kernels at each of the shapes.
struct GateRequest {
  std::vector<std::string> kernels;    ///< the base's ids; empty: those that match `pattern`
  std::string pattern;                 ///< regular expression; ignored for libraries
  std::vector<std::string> shapes;     ///< Shape::ToString(); empty: the default shape
  std::vector<std::string> libraries;  ///< kernel libraries in addition to the build's kernels
  std::set<std::string> metrics;       ///< ids of the catalogue to record in addition to the deterministic ones
  int device = 0;
  std::string python = "python3";  ///< the interpreter for Python kernels
  double timeout_seconds = 120.0;  ///< for one case of a Python kernel
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
