#include "fa_profile/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
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

#include "fa_profile/descriptor.h"
#include "fa_profile/error.h"

namespace fa_profile {
namespace {

std::string Cure(int error) {
  if (error == ENOENT) return "give its path or a name found in PATH; for a script, check its interpreter";
  if (error == ENOEXEC) return "it is not a program for this machine; a script needs a first line such as #!/bin/sh";
  return "check its path and permissions";
}

// posix_spawnp() and not fork(): it hands back the error of an exec that failed, which would otherwise have to be told
// from an exit code of the program.
pid_t Spawn(const std::string& program, const std::vector<std::string>& arguments,
            const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), actions, attributes, argv.data(), environ);
  if (error != 0) {
    throw Error("the program " + program + " cannot be started: " + std::strerror(error), Cure(error));
  }
  return child;
}

// What SIGXFSZ did before IgnoreFileSizeSignal(): a child gets it back.
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
  pid_t Start(const std::string& program, const std::vector<std::string>& arguments) const {
    return Spawn(program, arguments, &actions_, &attributes_);
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

// Reads what is there, and keeps at least the last `most` bytes of it. False: there will be no more.
bool ReadSome(int descriptor, std::size_t most, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  if (count == 0) return false;
  text.append(buffer.data(), static_cast<std::size_t>(count));
  if (text.size() / 2 > most) text.erase(0, text.size() - most);
  return true;
}

// A child that leads its process group. It is killed before it is reaped: until then its number names the group.
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
  // Kills what is left, and gives the leader's status.
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

}  // namespace

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

ChildEnd RunChildGroup(const std::string& program, const std::vector<std::string>& arguments,
                       const ChildLimits& limits) {
  using Clock = std::chrono::steady_clock;
  Pipe out = MakePipe();
  Pipe err = MakePipe();
  SpawnPlan plan;
  plan.EmptyStdin();
  plan.Connect(out.write_end.get(), STDOUT_FILENO);
  plan.Connect(err.write_end.get(), STDERR_FILENO);
  if (!limits.folder.empty()) plan.ChangeTo(limits.folder);
  plan.OwnGroup();
  const Clock::time_point start = Clock::now();
  const auto seconds = [&start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Group group(plan.Start(program, arguments));
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
    // The leader's end does not close the pipes while a child holds them too; and it closes them a moment before its
    // end can be seen.
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
