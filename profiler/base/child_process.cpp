#include "fa_profile/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "bound_child.h"
#include "fa_profile/descriptor.h"
#include "fa_profile/error.h"

namespace fa_profile {
namespace {

std::string Cure(int error) {
  if (error == ENOENT) return "give its path or a name found in PATH; for a script, check its interpreter";
  if (error == ENOEXEC) return "it is not a program for this machine; a script needs a first line such as #!/bin/sh";
  return "check its path and permissions";
}

void RequireStarted(const std::string& program, int error) {
  if (error == 0) return;
  throw Error("the program " + program + " cannot be started: " + std::strerror(error), Cure(error));
}

// posix_spawnp() and not fork(): it returns the error of a failed exec, which would otherwise look like an exit code of
// the program.
pid_t Spawn(const std::string& program, const std::vector<std::string>& arguments,
            const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
            char* const* environment = environ) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), actions, attributes, argv.data(), environment);
  RequireStarted(program, error);
  return child;
}

// SIGXFSZ's action before IgnoreFileSizeSignal(): a child gets it back.
bool restores_file_size_signal = false;

// What a child does before it becomes the program: streams, signals, and its group.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigemptyset(&defaults_);
    if (!restores_file_size_signal) return;
    sigaddset(&defaults_, SIGXFSZ);
    Require(posix_spawnattr_setsigdefault(&attributes_, &defaults_), "posix_spawnattr_setsigdefault");
    Require(posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF), "posix_spawnattr_setflags");
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void Connect(int descriptor, int stream) {
    Require(posix_spawn_file_actions_adddup2(&actions_, descriptor, stream), "posix_spawn_file_actions_adddup2");
  }
  void EmptyStdin() {
    Require(posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
            "posix_spawn_file_actions_addopen");
  }
  void ChangeTo(const std::string& folder) {
    Require(posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()), "posix_spawn_file_actions_addchdir_np");
  }
  void OwnGroup() {
    // The child must not inherit blocked or ignored signals.
    sigset_t signals;
    sigemptyset(&signals);
    Require(posix_spawnattr_setsigmask(&attributes_, &signals), "posix_spawnattr_setsigmask");
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) sigaddset(&defaults_, signal);
    Require(posix_spawnattr_setsigdefault(&attributes_, &defaults_), "posix_spawnattr_setsigdefault");
    Require(posix_spawnattr_setpgroup(&attributes_, 0), "posix_spawnattr_setpgroup");
    Require(
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF),
        "posix_spawnattr_setflags");
  }
  pid_t Start(const std::string& program, const std::vector<std::string>& arguments,
              char* const* environment = environ) const {
    return Spawn(program, arguments, &actions_, &attributes_, environment);
  }

 private:
  static void Require(int error, const char* call) {
    if (error != 0) throw Error(call, std::strerror(error), "a child process cannot be prepared");
  }

  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
  sigset_t defaults_{};
};

constexpr std::size_t kMostOutput = 1 << 20;

// Reads what is available, and keeps at least the last `most` bytes of it. False: there will be no more.
bool ReadSome(int descriptor, std::size_t most, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  text.append(buffer.data(), static_cast<std::size_t>(count));
  if (text.size() / 2 > most) text.erase(0, text.size() - most);
  return true;
}

