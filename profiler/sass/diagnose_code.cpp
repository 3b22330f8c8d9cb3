#include "fa_profile/diagnose_code.h"

#include <optional>
#include <string_view>

#include "elf_file.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_code.h"

namespace fa_profile::sass {
namespace {

// Section that nvcc -lineinfo adds to a cubin.
constexpr std::string_view kLineSection = ".nv_debug_line_sass";
constexpr std::string_view kFatbinMagic = "\x50\xed\x55\xba";

bool HasCubin(std::string_view bytes) {
  for (std::size_t at = bytes.find(kElfMagic); at != std::string_view::npos; at = bytes.find(kElfMagic, at + 1)) {
    if (IsCubin(bytes.substr(at))) return true;
  }
  return false;
}

}  // namespace

Diagnosis DiagnoseLineInfo(const std::string& file) {
  const std::string bytes = ReadFile(file, kLargestProgram);
  if (bytes.find(kLineSection) != std::string::npos) {
    return {Diagnosis::Level::kOk, "line info", file + " has line information", ""};
  }
  const std::string cure = "compile it with nvcc -lineinfo (costs nothing at run time)";
  const auto warn = [](std::string detail, std::string what_to_do) {
    return Diagnosis{Diagnosis::Level::kWarning, "line info", std::move(detail), std::move(what_to_do)};
  };
  if (HasCubin(bytes)) return warn(file + " has GPU code without line information", cure);
  if (bytes.find(kFatbinMagic) != std::string::npos) {
    return warn(file + " has compressed GPU code, which doctor does not read",
                "link it with nvcc --no-compress to have it checked; " + cure);
  }
  return warn(file + " has no GPU code", "give the file that nvcc made");
}

Diagnosis DiagnoseNvdisasm() {
  std::string problem = "not found";
  try {
    if (const std::optional<std::string> path = FindNvdisasm()) {
      return {Diagnosis::Level::kOk, "nvdisasm", "found: " + *path, ""};
    }
  } catch (const Error& error) {
    problem = error.message();
  }
  return {Diagnosis::Level::kWarning, "nvdisasm", problem,
          "install the CUDA toolkit's nvdisasm (or `pip install nvidia-cuda-nvdisasm`) and put it on PATH, or set "
          "FA_PROFILE_NVDISASM"};
}

}  // namespace fa_profile::sass
