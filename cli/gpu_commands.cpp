// The commands that need a GPU. What they run is in profiler/jobs.
#include <iostream>
#include <memory>

#include "command.h"
#include "fa_profile/add_option.h"
#include "fa_profile/jobs.h"
#include "formats.h"
#include "terminal_options.h"

namespace fa_profile::cli {

namespace {

struct VerifyArguments {
  jobs::VerifyOptions options;
  ShapeArguments shapes;
};

}  // namespace

void AddVerify(CLI::App& app, Invocation& invocation) {
  const auto arguments = std::make_shared<VerifyArguments>();
  jobs::VerifyOptions& options = arguments->options;
  CLI::App* const verify = app.add_subcommand("verify", "Compare every kernel with the float64 reference");
  verify->add_option("--kernel", options.kernel_pattern, "Only kernels that match this regular expression");
  verify->add_option("--kernel-lib", options.kernel_libraries, "A kernel library of your own (repeatable)");
  AddPythonKernel(*verify, options.python);
  AddTensorFiles(*verify, options.tensor_files);
  AddShapes(
      *verify, arguments->shapes,
      "BATCH,HEADS,SEQLEN,HEAD_DIM, or NAME=VALUE,... of a library's parameters (repeatable); default: the suite");
  verify->add_option("--draws", options.draws, "Random inputs per shape")->check(CLI::Range(1, 100000));
  help::AddNumber(*verify, "--seed", options.seed, "Seed of the first draw", 0, std::uint64_t{1} << 53U);
  verify->add_option("--device", options.device, "CUDA device number")->capture_default_str();
  help::AddNumber(*verify, "--calls", options.calls, "Calls of a library's kernel to compare in all", 0, 1'000'000);
  verify->add_flag("!--no-timing", options.timing, "Only results: for runs under compute-sanitizer");
  verify->add_flag("--accept-weak-tolerance", options.accept_weak_tolerance,
                   "Apply a library's tolerance as it is, though zeros or a mean pass it");
  invocation.When(*verify, [arguments, verify] {
    const jobs::PythonOptions& python = arguments->options.python;
    RequirePythonKernel(*verify, python);
    if (!python.kernel.empty()) {
      RefuseWithPython(*verify, {"--kernel-lib", "--shape", "--causal"});
      return CodeOf(jobs::VerifyPythonKernel(arguments->options));
    }
    arguments->options.shapes = arguments->shapes.Parse();
    return CodeOf(jobs::VerifyKernels(arguments->options));
  });
}

// What this program starts for each kernel library.
void AddKernelLibrary(CLI::App& app, Invocation& invocation) {
  const auto arguments = std::make_shared<VerifyArguments>();
  jobs::VerifyOptions& options = arguments->options;
  CLI::App* const child = app.add_subcommand("kernel-library", "Load a kernel library for verify and for a run");
  child->group("");
  child->add_option("library", options.kernel_libraries)->required()->expected(1);
  AddTensorFiles(*child, options.tensor_files);
  AddShapes(*child, arguments->shapes, "BATCH,HEADS,SEQLEN,HEAD_DIM, or NAME=VALUE,...");
  child->add_option("--draws", options.draws);
  child->add_option("--seed", options.seed);
  child->add_option("--device", options.device);
  const auto serve = std::make_shared<bool>(false);
  child->add_flag("--serve", *serve);
  invocation.When(*child, [arguments, serve]() -> int {
    if (*serve) jobs::ServeKernelLibrary(arguments->options);
    arguments->options.shapes = arguments->shapes.Parse();
    jobs::RunKernelLibrary(arguments->options);
  });
}

void AddSelftest(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    jobs::SelftestOptions options;
    const Format* format = nullptr;
  };
  const auto arguments = std::make_shared<Arguments>();
  jobs::SelftestOptions& options = arguments->options;
  CLI::App* const selftest =
      app.add_subcommand("selftest", "Test the profiler on kernels whose counts and phases are known");
  selftest->add_option("--kernel", options.kernel_pattern, "Only kernels that match this regular expression");
  selftest->add_option("--device", options.device, "CUDA device number")->capture_default_str();
  selftest->add_option("-o,--output", options.output, "Keep the recording (*.fap)");
  selftest->add_flag("--force", options.overwrite, "Replace an existing recording");
  AddFormatOption(*selftest, arguments->format, &Format::selftest);
  invocation.When(*selftest, [arguments, &invocation] {
    jobs::SelftestOptions& asked = arguments->options;
    asked.command_line = invocation.command_line;
    const SelftestReport report = jobs::RunSelftest(asked);
    arguments->format->selftest(std::cout, report, TerminalOptions());
    if (!asked.output.empty()) NameRecording("recording: " + asked.output);
    return CodeOf(report.Count(TruthCheck::Verdict::kFail) == 0 && report.Count(TruthCheck::Verdict::kPass) > 0);
  });
}

}  // namespace fa_profile::cli
