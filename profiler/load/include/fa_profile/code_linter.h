#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/kernel_lint.h"
#include "fa_profile/lint_files.h"

namespace fa_profile::load {

/// Limits on what is read at once.
struct LintLimits {
  std::uint64_t cubin_bytes = std::uint64_t{64} << 20U;  ///< per cubin; its text takes ten times as much
  /// Code per run of nvdisasm: a run starts when it has this much, and takes less than twice as much, or one larger
  /// kernel. Its instructions take ten times the memory; nvdisasm, which prints each once, up to 80 times.
  std::uint64_t run_code_bytes = std::uint64_t{2} << 20U;
  /// A run starts with less if rows have waited this long for its first cubin.
  double row_wait_s = 2.0;
};

/// Called from one thread at a time, while code is read.
struct LintWatch {
  /// How many cubins and skipped files (PackageLint::found) are done, of how many: 0 until another thread has counted.
  std::function<void(int done, int total)> progress{};
  /// Each row, in the order of the result, once those before it are done.
  std::function<void(const KernelLint& kernel)> kernel{};
  /// A file that was skipped, or all of its cubins were, and why: of several cubins the first.
  std::function<void(const std::string& file, const Error& why)> unread_file{};
  /// Becomes readable when the reading must stop (StopSignals::descriptor()); -1: never.
  int stop = -1;
  /// Gets what was read so far when `stop` becomes readable. No other function is called at the same time or later. It
  /// must end the process: runs of nvdisasm end with it, and nothing waits for them.
  std::function<void(const PackageLint& so_far)> stopped{};
};

/// Lints the kernels of any number of files. Several threads work, each with the cubins for one run of nvdisasm, from
/// any files. Equal cubins are disassembled once, and count as read.
class CodeLinter {
 public:
  enum class Rows {
    kAll,        ///< every kernel, but those of equal cubins in a file once
    kAttention,  ///< attention kernels, with labels; most others are refused without nvdisasm
  };

  /// What is passed must outlive this. `count`: the total for progress, 0 if not known yet. Throws Error: no nvdisasm.
  CodeLinter(const LintRequest& request, Rows rows, const LintWatch& watch, const LintLimits& limits,
             std::function<int()> count = {});
  ~CodeLinter();
  CodeLinter(const CodeLinter&) = delete;
  CodeLinter& operator=(const CodeLinter&) = delete;

  /// Lints a file, called `name` in the result. It may be gone after the call: what remains to be disassembled is kept
  /// in memory. The file is skipped if it cannot be read, or has no cubin for the request's architecture.
  void LintFile(const std::string& name, const std::string& path);

  /// Skips a whole file, which LintWatch::unread_file then gets.
  void SkipFile(const std::string& file, const Error& why);
  /// Skips anything else.
  void Skip(const std::string& name, const std::string& why);

  /// Waits for the rest. Throws Error when no kernel matches the request's pattern.
  PackageLint Take();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace fa_profile::load
