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

/// Starts `program` (a path, or a name that PATH finds) with `arguments`, argv[0] first, and this process's
/// environment and streams. Throws Error when it cannot be started: whatever exit code it gives later is its own.
pid_t StartChild(const std::string& program, const std::vector<std::string>& arguments);

/// A write beyond the limit of file sizes becomes an error (EFBIG) of this process, which would be killed otherwise. A
/// child that starts later has the signal as this process had it before.
void IgnoreFileSizeSignal();

/// Waits for the end of a child that StartChild() gave; its status as waitpid() gives it.
int WaitForChild(pid_t child);

/// What a child that was run to its end wrote to stdout, the first MiB of it, and its status as waitpid() gives it.
struct ChildOutput {
  std::string text;
  int status = 0;
};

/// Runs a child to its end. Throws Error like StartChild(). `stdin_descriptor`: a file that it reads as its stdin; -1:
/// this process's.
ChildOutput CaptureChild(const std::string& program, const std::vector<std::string>& arguments,
                         int stdin_descriptor = -1);

/// What a child may use up before it is ended.
struct ChildLimits {
  double seconds = 120.0;
  const std::atomic<bool>* interrupted = nullptr;  ///< set by a signal's handler: end it now; nullptr: never
  std::size_t output = 1 << 20;                    ///< bytes that are kept of each stream: the last ones
  std::string folder{};                            ///< it runs there; empty: in this process's working folder
  std::function<bool()> cancelled{};               ///< asked many times a second; true: end it now; empty: never
  bool ends_with_thread = false;  ///< it is killed when the calling thread ends, as when a signal ends this process
};

/// How a child of RunChildGroup() ended.
struct ChildEnd {
  std::string out;  ///< the end of stdout
  std::string err;  ///< the end of stderr
  int status = 0;   ///< as waitpid() gives it
  bool timed_out = false;
  bool interrupted = false;  ///< or cancelled
  double seconds = 0.0;      ///< it ran
};

/// Runs a child that may not end, in a separate process group. The group is killed when a limit is reached or when the
/// child ends. Processes that left the group are not waited for. The child's stdin is empty. Throws Error like
/// StartChild().
ChildEnd RunChildGroup(const std::string& program, const std::vector<std::string>& arguments,
                       const ChildLimits& limits);

/// A child that answers messages, in a separate process group that ends with this object. Its stdin is empty, and
/// what it prints is kept. Any code in it may send a message: a message is a claim.
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
