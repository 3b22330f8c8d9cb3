#include "fa_profile/gpu_code.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "cuda_tool.h"
#include "elf_file.h"
#include "fa_profile/cubin.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/private_folder.h"

namespace fa_profile::sass {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> ReadBytes(const fs::path& path) {
  const std::string bytes = ReadFile(path.string(), kLargestProgram);
  return {bytes.begin(), bytes.end()};
}

// "sm_90a" of "prog.1.sm_90a.cubin".
std::string ArchitectureOf(const std::string& name) {
  const std::string stem = fs::path(name).stem().string();
  return stem.substr(stem.rfind('.') + 1);
}

// Whether code of `architecture` is what was asked for. "90" and "sm_90" ask for 90a too; a cubin that does not tell
// its letter is taken for any.
bool IsFor(std::string_view architecture, std::string_view asked) {
  if (architecture.starts_with("sm_")) architecture.remove_prefix(3);
  if (asked.starts_with("sm_")) asked.remove_prefix(3);
  const auto digits = [](std::string_view text) { return text.substr(0, text.find_first_not_of("0123456789")); };
  if (digits(architecture) != digits(asked)) return false;
  return architecture == asked || digits(asked) == asked || digits(architecture) == architecture;
}

std::vector<EmbeddedCubin> Extract(const std::string& path) {
  const auto cuobjdump = FindCuobjdump();
  if (!cuobjdump) {
    throw Error("cuobjdump is missing: it extracts the GPU code of " + path,
                "install the CUDA toolkit's binary utilities (ci/setup.sh fetches them), set "
                "FA_PROFILE_CUOBJDUMP=/path/to/cuobjdump, or give a .cubin");
  }
  const std::string file = fs::absolute(path).string();
  const PrivateFolder folder;
  const ChildEnd result = RunCudaTool({*cuobjdump, "-xelf", "all", file}, folder.path().string());
  std::vector<EmbeddedCubin> cubins;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename().string();
    cubins.push_back({name, ArchitectureOf(name), ReadBytes(entry.path())});
  }
  if (!cubins.empty()) {
    std::sort(cubins.begin(), cubins.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return cubins;
  }
  const ChildEnd ptx = RunCudaTool({*cuobjdump, "-lptx", file});
  if (ptx.out.find("PTX file") != std::string::npos) {
    throw Error(path + " holds only PTX, no machine code",
                "build it with machine code, for instance nvcc -gencode arch=compute_90a,code=sm_90a");
  }
  throw Error(path + " holds no GPU code",
              path.ends_with(".cu")
                  ? "compile it first, and give the object file"
                  : "give the cubin, object file, program or library with the kernels; a recording is "
                    "read by fa-profile report");
}

}  // namespace

std::optional<std::string> FindCuobjdump() { return FindCudaTool("cuobjdump", "FA_PROFILE_CUOBJDUMP"); }

std::vector<EmbeddedCubin> ReadGpuCode(const std::string& path, const std::string& architecture) {
  std::vector<std::uint8_t> bytes = ReadBytes(path);
  std::vector<EmbeddedCubin> all;
  if (IsCubin({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) {
    const std::string sm = "sm_" + std::to_string(ReadCubin(bytes).sm);
    all.push_back({fs::path(path).filename().string(), sm, std::move(bytes)});
  } else {
    all = Extract(path);
  }
  if (architecture.empty()) return all;
  std::vector<EmbeddedCubin> chosen;
  std::string others;
  for (EmbeddedCubin& cubin : all) {
    if (others.find(cubin.architecture) == std::string::npos)
      others += (others.empty() ? "" : ", ") + cubin.architecture;
    if (IsFor(cubin.architecture, architecture)) chosen.push_back(std::move(cubin));
  }
  if (chosen.empty()) {
    throw Error(path + " holds no code for " + architecture + ", only for " + others, "choose one of them with --arch");
  }
  return chosen;
}

}  // namespace fa_profile::sass
