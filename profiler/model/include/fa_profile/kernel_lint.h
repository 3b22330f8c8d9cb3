#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/profile.h"

namespace fa_profile {

/// Instructions on local memory (a thread's stack): how many, and the bytes a thread moves if each runs once.
struct LocalAccesses {
  int stores = 0;
  int loads = 0;
  std::int64_t store_bytes = 0;
  std::int64_t load_bytes = 0;
};

/// Instructions of one phase at one depth of loops.
struct PhaseCode {
  std::string phase;
  int loop_depth = 0;                 ///< 0: in no loop
  int instructions = 0;               ///< without padding
  std::map<std::string, int> counts;  ///< by kLintCounts, including those that are 0
};

/// The counts in PhaseCode. tensor: matrix instructions; exponential: MUFU.EX2; shared: loads and stores, matrix ones
/// included; global: also generic accesses and asynchronous copies; local: the stack; barrier: BAR; atomic: on any
/// memory.
inline constexpr std::array<const char*, 7> kLintCounts = {"tensor", "exponential", "shared", "global",
                                                           "local",  "barrier",     "atomic"};

/// What the compiler's output alone says about one kernel in one cubin. Absent: the cubin does not say.
struct KernelLint {
  std::string file;          ///< as given
  std::string architecture;  ///< "sm_90a"
  std::string name;          ///< demangled
  std::string symbol;        ///< mangled
  std::string label;         ///< short, unique among the kernels of its file and architecture; empty: not looked for
  std::uint64_t code_hash =
      0;  ///< FNV-1a of the kernel's instructions, subroutines and padding included, and of initialised constants
  std::int64_t code_bytes = 0;
  bool has_line_information = false;

  std::optional<int> registers_per_thread;
  std::optional<std::int64_t> stack_frame_bytes;  ///< per thread
  LocalAccesses spills;                           ///< spilled registers, by ptxas's way of counting
  LocalAccesses arrays;                           ///< all other accesses to the stack
  std::int64_t static_shared_memory_bytes = 0;
  /// As given by the caller; otherwise 0, or absent if the code uses shared memory and has none of a fixed size.
  std::optional<std::int64_t> dynamic_shared_memory_bytes;
  std::optional<int> threads_per_block;
  std::string threads_source;          ///< "--threads", "launch bounds", "required threads"; empty: not known
  std::optional<Occupancy> occupancy;  ///< for such blocks; its waves mean nothing here
  /// If the threads or the shared memory are not known: upper bound of the theoretical occupancy for any value.
  std::optional<double> occupancy_limit_ratio;
  std::vector<std::string> externals;  ///< functions it calls that are in no cubin: "vprintf"
  int unknown_branches = 0;            ///< indirect branches whose targets the cubin lacks: loops are then not known

  std::string attribution;                  ///< how phases were found, as in PhaseTable
  std::optional<PhaseInference> inference;  ///< as in PhaseTable, weighed by the code's instructions
  std::vector<PhaseCode> phases;            ///< in code order, each by loop depth
  std::vector<Finding> findings;            ///< in the order of the rules; weights are 0: no time was measured
};

/// A file or folder of a package that was not read, "FILE (CUBIN)" for one cubin of a file, or "" for the rest of the
/// package, and why.
struct SkippedFile {
  std::string file;
  std::string why;
};

/// Files skipped for the same reason.
struct SkippedKind {
  std::string why;
  std::string first;  ///< SkippedFile::file
  int count = 0;
};

/// Ordered by their first file.
inline std::vector<SkippedKind> KindsOf(const std::vector<SkippedFile>& skipped) {
  std::vector<SkippedKind> kinds;
  std::map<std::string, std::size_t> places;
  for (const SkippedFile& one : skipped) {
    const auto [place, is_new] = places.emplace(one.why, kinds.size());
    if (is_new) kinds.push_back({one.why, one.file});
    ++kinds[place->second].count;
  }
  return kinds;
}

/// "FILE: WHY", or for several "12 cubins or files, the first FILE: WHY".
inline std::string SkippedText(const SkippedKind& kind) {
  if (kind.first.empty()) return kind.why;
  const std::string several = kind.count > 1 ? std::to_string(kind.count) + " cubins or files, the first " : "";
  return several + kind.first + ": " + kind.why;
}

/// The kernels of files. Each cubin, and anything else that may hold machine code, was read or skipped. A cubin that
/// equals another that was read counts as read.
struct FileLint {
  std::vector<KernelLint> kernels;
  int found = 0;  ///< `read` + `skipped_files`
  int read = 0;
  int skipped_files = 0;             ///< each cubin counts, as in `skipped`
  std::vector<SkippedFile> skipped;  ///< the first 10,000: "FILE (CUBIN)", or FILE if nothing in it was read
  bool is_complete = true;           ///< otherwise the reading was stopped, and this is what was read before
};

/// The attention kernels of a Python package.
struct PackageLint {
  std::string package;                 ///< as given
  int files = 0;                       ///< number of files with machine code that was not all skipped
  int kernels = 0;                     ///< kernels in them, for all architectures
  std::vector<KernelLint> attention;   ///< `file` is the name in the package
  std::map<std::string, int> refused;  ///< the other kernels, by the word of the refusal
  int found = 0;                       ///< these four as in FileLint
  int read = 0;
  int skipped_files = 0;
  std::vector<SkippedFile> skipped;
  bool is_complete = true;  ///< otherwise the reading was stopped, and this is what was read before
  int total = 0;            ///< what `found` would have become; 0: not known, or complete
};

}  // namespace fa_profile
