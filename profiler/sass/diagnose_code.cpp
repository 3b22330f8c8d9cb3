#include "fa_profile/diagnose_code.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fa_profile/cubin.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_code.h"

namespace fa_profile::sass {
namespace {

// Whether any of the cubins has line information.
bool HasLines(const MachineCode& code, const std::vector<CodeImage>& cubins) {
  return std::ranges::any_of(cubins,
                             [&](const CodeImage& image) { return ReadCubin(code.Read(image)).has_line_information; });
}

}  // namespace

Diagnosis DiagnoseLineInfo(const std::string& file) {
  const auto warn = [](std::string detail, std::string what_to_do) {
    return Diagnosis{Diagnosis::Level::kWarning, "line info", std::move(detail), std::move(what_to_do)};
  };
  const MachineCode code(file);
  try {
    const CodeSelection selection = SelectCode(code);
    RequireCubins(selection, code, file, {});
    if (HasLines(code, selection.cubins)) {
      return {Diagnosis::Level::kOk, "line info", file + " has line information", ""};
    }
  } catch (const NoGpuCode&) {
    return warn(file + " has no GPU code", "give the file that nvcc made");
  } catch (const Error& error) {
    return warn(error.message(), error.hint());
  }
  return warn(file + " has GPU code without line information",
              "compile it with nvcc -lineinfo (costs nothing at run time)");
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
