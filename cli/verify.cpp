#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_selection.h"
#include "fa_profile/kernels.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/verification.h"
#include "gpu_access.h"

namespace fa_profile {
namespace {

std::vector<SuiteShape> ShapesToVerify(const VerifyOptions& options) {
  std::vector<SuiteShape> suite;
  if (options.shapes.empty()) {
    suite = CorrectnessSuite();
    if (options.draws > 0) {
      for (SuiteShape& entry : suite) entry.draws = options.draws;
    }
    return suite;
  }
  constexpr int kDefaultDraws = 100;
  for (const AttentionShape& shape : options.shapes) {
    suite.push_back({shape, options.draws > 0 ? options.draws : kDefaultDraws});
  }
  return suite;
}

}  // namespace

int RunVerify(const VerifyOptions& options) {
  const KernelSelection selection(options.kernel_pattern, options.kernel_libraries);
  RequireGpu("verify");
  const Device device = OpenDevice(options.device, /*counters=*/false);
  if (!options.machine_readable) {
    fmt::print("{}, driver {}: |error| <= 1e-3 + 1e-3*|reference| against float64\n", device.name,
               device.driver_version);
  }
  int wrong = 0;
  int verified = 0;
  ProgressBar bar;
  for (const SuiteShape& entry : ShapesToVerify(options)) {
    for (const Kernel* const kernel : selection.kernels()) {
      if (const std::string why_not = kernel->WhyNot(entry.shape); !why_not.empty()) {
        if (options.machine_readable) {
          fmt::print("{}\n", nlohmann::json{{"kernel", kernel->id()}, {"skipped", why_not}}.dump());
        } else {
          fmt::print("{:<16} {:<22} skipped: {}\n", kernel->id(), entry.shape.ToString(), why_not);
        }
        continue;
      }
      const Verification result = Verify(*kernel, entry.shape, entry.draws, options.seed, [&](int done) {
        bar.Show("verify", kernel->id() + " " + entry.shape.ToString(), done, entry.draws);
      });
      bar.Clear();
      ++verified;
      if (!result.correct()) ++wrong;
      if (options.machine_readable) {
        fmt::print("{}\n", ToJsonLine(kernel->id(), result));
        std::fflush(stdout);
      } else {
        fmt::print("{:<16} {:<22} {}\n", kernel->id(), entry.shape.ToString(), Describe(result));
      }
      ThrowIfContextIsLost(*kernel, result);
    }
  }
  if (verified == 0) throw Error("nothing was verified: no kernel takes the shape", "head_dim must be 64 or 128");
  if (!options.machine_readable) {
    fmt::print("{}: {} comparisons, {} not correct\n", wrong == 0 ? "PASS" : "FAIL", verified, wrong);
  }
  return wrong == 0 ? kExitFine : kExitRegression;
}

}  // namespace fa_profile
