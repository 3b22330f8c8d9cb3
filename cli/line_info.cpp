#include "line_info.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

// ELF header of a cubin: 64-bit, e_machine EM_CUDA at offset 18.
constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF\x02";
constexpr std::size_t kMachineOffset = 18;
constexpr std::uint16_t kMachineCuda = 190;
// Section that nvcc -lineinfo adds to a cubin.
constexpr std::string_view kLineSection = ".nv_debug_line_sass";
constexpr std::string_view kFatbinMagic = "\x50\xed\x55\xba";

std::size_t CountCubins(std::string_view bytes) {
  std::size_t cubins = 0;
  for (std::size_t at = bytes.find(kElfMagic); at != std::string_view::npos; at = bytes.find(kElfMagic, at + 1)) {
    if (at + kMachineOffset + sizeof(std::uint16_t) > bytes.size()) break;
    std::uint16_t machine = 0;
    std::memcpy(&machine, &bytes[at + kMachineOffset], sizeof(machine));
    cubins += machine == kMachineCuda ? 1 : 0;
  }
  return cubins;
}

}  // namespace

Diagnosis DiagnoseLineInfo(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) {
    throw Error(file + " is not a file that can be read", "give a cubin, an object, a library or a program");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error(file + " cannot be opened", "check its permissions");
  const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const std::size_t cubins = CountCubins(bytes);
  if (bytes.find(kLineSection) != std::string::npos) {
    return {Diagnosis::Level::kOk, "line info", file + " has line information", ""};
  }
  const std::string cure = "compile it with nvcc -lineinfo (costs nothing at run time)";
  if (cubins > 0)
    return {Diagnosis::Level::kWarning, "line info", file + " has GPU code without line information", cure};
  if (bytes.find(kFatbinMagic) != std::string::npos) {
    return {Diagnosis::Level::kWarning, "line info", file + " has compressed GPU code, which is not looked into",
            "link it with nvcc --no-compress to have it checked; " + cure};
  }
  return {Diagnosis::Level::kWarning, "line info", file + " has no GPU code", "give the file that nvcc made"};
}

}  // namespace fa_profile
