#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/descriptor.h"

namespace fa_profile {

/// Whether this is a file that the user may execute.
bool IsProgram(const std::string& path);

/// Starts `program` (a path, or a name found on PATH) with `arguments`, argv[0] first, and this process's environment
/// and streams. Throws Error if it cannot be started: any later exit code is its own.
pid_t StartChild(const std::string& program, const std::vector<std::string>& arguments);

/// A write beyond the file size limit becomes an error (EFBIG) in this process, which would be killed otherwise.
/// Children started later get the signal's previous action.
void IgnoreFileSizeSignal();

/// Waits for the end of a child from StartChild(); returns its status, as from waitpid().
int WaitForChild(pid_t child);

/// The stdout of a child that was run to its end, the first MiB of it, and its status, as from waitpid().
struct ChildOutput {
  std::string text;
  int status = 0;
};

/// Runs a child to its end. Throws Error like StartChild(). `stdin_descriptor`: a file for its stdin; -1: this
/// process's.
ChildOutput CaptureChild(const std::string& program, const std::vector<std::string>& arguments,
                         int stdin_descriptor = -1);

/// What a child may use before it is ended.
struct ChildLimits {
  double seconds = 120.0;
  const std::atomic<bool>* interrupted = nullptr;  ///< set by a signal's handler: end it now; nullptr: never
  std::size_t output = 1 << 20;                    ///< bytes kept of each stream: the last ones
  std::string folder{};                            ///< its working folder; empty: this process's
  std::function<bool()> cancelled{};               ///< called many times a second; true: end it now; empty: never
  bool ends_with_thread = false;  ///< it is killed when the calling thread ends, for example when a signal ends this
                                  ///< process
};

/// How a child of RunChildGroup() ended.
struct ChildEnd {
  std::string out;  ///< the end of stdout
  std::string err;  ///< the end of stderr
  int status = 0;   ///< as waitpid() gives it
  bool timed_out = false;
  bool interrupted = false;  ///< or cancelled
  double seconds = 0.0;      ///< how long it ran
};

/// Runs a child that may not end, in a separate process group. The group is killed when a limit is reached or when the
/// child ends. Processes that left the group are not waited for. The child's stdin is empty. Throws Error like
/// StartChild().
ChildEnd RunChildGroup(const std::string& program, const std::vector<std::string>& arguments,
                       const ChildLimits& limits);

/// A child that answers messages, in a separate process group that ends with this object. Its stdin is empty, and its
/// output is kept. Any code in it may send a message: a message is only a claim.
class ChildSession {
 public:
  static constexpr int kChannel = 3;     ///< the child's descriptor for messages, a SOCK_SEQPACKET socket
  static constexpr int kFirstExtra = 4;  ///< its descriptor for the first of `extras`, and so on
  static constexpr std::size_t kLongestMessage = 128 << 10;  ///< bytes

  /// Throws Error like StartChild(). `environment`: "NAME=VALUE" texts that replace this process's.
  ChildSession(const std::string& program, const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment = {}, const std::vector<int>& extras = {});
  ~ChildSession();
  ChildSession(const ChildSession&) = delete;
  ChildSession& operator=(const ChildSession&) = delete;

  /// False: the child has ended, or does not read.
  bool Send(std::string_view message) const;
  /// Absent: the child ended, sent nothing within the time, or `interrupted` was set.
  std::optional<std::string> Receive(double seconds, const std::atomic<bool>* interrupted = nullptr);
  /// Kills the group. `timed_out` and `interrupted` say why the last Receive() was absent.
  ChildEnd End();

 private:
  pid_t leader_ = 0;
  Descriptor channel_;
  Descriptor printed_;
  ChildEnd end_;
  bool ended_ = false;
};

/// "was killed by signal 11 (Segmentation fault)", "did not end within 120 s", "ended with exit code 2: the last line
/// of stderr that is not blank"; empty: exit code 0.
std::string Describe(const ChildEnd& end);

}  // namespace fa_profile
