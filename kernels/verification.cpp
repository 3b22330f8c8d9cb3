#include "fa_profile/verification.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "fa_profile/child_process.h"
#include "fa_profile/error.h"

namespace fa_profile {
namespace {

Verification FromJson(const nlohmann::json& line) {
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

}  // namespace

std::string Describe(const Verification& result) {
  if (!result.error.empty()) return "FAILED: " + result.error;
  const std::string counts = fmt::format("{} of {} draws", result.draws_passed, result.draws);
  if (result.correct()) return fmt::format("correct, {}, max error {:.2e}", counts, result.max_abs_error);
  std::string text = fmt::format("WRONG, {} right, max error {:.3g} ({:.3g} times the tolerance)", counts,
                                 result.max_abs_error, result.max_error_ratio);
  if (result.nonfinite > 0) text += fmt::format(", {} NaN or infinite", result.nonfinite);
  if (result.unwritten > 0) text += fmt::format(", {} never written", result.unwritten);
  return text;
}

std::string ToJsonLine(const std::string& kernel, const Verification& result) {
  const nlohmann::json line = {{"kernel", kernel},
                               {"draws", result.draws},
                               {"draws_passed", result.draws_passed},
                               {"max_abs_error", result.max_abs_error},
                               {"max_error_ratio", result.max_error_ratio},
                               {"nonfinite", result.nonfinite},
                               {"unwritten", result.unwritten},
                               {"error", result.error}};
  return line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

void ThrowIfContextIsLost(const Kernel& kernel, const Verification& result) {
  if (result.error.empty() || cudaDeviceSynchronize() == cudaSuccess) return;
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
  return FromJson(line);
}

}  // namespace fa_profile
