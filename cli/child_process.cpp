#include "child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

std::string Cure(int error) {
  if (error == ENOENT) return "give its path, or a name that PATH finds; of a script, its interpreter may be missing";
  if (error == ENOEXEC) return "it is no program of this machine; a script needs a first line such as #!/bin/sh";
  return "check its path and permissions";
}

// posix_spawnp() and not fork(): it hands back the error of an exec that failed, which would otherwise have to be told
// from an exit code of the program.
pid_t Spawn(const std::string& program, const std::vector<std::string>& arguments,
            const posix_spawn_file_actions_t* actions) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), actions, nullptr, argv.data(), environ);
  if (error != 0) {
    throw Error("the program " + program + " cannot be started: " + std::strerror(error), Cure(error));
  }
  return child;
}

// A pipe of which a child gets no more than what it is given.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw Error("pipe2", std::strerror(errno), "no pipe to a child process");
  }
  ~Pipe() {
    close(ends_[0]);
    CloseWriteEnd();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void CloseWriteEnd() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{};
};

}  // namespace

pid_t StartChild(const std::string& program, const std::vector<std::string>& arguments) {
  return Spawn(program, arguments, nullptr);
}

int WaitForChild(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

ChildOutput CaptureChild(const std::string& program, const std::vector<std::string>& arguments, int stdin_descriptor) {
  Pipe pipe;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  struct Destroy {
    posix_spawn_file_actions_t* actions;
    ~Destroy() { posix_spawn_file_actions_destroy(actions); }
  } const destroy{&actions};
  if (const int error = posix_spawn_file_actions_adddup2(&actions, pipe.write_end(), STDOUT_FILENO); error != 0) {
    throw Error("posix_spawn_file_actions_adddup2", std::strerror(error), "no pipe to a child process");
  }
  if (stdin_descriptor >= 0) {
    if (const int error = posix_spawn_file_actions_adddup2(&actions, stdin_descriptor, STDIN_FILENO); error != 0) {
      throw Error("posix_spawn_file_actions_adddup2", std::strerror(error), "no file for a child process");
    }
  }
  const pid_t child = Spawn(program, arguments, &actions);
  pipe.CloseWriteEnd();
  ChildOutput output;
  std::array<char, 4096> buffer{};
  constexpr std::size_t kMostOutput = 1 << 20;
  for (;;) {
    const ssize_t count = read(pipe.read_end(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (output.text.size() < kMostOutput) output.text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  output.status = WaitForChild(child);
  return output;
}

}  // namespace fa_profile
