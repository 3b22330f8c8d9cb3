#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <utility>

#include "commands.h"
#include "fa_profile/device.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_selection.h"
#include "fa_profile/kernels.h"
#include "fa_profile/library_child.h"
#include "fa_profile/own_stdout.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/text.h"
#include "fa_profile/verification.h"
#include "gpu_access.h"
#include "verify_case.h"

namespace fa_profile::cli {
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

LibraryAnswer AnswerFor(const LibraryQuestion& question) {
  LibraryAnswer answer;
  try {
    const std::unique_ptr<Kernel> kernel = LoadKernelLibrary(question.library);
    answer.kernel = kernel->id();
    if (!question.shape) return answer;
    (void)collect::OpenDevice(question.device, /*counters=*/false);
    answer.why_not = Printable(kernel->WhyNot(*question.shape));
    if (answer.why_not.empty()) answer.verification = Verify(*kernel, *question.shape, question.draws, question.seed);
  } catch (const Error& error) {  // the parent throws it
    answer.error = error;
  }
  return answer;
}

}  // namespace

int RunVerify(const VerifyOptions& options) {
  const KernelSelection selection(options.kernel_pattern, options.kernel_libraries);
  RequireGpu("verify");
  const Device device = collect::OpenDevice(options.device, /*counters=*/false);
  fmt::print("{}, driver {}: |error| <= 1e-3 + 1e-3*|reference| against float64\n", device.name, device.driver_version);
  int wrong = 0;
  int verified = 0;
  ProgressBar bar;
  for (const SuiteShape& entry : ShapesToVerify(options)) {
    for (const Kernel* const kernel : selection.kernels()) {
      const CaseCheck outcome =
          VerifyCase(*kernel, {entry.shape, entry.draws, options.seed, options.device}, bar, nullptr);
      const std::string start = fmt::format("{:<16} {:<22}", kernel->id(), entry.shape.ToString());
      if (!outcome.why_not.empty()) {
        fmt::print("{} skipped: {}\n", start, outcome.why_not);
        continue;
      }
      ++verified;
      if (!outcome.verification.correct()) ++wrong;
      fmt::print("{} {}\n", start, Printable(Describe(outcome.verification)));
      if (!IsLibrary(*kernel)) ThrowIfContextIsLost(*kernel, outcome.verification);
    }
  }
  if (verified == 0) throw Error("nothing was verified: no kernel takes the shape", "head_dim must be 64 or 128");
  fmt::print("{}: {} comparisons, {} not correct\n", wrong == 0 ? "PASS" : "FAIL", verified, wrong);
  return wrong == 0 ? kExitFine : kExitRegression;
}

int RunKernelLibrary(const VerifyOptions& options) {
  const OwnStdout own;  // before the library's code runs
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  LibraryQuestion question{options.kernel_libraries.front(), {}, options.draws, options.seed, options.device};
  if (!options.shapes.empty()) question.shape = options.shapes.front();
  own.Write(ToMessage(AnswerFor(question)));
  (void)std::fflush(nullptr);
  _exit(kExitFine);  // the library's destructors do not run: they cannot change the answer
}

}  // namespace fa_profile::cli