// A child that leads its process group. It is killed before it is reaped: until then its number identifies the group.
class Group {
 public:
  explicit Group(pid_t leader) : leader_(leader) {}
  ~Group() { (void)End(); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  bool LeaderEnded() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(leader_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == leader_;
  }
  // Kills what is left, and returns the leader's status.
  int End() {
    if (!ended_) {
      (void)kill(-leader_, SIGKILL);
      status_ = WaitForChild(leader_);
      ended_ = true;
    }
    return status_;
  }

 private:
  pid_t leader_;
  bool ended_ = false;
  int status_ = 0;
};

// This process's environment with some variables replaced. Its pointers are valid as long as `replaced` and environ.
std::vector<char*> EnvironmentWith(const std::vector<std::string>& replaced) {
  std::vector<char*> variables;
  for (const std::string& variable : replaced) variables.push_back(const_cast<char*>(variable.c_str()));
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool kept =
        std::ranges::none_of(replaced, [name](std::string_view other) { return other.starts_with(name); });
    if (kept) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

// A copy of a descriptor, above all numbers that a child's plan assigns.
Descriptor Above(int descriptor) {
  constexpr int kAbove = 64;
  Descriptor copy(fcntl(descriptor, F_DUPFD_CLOEXEC, kAbove));
  if (!copy) throw Error("fcntl", std::strerror(errno), "a child process cannot be prepared");
  return copy;
}

// The last bytes of what a child printed.
std::string LastOf(int descriptor, std::size_t most) {
  const off_t size = lseek(descriptor, 0, SEEK_END);
  if (size <= 0) return {};
  std::string text(std::min(most, static_cast<std::size_t>(size)), '\0');
  const ssize_t count = pread(descriptor, text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

// Releases the memory of everything that a child printed except the last bytes: it may print without end.
void ForgetAllButTheLast(int descriptor, std::size_t bytes) {
  struct stat file {};
  const auto kept = static_cast<off_t>(bytes);
  if (fstat(descriptor, &file) != 0 || file.st_blocks * 512 <= 2 * kept) return;
  (void)fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, file.st_size - kept);
}

}  // namespace

ChildSession::ChildSession(const std::string& program, const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment, const std::vector<int>& extras) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error("socketpair", std::strerror(errno), "a child process cannot be prepared");
  }
  channel_ = Descriptor(ends[0]);
  const Descriptor inner(ends[1]);
  printed_ = Descriptor(memfd_create("fa-profile", MFD_CLOEXEC));
  if (!printed_) throw Error("memfd_create", std::strerror(errno), "a child process cannot be prepared");
  SpawnPlan plan;
  plan.EmptyStdin();
  plan.Connect(printed_.get(), STDOUT_FILENO);
  plan.Connect(printed_.get(), STDERR_FILENO);
  std::vector<Descriptor> sources;
  sources.push_back(Above(inner.get()));
  for (const int extra : extras) sources.push_back(Above(extra));
  for (std::size_t i = 0; i < sources.size(); ++i) plan.Connect(sources[i].get(), kChannel + static_cast<int>(i));
  plan.OwnGroup();
  leader_ = plan.Start(program, arguments, EnvironmentWith(environment).data());
}

ChildSession::~ChildSession() { (void)End(); }

