// fa-profile new: what one begins with.
#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <memory>

#include "command.h"
#include "fa_profile/new_folder.h"
#include "fa_profile/text.h"
#include "kernel_lib_texts.h"
#include "usage_errors.h"

namespace fa_profile::cli {
namespace {

namespace fs = std::filesystem;

// A kernel's and a CMake target's name of a folder's.
std::string KernelName(const std::string& folder) {
  constexpr std::size_t kLongest = 64;
  std::string name;
  for (const char c : folder.substr(0, kLongest)) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool kept = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || lower == '-';
    name += kept ? lower : '_';
  }
  // CMake has targets of these names.
  for (const char* const taken :
       {"all", "test", "install", "clean", "help", "package", "edit_cache", "rebuild_cache"}) {
    if (name == taken) name += "_kernel";
  }
  return std::isalpha(static_cast<unsigned char>(name[0])) != 0 ? name : "kernel_" + name.substr(0, kLongest - 7);
}

std::string ForKernel(std::string_view text, const std::string& name) {
  constexpr std::string_view kPlace = "@NAME@";
  std::string result;
  for (std::size_t found = 0; (found = text.find(kPlace)) != std::string_view::npos;) {
    result.append(text.substr(0, found)).append(name);
    text.remove_prefix(found + kPlace.size());
  }
  return result.append(text);
}

// The command that configures it: the header of a source tree is not found by itself.
std::string ConfigureCommand(const std::string& folder) {
  std::string command = "cmake -S " + folder + " -B " + folder + "/build -DCMAKE_CUDA_ARCHITECTURES=native";
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path header = "fa_profile/kernel_abi_2.h";
  if (fs::exists(program.parent_path().parent_path() / "include" / header, ignored)) {
    return command + " -DFA_PROFILE=" + program.string();
  }
  const fs::path source = FA_PROFILE_SOURCE_INCLUDE_DIR;
  if (fs::exists(source / header, ignored)) command += " -DFA_PROFILE_INCLUDE_DIR=" + source.string();
  return command + " -DFA_PROFILE=" + program.string();
}

int NewKernelLib(const std::string& folder) {
  FolderBeside made(folder);
  const std::string name = KernelName(made.name());
  const NewFolder top(made.path());
  (void)NewFolder(made.path() + "/.github");
  const NewFolder workflows(made.path() + "/.github/workflows");
  for (const EmbeddedText& file : KernelLibTexts()) {
    (file.id == "gate.yml" ? workflows : top).Write(std::string(file.id), ForKernel(file.text, name));
  }
  made.PutInPlace();
  const std::string shown = Printable(folder);
  fmt::print(
      "{}: the kernel library {}. Put your kernel into kernel.cu; then\n"
      "  {}\n"
      "  cmake --build {}/build && ctest --test-dir {}/build\n"
      "  fa-profile --kernel-lib {}/build/{}.so --kernel '^{}$' --phase-map {}/phases.yaml\n",
      shown, name, Printable(ConfigureCommand(folder)), shown, shown, shown, name, name, shown);
  return kExitFine;
}

}  // namespace

void AddNew(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    std::string what;
    std::string folder;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const command = app.add_subcommand("new", "Write the files to begin with: a kernel library of your own");
  command->add_option("WHAT", arguments->what, "kernel-lib")->required()->check(OneOf({"kernel-lib"}));
  command->add_option("DIR", arguments->folder, "Folder to make; its name becomes the kernel's")->required();
  command->callback(
      [arguments, &invocation] { invocation.run = [arguments] { return NewKernelLib(arguments->folder); }; });
}

}  // namespace fa_profile::cli
