#include "fa_profile/gate_build.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "fa_profile/child_process.h"
#include "fa_profile/descriptor.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/host_code.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/python_kernel.h"
#include "fa_profile/text.h"

namespace fa_profile::gate {
namespace {

namespace fs = std::filesystem;

constexpr double kAnswerSeconds = 30.0;

bool IsLibraryName(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".so") || name.find(".so.") != std::string::npos;
}

// An older build would fail only after the first recording, and look like a kernel that crashes.
void RequireGateSample(const GateBuild& build) {
  const ChildEnd end = RunChildGroup(build.program, {"fa-profile", "gate-sample", "--help"}, {kAnswerSeconds, nullptr});
  if (Describe(end).empty() && end.out.find("--order") != std::string::npos) return;
  const std::string why = Describe(end);
  throw Error(build.path + " cannot be measured: `" + ShellLine({build.program, "gate-sample", "--help"}) + "` " +
                  (why.empty() ? "does not know gate-sample" : why),
              "give a fa-profile of this version or newer, built with the kernels of the older commit");
}

// In a child process: loading a library runs its code.
std::string KernelIdOf(const std::string& library) {
  Pipe pipe = MakePipe();
  const pid_t child = fork();
  if (child < 0) throw Error("fork", std::strerror(errno), "cannot start a process that loads " + library);
  if (child == 0) {
    (void)alarm(static_cast<unsigned>(kAnswerSeconds));
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);  // its output is not part of the gate's report
    std::string answer;
    if (void* const handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL); handle == nullptr) {
      answer = std::string("!") + dlerror();
    } else if (auto* const name = reinterpret_cast<const char* (*)()>(dlsym(handle, "fa_profile_kernel_name"));
               name == nullptr) {
      answer = "!it does not define fa_profile_kernel_name()";
    } else if (const char* const text = name(); text != nullptr) {
      answer = text;
    }
    const bool written = WriteAll(pipe.write_end.get(), std::string_view(answer).substr(0, 4096));
    _exit(written ? 0 : 1);  // runs no destructors
  }
  pipe.write_end.Close();
  std::string answer;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = read(pipe.read_end.get(), buffer.data(), buffer.size())) != 0;) {
    if (count > 0) answer.append(buffer.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  ChildEnd end;
  end.status = WaitForChild(child);
  constexpr const char* kNameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  if (Describe(end).empty() && !answer.empty() && answer.find_first_not_of(kNameCharacters) == std::string::npos) {
    return answer;
  }
  std::string why = "fa_profile_kernel_name() must return a name of a-z, 0-9, _ and -";
  if (!Describe(end).empty()) why = "the process that loaded it " + Describe(end);
  if (answer.starts_with('!')) why = answer.substr(1);
  throw Error("kernel library " + library + " cannot be measured: " + why,
              "see docs/kernels.md; `ldd` lists missing libraries");
}

// Two functions in one file are different host code, too.
std::string HashOf(const python::PythonKernel& kernel) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30U;
  return fmt::format("{:016x}", Fnv1a(ReadFile(kernel.file, kMostBytes), Fnv1a(kernel.function)));
}

// Counters for deterministic metrics, and for those in `asked`. The noisy rest would cost passes and is not judged:
// phases have their own samples.
std::string Counters(const std::set<std::string>& asked) {
  std::set<std::string> exact;
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    if (metric.stability != Stability::kDeterministic && !asked.contains(std::string(metric.id))) continue;
    for (const std::string& input : FormulaNames(metric.formula)) exact.insert(input);
  }
  std::string list;
  for (const std::string& input : CatalogueInputs()) {
    // TriageCompute's counters are alternatives in the metric set phases, and would need another pass.
    if (!exact.contains(input) || input.find("TriageCompute") != std::string::npos) continue;
    list.append(list.empty() ? "" : ",").append(input);
  }
  return list;
}

std::string Pattern(const GateBuild& build, const GateRequest& request) {
  if (!build.library.empty()) return "^" + build.kernel_id + "$";
  if (request.kernels.empty()) return request.pattern;
  std::string pattern = "^(";
  for (const std::string& kernel : request.kernels) {
    if (pattern.back() != '(') pattern += '|';
    for (const char c : kernel) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') pattern += '\\';
      pattern += c;
    }
  }
  return pattern + ")$";
}