bool ChildSession::Send(std::string_view message) const {
  return send(channel_.get(), message.data(), message.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

std::optional<std::string> ChildSession::Receive(double seconds, const std::atomic<bool>* interrupted) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  for (;;) {
    end_.interrupted = interrupted != nullptr && interrupted->load();
    end_.timed_out = std::chrono::duration<double>(Clock::now() - start).count() > seconds;
    if (end_.interrupted || end_.timed_out) return std::nullopt;
    ForgetAllButTheLast(printed_.get(), ChildLimits{}.output);
    pollfd channel{channel_.get(), POLLIN, 0};
    if (poll(&channel, 1, 20) <= 0) continue;
    std::string message(kLongestMessage, '\0');
    const ssize_t count = recv(channel_.get(), message.data(), message.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    message.resize(static_cast<std::size_t>(count));
    return message;
  }
}

ChildEnd ChildSession::End() {
  if (ended_) return end_;
  ended_ = true;
  channel_.Close();
  (void)kill(-leader_, SIGKILL);
  end_.status = WaitForChild(leader_);
  end_.err = LastOf(printed_.get(), ChildLimits{}.output);
  return end_;
}

bool IsProgram(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

pid_t StartChild(const std::string& program, const std::vector<std::string>& arguments) {
  return SpawnPlan().Start(program, arguments);
}

void IgnoreFileSizeSignal() {
  struct sigaction before {};
  (void)sigaction(SIGXFSZ, nullptr, &before);
  if (before.sa_handler != SIG_DFL) return;
  restores_file_size_signal = true;
  (void)std::signal(SIGXFSZ, SIG_IGN);
}

int WaitForChild(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

ChildOutput CaptureChild(const std::string& program, const std::vector<std::string>& arguments, int stdin_descriptor) {
  Pipe pipe = MakePipe();
  SpawnPlan plan;
  plan.Connect(pipe.write_end.get(), STDOUT_FILENO);
  if (stdin_descriptor >= 0) plan.Connect(stdin_descriptor, STDIN_FILENO);
  const pid_t child = plan.Start(program, arguments);
  pipe.write_end.Close();
  ChildOutput output;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = read(pipe.read_end.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (output.text.size() < kMostOutput) output.text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  output.status = WaitForChild(child);
  return output;
}

namespace {

pid_t StartInGroup(const std::string& program, const std::vector<std::string>& arguments, const ChildLimits& limits,
                   int out, int err) {
  if (limits.ends_with_thread) {
    pid_t child = 0;
    const Descriptor high_out = Above(out);
    const Descriptor high_err = Above(err);
    RequireStarted(program,
                   StartBoundChild({program, arguments, limits.folder, high_out.get(), high_err.get()}, child));
    return child;
  }
  SpawnPlan plan;
  plan.EmptyStdin();
  plan.Connect(out, STDOUT_FILENO);
  plan.Connect(err, STDERR_FILENO);
  if (!limits.folder.empty()) plan.ChangeTo(limits.folder);
  plan.OwnGroup();
  return plan.Start(program, arguments);
}

}  // namespace

ChildEnd RunChildGroup(const std::string& program, const std::vector<std::string>& arguments,
                       const ChildLimits& limits) {
  using Clock = std::chrono::steady_clock;
  Pipe out = MakePipe();
  Pipe err = MakePipe();
  const Clock::time_point start = Clock::now();
  const auto seconds = [&start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Group group(StartInGroup(program, arguments, limits, out.write_end.get(), err.write_end.get()));
  out.write_end.Close();
  err.write_end.Close();

  ChildEnd end;
  std::array<pollfd, 2> pipes = {pollfd{out.read_end.get(), POLLIN, 0}, pollfd{err.read_end.get(), POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&end.out, &end.err};
  bool ended = false;
  for (;;) {
    if (!ended) {
      end.timed_out = seconds() > limits.seconds;
      end.interrupted =
          (limits.interrupted != nullptr && limits.interrupted->load()) || (limits.cancelled && limits.cancelled());
      ended = group.LeaderEnded() || end.timed_out || end.interrupted;
      if (ended) {
        end.status = group.End();
        end.seconds = seconds();
      }
    }
    // All output is in the pipes now. A process that left the group may hold them open, or go on writing.
    constexpr double kLastWords = 1.0;
    if (ended && seconds() > end.seconds + kLastWords) break;
    // The leader's end does not close the pipes while a child also holds them; and it closes them a moment before its
    // end is visible.
    const int wait_ms = ended ? 0 : pipes[0].fd < 0 && pipes[1].fd < 0 ? 1 : 20;
    const int ready = poll(pipes.data(), pipes.size(), wait_ms);
    if (ready == 0 && ended) break;
    if (ready <= 0) continue;
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      if (pipes[i].fd >= 0 && pipes[i].revents != 0 && !ReadSome(pipes[i].fd, limits.output, *texts[i])) {
        pipes[i].fd = -1;
      }
    }
  }
  for (std::string* const text : texts) text->erase(0, text->size() - std::min(text->size(), limits.output));
  return end;
}

std::string Describe(const ChildEnd& end) {
  // The line with the error, not the hint below it.
  std::string last;
  for (std::size_t start = 0; start < end.err.size();) {
    const std::size_t newline = std::min(end.err.find('\n', start), end.err.size());
    const std::string line = end.err.substr(start, newline - start);
    const bool is_hint = line.find_first_not_of(' ') == std::string::npos || line.starts_with("  hint:");
    if (!is_hint) last = line.substr(line.find_first_not_of(' '));
    start = newline + 1;
  }
  constexpr std::size_t kLongest = 300;
  if (last.size() > kLongest) last.resize(kLongest);
  std::replace_if(
      last.begin(), last.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  const std::string said = last.empty() ? "" : ": " + last;
  if (end.timed_out) {
    return "did not end within " + std::to_string(std::lround(end.seconds)) + " s" + said;
  }
  if (WIFSIGNALED(end.status)) {
    const int signal = WTERMSIG(end.status);
    return "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")" + said;
  }
  const int code = WEXITSTATUS(end.status);
  return code == 0 ? "" : "ended with exit code " + std::to_string(code) + said;
}

}  // namespace fa_profile
