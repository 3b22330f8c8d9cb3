#include "cuda_tool.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

namespace fs = std::filesystem;

bool IsProgram(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Both ends of a pipe that a child does not inherit unless told to.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw Error("pipe2", std::strerror(errno), "cannot talk to another program");
  }
  ~Pipe() {
    CloseWriteEnd();
    close(ends_[0]);
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

pid_t Start(std::vector<std::string> arguments, const std::string& folder, const Pipe& out, const Pipe& err) {
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end(), STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t child = 0;
  const int failure = posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw Error("cannot start " + arguments[0] + ": " + std::strerror(failure));
  return child;
}

// Reads both pipes to their ends. False when time ran out first.
bool ReadAll(const Pipe& out, const Pipe& err, int limit_s, ProgramResult& result) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(limit_s);
  std::array<pollfd, 2> files{{{out.read_end(), POLLIN, 0}, {err.read_end(), POLLIN, 0}}};
  const std::array<std::string*, 2> texts{&result.out, &result.err};
  std::vector<char> buffer(1 << 16);
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (poll(files.data(), files.size(), static_cast<int>(left.count())) < 0 && errno != EINTR) return false;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents == 0) continue;
      const ssize_t size = read(files[i].fd, buffer.data(), buffer.size());
      if (size > 0) texts[i]->append(buffer.data(), static_cast<std::size_t>(size));
      if (size == 0 || (size < 0 && errno != EINTR)) files[i].fd = -1;
      files[i].revents = 0;
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> FindCudaTool(const std::string& name, const char* variable) {
  if (const std::string named = Variable(variable); !named.empty()) {
    if (IsProgram(named)) return named;
    throw Error(std::string(variable) + " is " + named + ", and no program is there",
                std::string("set ") + variable + " to the path of " + name + ", or unset it");
  }
  std::vector<fs::path> folders;
  std::istringstream path(Variable("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) folders.emplace_back(folder);
  for (const char* toolkit : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string root = Variable(toolkit); !root.empty()) folders.push_back(fs::path(root) / "bin");
  }
  folders.emplace_back("/usr/local/cuda/bin");
  std::string cache = Variable("XDG_CACHE_HOME");
  if (cache.empty() && !Variable("HOME").empty()) cache = Variable("HOME") + "/.cache";
  for (const char* folder : {"cuda-tools-13.2", "cuda-13.0"}) {  // ci/cuda.sh names them
    if (!cache.empty()) folders.push_back(fs::path(cache) / "fa-profile" / folder / "bin");
  }
  for (const fs::path& folder : folders) {
    if (!folder.empty() && IsProgram(folder / name)) return (folder / name).string();
  }
  return std::nullopt;
}

ProgramResult RunProgram(const std::vector<std::string>& arguments, int limit_s, const std::string& folder) {
  ProgramResult result;
  Pipe out;
  Pipe err;
  const pid_t child = Start(arguments, folder, out, err);
  out.CloseWriteEnd();
  err.CloseWriteEnd();
  const bool in_time = ReadAll(out, err, limit_s, result);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) throw Error(arguments[0] + " took longer than " + std::to_string(limit_s) + " s");
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "fa-profile-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw Error("mkdtemp", std::strerror(errno), "cannot make a folder under " + fs::temp_directory_path().string(),
                "set TMPDIR to a folder that can be written to");
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace fa_profile
