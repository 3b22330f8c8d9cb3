#include "kernel_selection.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "fa_profile/child_process.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_pattern.h"

namespace fa_profile {

KernelSelection::KernelSelection(const std::string& pattern, const std::vector<std::string>& libraries) {
  std::vector<std::string> ids;
  for (const Kernel* const kernel : Ladder()) ids.push_back(kernel->id());
  std::set<std::string> known(ids.begin(), ids.end());
  for (const std::string& path : libraries) {
    libraries_.push_back(LoadKernelLibrary(path));
    const std::string& id = libraries_.back()->id();
    if (!known.insert(id).second) {
      throw Error("kernel library " + path + " is called '" + id + "', and so is another kernel",
                  "give each kernel an id of its own in fa_profile_kernel_name()");
    }
    ids.push_back(id);
  }
  const std::vector<std::string> matches = MatchKernels(pattern, ids);
  const std::set<std::string> wanted(matches.begin(), matches.end());
  for (const Kernel* const kernel : Ladder()) {
    if (wanted.count(kernel->id()) > 0) kernels_.push_back(kernel);
  }
  for (const auto& library : libraries_) {
    if (wanted.count(library->id()) > 0) kernels_.push_back(library.get());
  }
}

void ThrowIfContextIsLost(const Kernel& kernel, const Verification& result) {
  if (result.error.empty() || DeviceStillWorks()) return;
  throw Error("kernel '" + kernel.id() + "' (" + kernel.origin() + ") crashed on the GPU: " + result.error,
              "leave it out with --kernel, or find the access with compute-sanitizer fa-profile verify --kernel " +
                  kernel.id());
}

Verification VerifyInChild(const Kernel& kernel, const std::string& library, const AttentionShape& shape, int draws,
                           int device) {
  AttentionShape plain = shape;
  plain.causal = false;
  std::vector<std::string> arguments = {"fa-profile",
                                        "verify",
                                        "--machine-readable",
                                        "--kernel-lib",
                                        library,
                                        "--kernel",
                                        "^" + kernel.id() + "$",
                                        "--shape",
                                        plain.ToString(),
                                        "--draws",
                                        std::to_string(draws),
                                        "--device",
                                        std::to_string(device)};
  if (shape.causal) arguments.emplace_back("--causal");
  const auto [output, status] = CaptureChild("/proc/self/exe", arguments);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) {
    throw Error("interrupted", "nothing was measured yet; run it again");
  }
  if (WIFSIGNALED(status)) {
    throw Error("kernel library " + library + " crashed (" + strsignal(WTERMSIG(status)) + ") while '" + kernel.id() +
                    "' was verified at shape " + shape.ToString(),
                "debug it with: gdb --args fa-profile verify --kernel-lib " + library);
  }
  const nlohmann::json line = nlohmann::json::parse(output, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object() || !line.contains("draws_passed")) {
    throw Error("kernel library " + library + " could not be verified (exit code " +
                    std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1) + ")",
                "run: fa-profile verify --kernel-lib " + library);
  }
  Verification result;
  result.draws = line.value("draws", 0);
  result.draws_passed = line.value("draws_passed", 0);
  result.max_abs_error = line.value("max_abs_error", 0.0);
  result.max_error_ratio = line.value("max_error_ratio", 0.0);
  result.nonfinite = line.value("nonfinite", std::int64_t{0});
  result.unwritten = line.value("unwritten", std::int64_t{0});
  result.error = line.value("error", "");
  return result;
}

}  // namespace fa_profile
