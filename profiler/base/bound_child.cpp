#include "bound_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "fa_profile/child_process.h"
#include "fa_profile/descriptor.h"

namespace fa_profile {
namespace {

/// The path that posix_spawnp() finds; the name itself if nothing is found.
std::string OnPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  if (program.find('/') != std::string::npos || path == nullptr) return program;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (std::string file = (folder.empty() ? "." : folder) + "/" + program; IsProgram(file)) return file;
  }
  return program;
}

/// Everything that the child needs, made before fork(): from there to exec only async-signal-safe calls are allowed.
struct Start {
  const char* file = nullptr;
  char* const* arguments = nullptr;
  const char* folder = nullptr;
  int out = -1;
  int err = -1;
  int failed = -1;  // where the error is written
  pid_t parent = 0;
};

void ResetSignals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) (void)sigaction(signal, &action, nullptr);
  struct sigaction hangup {};
  (void)sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) (void)sigaction(SIGHUP, &action, nullptr);  // nohup is for children too
  sigset_t none;
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool Prepare(const Start& start) {
  if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
  if (getppid() != start.parent) _exit(EXIT_FAILURE);  // it ended before prctl()
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(start.out, STDOUT_FILENO) >= 0 &&
         dup2(start.err, STDERR_FILENO) >= 0 && (start.folder == nullptr || chdir(start.folder) == 0);
}

[[noreturn]] void Become(const Start& start) {
  if (Prepare(start)) {
    ResetSignals();
    (void)execve(start.file, start.arguments, environ);
  }
  const int error = errno;
  (void)!write(start.failed, &error, sizeof error);
  _exit(EXIT_FAILURE);
}

}  // namespace

// posix_spawn() cannot request PR_SET_PDEATHSIG, and after it a signal may come first.
int StartBoundChild(const BoundChild& plan, pid_t& child) {
  const std::string file = OnPath(plan.program);
  std::vector<char*> argv;
  argv.reserve(plan.arguments.size() + 1);
  for (const std::string& argument : plan.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  Pipe failure = MakePipe();
  const Start start{file.c_str(), argv.data(), plan.folder.empty() ? nullptr : plan.folder.c_str(),
                    plan.out,     plan.err,    failure.write_end.get(),
                    getpid()};
  // No handler of this process may run in the child.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  child = fork();
  if (child == 0) Become(start);
  const int fork_error = errno;
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return fork_error;
  failure.write_end.Close();
  int error = 0;
  ssize_t count = 0;
  do count = read(failure.read_end.get(), &error, sizeof error);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return 0;
  (void)WaitForChild(child);
  return error;
}

}  // namespace fa_profile
