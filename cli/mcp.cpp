// fa-profile mcp: starts the server of the Model Context Protocol, python/fa_profile/mcp, in this process's place.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "command.h"
#include "fa_profile/bundled.h"
#include "fa_profile/error.h"

namespace fa_profile::cli {
namespace {

struct McpArguments {
  std::vector<std::string> roots;
  std::optional<int> port;
  std::string token_file;
  std::string python = "python3";
  double max_seconds = 3600;
  double max_memory_gib = 64;
};

// The Python that runs the server. --python is another: it runs kernels, with PyTorch.
std::string ServerPython() {
  const char* const named = std::getenv("FA_PROFILE_MCP_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

std::vector<std::string> CommandOf(const McpArguments& given) {
  const std::optional<std::string> server =
      FindBundled("python/fa_profile_mcp", "python/fa_profile/mcp", "__main__.py");
  if (!server) throw Error("the server, which comes with the program, is missing", "reinstall");
  std::error_code ignored;
  std::vector<std::string> command = {ServerPython(), "-B", *server, "--program",
                                      std::filesystem::read_symlink("/proc/self/exe", ignored).string()};
  const auto add = [&command](const std::string& option, const std::string& value) {
    command.push_back(option);
    command.push_back(value);
  };
  for (const std::string& root : given.roots) add("--root", root);
  if (given.port) add("--http", std::to_string(*given.port));
  if (!given.token_file.empty()) add("--token-file", given.token_file);
  add("--python", given.python);
  add("--max-seconds", fmt::format("{}", given.max_seconds));
  add("--max-memory-gib", fmt::format("{}", given.max_memory_gib));
  return command;
}

int RunMcp(const McpArguments& given) {
  std::vector<std::string> command = CommandOf(given);
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  (void)execvp(words[0], words.data());
  throw Error(command[0] + " cannot be started: " + std::strerror(errno),
              "install Python 3.10 or later, or name one with FA_PROFILE_MCP_PYTHON");
}

}  // namespace

void AddMcp(CLI::App& app, Invocation& invocation) {
  const auto given = std::make_shared<McpArguments>();
  CLI::App& mcp = *app.add_subcommand("mcp", "Serve the Model Context Protocol to a coding agent");
  constexpr double kDay = 86400;
  constexpr double kMostGib = 1 << 20;
  constexpr int kLastPort = 65535;
  mcp.add_option("--root", given->roots, "Folder that tools may read and write (repeatable); default: the current one")
      ->type_name("DIR")
      ->allow_extra_args(false);
  mcp.add_option("--http", given->port,
                 "Serve streamable HTTP on this port of 127.0.0.1 instead of standard input and output; 0: any port")
      ->type_name("PORT")
      ->check(CLI::Range(0, kLastPort));
  mcp.add_option("--token-file", given->token_file,
                 "File with the token that HTTP requests must carry; default: a new token, printed to stderr")
      ->type_name("FILE");
  mcp.add_option("--python", given->python, "The Python that runs kernels and programs in Python")
      ->type_name("PROGRAM")
      ->capture_default_str();
  mcp.add_option("--max-seconds", given->max_seconds, "Longest time of one job, in seconds")
      ->check(CLI::Range(1.0, kDay))
      ->capture_default_str();
  mcp.add_option("--max-memory-gib", given->max_memory_gib, "Most memory of one job and its children, in GiB")
      ->check(CLI::Range(0.1, kMostGib))
      ->capture_default_str();
  invocation.When(mcp, [given] { return RunMcp(*given); });
}

}  // namespace fa_profile::cli
