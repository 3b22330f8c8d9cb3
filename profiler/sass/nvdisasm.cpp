#include "nvdisasm.h"

#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cuda_tool.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"

namespace fa_profile::sass {

std::optional<std::string> FindNvdisasm() { return FindCudaTool("nvdisasm", "FA_PROFILE_NVDISASM"); }

std::string RequireNvdisasm() {
  if (auto nvdisasm = FindNvdisasm()) return *nvdisasm;
  throw Error("nvdisasm is missing: it disassembles the machine code", kInstallNvdisasm);
}

Nvdisasm::Nvdisasm(std::span<const std::uint8_t> cubin, const std::string& program, std::string indices, int sm)
    : program_(program), indices_(std::move(indices)), sm_(sm) {
  if (!file_.Append({reinterpret_cast<const char*>(cubin.data()), cubin.size()})) {
    throw Error(std::string("a temporary file cannot be written: ") + std::strerror(errno),
                "set TMPDIR to a folder with more space");
  }
}

std::vector<DeviceFunction> Nvdisasm::List() const {
  const ChildEnd json = Run("-json");
  if (json.status == 0) return ParseNvdisasmJson(json.out);
  const ChildEnd text = Run("-c");
  if (text.status == 0) return ParseNvdisasmText(text.out);
  Refuse(json);
}

std::optional<std::vector<DeviceFunction>> Nvdisasm::ListAsJson() const {
  const ChildEnd json = Run("-json");
  if (json.status != 0) return std::nullopt;
  return ParseNvdisasmJson(json.out);
}

ChildEnd Nvdisasm::Run(const std::string& form) const {
  // The result of its data flow analysis, targets of indirect branches, is read from the headers.
  std::vector<std::string> arguments{program_, form, "-ndf"};
  if (!indices_.empty()) arguments.insert(arguments.end(), {"-fun", indices_});
  arguments.push_back(file_.path());
  return RunCudaTool(arguments);
}

void Nvdisasm::Refuse(const ChildEnd& end) const {
  const std::string said = end.err.substr(0, end.err.find_last_not_of(" \n") + 1);
  if (said.find("architecture") != std::string::npos) {
    constexpr int kFirstOfCuda12 = 50;
    constexpr int kFirstOfCuda13 = 75;
    const std::string architecture = "sm_" + std::to_string(sm_);
    if (sm_ < kFirstOfCuda13) {
      const std::string older = sm_ < kFirstOfCuda12 ? "an older CUDA" : "CUDA 12";
      throw Error("this version of nvdisasm no longer reads code for " + architecture + "; that of " + older + " does",
                  "set FA_PROFILE_NVDISASM to nvdisasm of " + older);
    }
    throw Error("this version of nvdisasm does not read code for " + architecture + "; a newer one may",
                "set FA_PROFILE_NVDISASM to nvdisasm of the CUDA version that compiled the code, or later");
  }
  constexpr int kCannotStart = 127;
  if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == kCannotStart) {
    throw Error(program_ + " " + Describe(end), kInstallNvdisasm);
  }
  throw Error(program_ + " cannot read the cubin: it " + Describe(end),
              "the cubin may be damaged: build it again, or copy it again; or nvdisasm is too old: set "
              "FA_PROFILE_NVDISASM to one of the compiler's CUDA version or later");
}

}  // namespace fa_profile::sass
