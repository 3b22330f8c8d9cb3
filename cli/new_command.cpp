// fa-profile new: starting points for a kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>

#include "command.h"
#include "fa_profile/edit_text.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/new_folder.h"
#include "fa_profile/output_path.h"
#include "fa_profile/text.h"
#include "fa_profile/usage_errors.h"
#include "kernel_lib_texts.h"

namespace fa_profile::cli {
namespace {

namespace fs = std::filesystem;

// Name of a kernel and CMake target for a folder.
std::string KernelName(const std::string& folder) {
  constexpr std::size_t kLongest = 64;
  std::string name;
  for (const char c : folder.substr(0, kLongest)) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool kept = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || lower == '-';
    name += kept ? lower : '_';
  }
  // CMake reserves these target names.
  for (const char* const taken :
       {"all", "test", "install", "preinstall", "clean", "help", "package", "edit_cache", "rebuild_cache"}) {
    if (name == taken) name += "_kernel";
  }
  return std::isalpha(static_cast<unsigned char>(name[0])) != 0 ? name : "kernel_" + name.substr(0, kLongest - 7);
}

// It appears in commands, and a kernel is named after it.
void RefuseUnreadable(const std::string& name) {
  const bool is_ascii = std::ranges::all_of(name, [](unsigned char c) { return c >= ' ' && c <= '~'; });
  if (is_ascii && std::ranges::any_of(name, [](unsigned char c) { return std::isalnum(c) != 0; })) return;
  throw Error("the name of the folder, '" + Printable(name) + "', cannot be a kernel's",
              "give one of letters a to z, digits, '-' and '_'");
}

// CMake ends a word at each ';' of a path.
void RefuseSemicolon(const std::string& folder) {
  std::error_code deleted;  // the current folder: reported later
  const std::string whole = fs::absolute(folder, deleted).lexically_normal().string();
  if (deleted || whole.find(';') == std::string::npos) return;
  throw Error("CMake cannot build in '" + Printable(whole) + "': its name has a ';'", "give a folder without ';'");
}

// The command that configures it: the header of a source tree is not found by itself. Without a GPU CMake cannot
// resolve the architecture `native`.
std::string ConfigureCommand(const std::string& folder, bool has_gpu) {
  std::string command =
      fmt::format("cmake -S {} -B {} {}", ShellWord(folder), ShellWord((fs::path(folder) / "build").string()),
                  ShellWord(std::string("-DCMAKE_CUDA_ARCHITECTURES=") + (has_gpu ? "native" : "80-real;90")));
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path header = "fa_profile/kernel_abi_2.h";
  if (fs::exists(program.parent_path().parent_path() / "include" / header, ignored)) {
    return command + " " + ShellWord("-DFA_PROFILE=" + program.string());
  }
#ifdef FA_PROFILE_SOURCE_INCLUDE_DIR  // not in builds for other machines
  const fs::path source = FA_PROFILE_SOURCE_INCLUDE_DIR;
  if (fs::exists(source / header, ignored)) command += " " + ShellWord("-DFA_PROFILE_INCLUDE_DIR=" + source.string());
#endif
  return command + " " + ShellWord("-DFA_PROFILE=" + program.string());
}

int NewKernelLib(const std::string& folder) {
  RefuseSemicolon(folder);
  FolderBeside made(folder);
  RefuseUnreadable(made.name());
  const std::string name = KernelName(made.name());
  const NewFolder top(made.path());
  (void)NewFolder(made.path() + "/.github");
  const NewFolder workflows(made.path() + "/.github/workflows");
  const NewFolder ci(made.path() + "/ci");  // the folder of kDefaultThresholds
  for (const EmbeddedText& file : KernelLibTexts()) {
    const NewFolder& place = file.id == "gate.yml" ? workflows : file.id == "thresholds.yaml" ? ci : top;
    place.Write(std::string(file.id), Replaced(std::string(file.text), "@NAME@", name));
  }
  made.PutInPlace();
  const auto word = [&folder](const std::string& below) {
    return Printable(ShellWord((fs::path(folder) / below).string()));
  };
  const std::string build = word("build");
  const bool has_gpu = jobs::WhyNoGpu().empty();
  fmt::print(
      "{}: the kernel library {}. Put your kernel into kernel.cu; then{}\n"
      "  {}\n"
      "  cmake --build {} && ctest --test-dir {}\n"
      "  fa-profile --kernel-lib {} --kernel '^{}$' --phase-map {}\n"
      "ci/thresholds.yaml and .github/workflows/gate.yml are its gate. GitHub reads workflows at the top of a "
      "repository alone:\nif {} is not that, move .github there, and correct the paths in gate.yml.\n",
      Printable(folder), name,
      has_gpu ? "" : " (this machine has no GPU: ctest skips what needs one; run the last command where there is one)",
      Printable(ConfigureCommand(folder, has_gpu)), build, build, word("build/" + name + ".so"), name,
      word("phases.yaml"), Printable(folder));
  return kExitFine;
}

// DIR is the user's repository; agents find skills in its folder skills/.
int NewSkill(const std::string& repository) {
  std::error_code error;
  if (!fs::is_directory(repository, error)) {
    throw Error(Printable(repository) + " is not a folder", "give the top of your repository: fa-profile new skill .");
  }
  const fs::path skills = fs::path(repository) / "skills";
  fs::create_directory(skills, error);
  if (error && !fs::is_directory(skills)) {
    throw Error(Printable(skills.string()) + " cannot be made: " + error.message(), "check that you may write there");
  }
  const fs::path place = skills / "fa-profile";
  NewFolder(place.string()).Write("SKILL.md", SkillTexts().front().text);
  fmt::print(
      "{}: what a coding agent needs to know about fa-profile. Its server, for the agent's list of MCP servers:\n"
      "  fa-profile mcp --root {}\n",
      Printable((place / "SKILL.md").string()), Printable(ShellWord(repository)));
  return kExitFine;
}

}  // namespace

void AddNew(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    std::string what;
    std::string folder;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("new", "Write starter files for a kernel library, or the skill for coding agents");
  command->add_option("WHAT", arguments->what, "kernel-lib, or skill")
      ->required()
      ->check(help::OneOf({"kernel-lib", "skill"}));
  command
      ->add_option("DIR", arguments->folder,
                   "Folder to make, whose name becomes the kernel's; of skill: your repository")
      ->required();
  invocation.When(*command, [arguments] {
    return arguments->what == "skill" ? NewSkill(arguments->folder) : NewKernelLib(arguments->folder);
  });
}

}  // namespace fa_profile::cli
