#include "shared_library.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <span>

#include "fa_profile/files.h"

namespace fa_profile {
namespace {

// The first bytes of a file, and how many there are.
std::size_t ReadStart(const std::string& path, std::span<char> bytes) {
  try {
    const Descriptor file = OpenFile(path);
    std::size_t got = 0;
    while (const std::size_t count = ReadSome(file.get(), path, bytes.subspan(got))) got += count;
    return got;
  } catch (const Error& error) {
    throw Error("kernel library " + error.message(), "--kernel-lib takes the path of a shared library (.so)");
  }
}

// dlopen() says "No such file" for an ELF file for another machine, such as a cubin.
void RequireThisMachine(const std::string& path) {
  ElfW(Ehdr) header{};
  const std::size_t got = ReadStart(path, std::span(reinterpret_cast<char*>(&header), sizeof header));
  constexpr std::size_t kUpToMachine = offsetof(ElfW(Ehdr), e_machine) + sizeof header.e_machine;
  if (got < kUpToMachine || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;  // dlopen() reports why
  constexpr unsigned kCuda = 190;                                                       // EM_CUDA
  const std::string hint =
      "--kernel-lib takes a shared library (.so) for this machine; docs/kernels.md has the command";
  if (header.e_machine == kCuda) {
    throw Error("kernel library " + path + " is a cubin, which has GPU code only", hint);
  }
  // From the vDSO, which the operating system made for this machine.
  const auto* const own = std::bit_cast<const ElfW(Ehdr)*>(getauxval(AT_SYSINFO_EHDR));
  if (own == nullptr || header.e_machine == own->e_machine) return;
  throw Error(
      "kernel library " + path + " is made for another machine (ELF machine " + std::to_string(header.e_machine) + ")",
      hint);
}

}  // namespace

CrashMessages LibraryCrashMessages(const std::string& library, const std::string& where, const std::string& hint) {
  const std::string start = "fa-profile: error: the kernel library " + library;
  return {start + " crashed " + where + "\n  hint: " + hint + "\n",
          start + " ended the process " + where +
              "\n  hint: a library reports errors through its functions' results and must not call exit()\n"};
}

// By absolute path: dlopen looks for a bare name in the system's library folders instead of here.
LibraryHandle OpenLibrary(const std::string& path) {
  RequireThisMachine(path);
  const CrashMessages messages =
      LibraryCrashMessages(path, "while it was loaded",
                           "a constructor in it, or in a library that it links, is at fault: LD_DEBUG=init names it");
  const CrashReport report(messages);
  LibraryHandle handle(dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL));
  if (handle == nullptr) {
    throw Error("dlopen", {}, dlerror(), "build it as a shared library for this machine; `ldd` lists what it lacks");
  }
  return handle;
}

std::string LibraryError::Text(const char* if_empty) const {
  std::string text(std::begin(text_), std::find(std::begin(text_), std::end(text_), '\0'));
  return text.empty() ? if_empty : text;
}

}  // namespace fa_profile
