#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile::gate {

/// Version of a release as JSON (docs/release.schema.json). A reader takes its own version and older ones.
inline constexpr int kReleaseVersion = 1;
inline constexpr const char* kReleaseFormat = "fa-profile release";

/// Machine code of one kernel for one architecture, in one file of a package. Absent: the code does not say.
struct ReleaseCode {
  /// Demangled, with parameters, without namespaces that only name a version or a build; a name of over 400 bytes is
  /// cut and ends in a hash.
  std::string kernel;
  std::string architecture;  ///< "sm_90a"
  std::string file;          ///< in the package, without what differs from release to release; empty: the package
  std::string code_hash;     ///< 16 hexadecimal digits; equal for equal instructions and constants
  std::int64_t code_bytes = 0;
  std::optional<int> registers_per_thread;
  std::optional<std::int64_t> stack_frame_bytes;  ///< per thread
  std::int64_t static_shared_memory_bytes = 0;
  std::optional<int> threads_per_block;  ///< the most that it was compiled for
  /// Theoretical, with static shared memory alone: of blocks of threads_per_block, and what registers allow any block.
  std::optional<double> occupancy_ratio;
  std::optional<double> occupancy_by_registers_ratio;
  bool is_device_debug = false;  ///< built with nvcc -G: not optimised
  /// Without padding. Absent: the architecture's encoding is not known; accesses of local memory are then 0 without a
  /// stack frame.
  std::optional<int> instructions;
  std::optional<int> loop_instructions;
  std::optional<int> local_accesses;  ///< loads and stores of local memory: spilled registers, arrays on the stack
  std::optional<int> loop_local_accesses;
  std::optional<int> tensor_instructions;
  bool loops_known = true;  ///< false: an indirect branch may lead anywhere, and more may be in loops
};

/// PTX of a kernel or LTO-IR of a file, which a driver or a linker compiles.
struct ReleaseLaterCode {
  std::string kernel;        ///< as ReleaseCode::kernel; empty: LTO-IR, or functions of no kernel
  std::string architecture;  ///< "compute_90"
  std::string file;
  std::string hash;
};

/// The GPU code of a package.
struct Release {
  std::string origin;              ///< file name of the package
  std::int64_t package_bytes = 0;  ///< of the file, or of all files in the folder
  int files = 0;                   ///< with GPU code
  std::vector<ReleaseCode> code;   ///< sorted by kernel, architecture, file, hash; each once
  std::vector<ReleaseLaterCode> later;
  std::vector<std::string> unread;  ///< what may hold machine code and was not read, and why: at most 100
  std::int64_t unread_more = 0;     ///< the number of those that are not named there
};

/// The most that is read back.
inline constexpr std::size_t kLargestRelease = std::size_t{64} << 20U;

/// JSON, the same bytes for the same release: one kernel a line.
std::string ToJson(const Release& release);

/// Whether a text begins like a release as JSON.
bool IsReleaseText(std::string_view text);

/// Reads what ToJson() wrote. Hostile input: throws Error, with the place, for anything else.
Release ReleaseFromJson(const std::string& text, const std::string& name);

}  // namespace fa_profile::gate