void AddRequest(std::vector<std::string>& arguments, const GateBuild& build, const GateRequest& request) {
  if (!build.library.empty()) arguments.insert(arguments.end(), {"--kernel-lib", build.library});
  if (!build.python.empty()) {
    arguments.insert(arguments.end(), {"--kernel-py", build.python, "--python", request.python, "--timeout",
                                       fmt::format("{}", request.timeout_seconds)});
  }
  for (const std::string& library : request.libraries) arguments.insert(arguments.end(), {"--kernel-lib", library});
  if (!build.python.empty() && !request.kernels.empty()) {
    for (const std::string& kernel : request.kernels)
      arguments.push_back("--case=" + python::RenameCase(kernel, build.base_id, build.kernel_id));
  } else if (const std::string pattern = Pattern(build, request); !pattern.empty()) {
    arguments.insert(arguments.end(), {"--kernel", pattern});
  }
  for (const std::string& shape : request.shapes) {
    if (build.python.empty()) arguments.insert(arguments.end(), {"--shape", shape});
  }
  arguments.insert(arguments.end(), {"--device", std::to_string(request.device)});
}

}  // namespace

std::string NameInBase(const GateBuild& build, const std::string& kernel) {
  const bool renamed = !build.kernel_id.empty() && !build.base_id.empty();
  return renamed ? python::RenameCase(kernel, build.kernel_id, build.base_id) : kernel;
}

GateBuild FindGateBuild(const std::string& path, const std::string& tool) {
  std::error_code error;
  const fs::path given = fs::absolute(path, error);
  GateBuild build;
  build.path = path;
  const auto this_tool = [&tool] {
    return tool.empty() ? fs::read_symlink("/proc/self/exe").string() : fs::absolute(tool).string();
  };
  if (python::LooksLikePythonKernel(path) && !fs::is_directory(given, error)) {
    const python::PythonKernel kernel = python::ParsePythonKernel(path);
    build.program = this_tool();
    build.python = kernel.ToString();
    build.kernel_id = kernel.function;
    build.host_code_hash = HashOf(kernel);
    return build;
  }
  if (fs::is_directory(given, error)) {
    for (const char* const name : {"cli/fa-profile", "bin/fa-profile", "fa-profile"}) {
      if (!IsProgram(given / name)) continue;
      build.program = (given / name).string();
      RequireGateSample(build);
      return build;
    }
    throw Error(
        "no fa-profile in the folder " + path,
        "give a build folder (cli/fa-profile), an installation (bin/fa-profile), a program or a kernel library");
  }
  if (!fs::is_regular_file(given, error)) {
    throw Error("build " + path + " not found",
                "give a fa-profile program, a folder with one, a kernel library (.so), or FILE.py:FUNCTION");
  }
  if (IsLibraryName(given)) {
    build.program = this_tool();
    build.library = given.string();
    (void)OpenFile(build.library);  // dlopen() would wait for a named pipe
    build.kernel_id = KernelIdOf(build.library);
    build.host_code_hash = sass::HostCodeHash(build.library);
    return build;
  }
  if (!IsProgram(given))
    throw Error(path + " is neither an executable program nor a library (.so)", "check its execute permission");
  build.program = given.string();
  RequireGateSample(build);
  return build;
}

std::vector<std::string> TimingCommand(const GateBuild& build, const GateRequest& request, int launches,
                                       std::uint64_t order) {
  std::vector<std::string> arguments = {build.program, "gate-sample"};
  AddRequest(arguments, build, request);
  arguments.insert(arguments.end(), {"--launches", std::to_string(launches), "--order", std::to_string(order)});
  return arguments;
}

std::vector<std::string> RecordingCommand(const GateBuild& build, const GateRequest& request, int draws,
                                          const std::string& output) {
  std::vector<std::string> arguments = {build.program};
  AddRequest(arguments, build, request);
  arguments.insert(arguments.end(), {"--metrics", Counters(request.metrics), "--phases", "on", "--draws",
                                     std::to_string(draws), "--repeats", "0", "--summary", "-o", output});
  // Raw counter data of a Python kernel is never kept.
  if (build.python.empty()) arguments.insert(arguments.end(), {"--raw", "none"});
  return arguments;
}

std::string ShellLine(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    const bool plain =
        !argument.empty() && argument.find_first_of(" \t\n'\"\\$`|&;<>()*?[]#~^!{}") == std::string::npos;
    if (plain) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace fa_profile::gate
