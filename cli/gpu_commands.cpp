// The commands that need a GPU. Their jobs are in cli/jobs.
#include <iostream>
#include <memory>

#include "command.h"
#include "fa_profile/add_option.h"
#include "fa_profile/error.h"
#include "fa_profile/jobs.h"
#include "fa_profile/option_jobs.h"
#include "formats.h"
#include "kernel_options.h"
#include "terminal_options.h"

namespace fa_profile::cli {

namespace {

struct VerifyArguments {
  explicit VerifyArguments(const CLI::App& command) : rows(command, KernelJobs()) {}

  help::OptionJobs rows;
  jobs::VerifyJob ladder;
  jobs::PythonOptions python;
  ShapeArguments shapes;
};

int ExitCodeOf(jobs::Correctness correctness) {
  switch (correctness) {
    case jobs::Correctness::kCorrect:
      return kExitFine;
    case jobs::Correctness::kNotCorrect:
      return kExitRegression;
    default:
      return kExitNoVerdict;
  }
}

int RunVerify(VerifyArguments& given) {
  jobs::VerifyJob& ladder = given.ladder;
  if (!given.python.kernel.empty()) {
    given.rows.Check(kPython);
    given.python.pattern = ladder.kernels.pattern;
    return ExitCodeOf(jobs::VerifyPythonKernel({given.python, ladder.judging, ladder.device, ladder.receipt}));
  }
  given.rows.Check(kLadder);
  ladder.kernels.shapes = given.shapes.Parse();
  return ExitCodeOf(jobs::VerifyKernels(ladder));
}

}  // namespace

void AddVerify(CLI::App& app, Invocation& invocation) {
  constexpr help::Jobs kBoth = kLadder | kPython;
  CLI::App& verify =
      *app.add_subcommand("verify", "Compare kernels with their reference; judge whether a time is real");
  const auto given = std::make_shared<VerifyArguments>(verify);
  help::OptionJobs& rows = given->rows;
  jobs::VerifyJob& job = given->ladder;
  rows.For(kBoth, verify.add_option("--kernel", job.kernels.pattern, "Only kernels that match this regular expression")
                      ->type_name("REGEX"));
  rows.For(kLadder, verify.add_option("--kernel-lib", job.kernels.libraries, "Your own kernel library (repeatable)")
                        ->type_name("FILE"));
  AddPythonKernel(verify, rows, given->python);
  rows.For(kLadder, AddTensorFiles(verify, job.kernels.tensor_files));
  AddShapes(
      verify, given->shapes,
      "BATCH,HEADS,SEQLEN,HEAD_DIM, or NAME=VALUE,... of a library's parameters (repeatable); default: the suite");
  rows.For(kLadder, {"--shape", "--causal"});
  rows.For(kBoth,
           verify
               .add_option("--draws", job.judging.draws,
                           "Random inputs per shape; default: 100 with --shape, else the suite's; of a library 3")
               ->check(CLI::Range(1, 100000)));
  rows.For(kBoth, help::AddNumber(verify, "--seed", job.judging.seed, "Seed of the first draw, for rungs of the ladder",
                                  0, std::uint64_t{1} << 53U));
  rows.For(kBoth, verify.add_option("--device", job.device, "CUDA device number")->capture_default_str());
  rows.For(kBoth, help::AddNumber(verify, "--calls", job.judging.calls,
                                  "Calls of a library's kernel whose results are compared, in total", 0, 1'000'000));
  rows.For(kBoth, verify.add_flag_callback(
                      "--no-timing", [&job] { job.judging.timing = false; },
                      "Check results only, for runs under compute-sanitizer"));
  rows.For(kBoth, verify.add_flag("--accept-weak-tolerance", job.judging.accept_weak_tolerance,
                                  "Apply the tolerance even if zeros or a mean pass it; let fp32 be computed as TF32"));
  rows.For(kBoth, verify.add_option("--receipt", job.receipt, "Write a receipt of the judgement")->type_name("FILE"));
  invocation.When(verify, [given] { return RunVerify(*given); });
}

void AddReceipt(CLI::App& app, Invocation& invocation) {
  const auto options = std::make_shared<jobs::ReceiptJob>();
  CLI::App* const receipt = app.add_subcommand("receipt", "Check receipts that verify wrote");
  receipt->require_subcommand(1);
  CLI::App* const check = receipt->add_subcommand("check", "Judge a kernel again, and say what agrees");
  check->add_option("file", options->file, "What verify --receipt wrote")->required()->type_name("FILE");
  CLI::Option* const library =
      check->add_option("--kernel-lib", options->library, "The kernel library that the receipt is about");
  CLI::Option* const python =
      check->add_option("--kernel-py", options->python.kernel, "FILE.py:FUNCTION that the receipt is about")
          ->excludes(library);
  check->add_option("--python", options->python.python, "The Python to run it with")->needs(python);
  help::AddNumber(*check, "--timeout", options->python.timeout_s, "Seconds to load the file, and for each case", 1.0,
                  86400.0)
      ->needs(python);
  AddTensorFiles(*check, options->tensor_files);
  check->add_option("--device", options->device, "CUDA device number")->capture_default_str();
  invocation.When(*check, [options] {
    if (options->library.empty() && options->python.kernel.empty()) {
      throw Error("receipt check needs the kernel", "give --kernel-lib FILE, or --kernel-py FILE.py:FUNCTION");
    }
    switch (jobs::CheckReceipt(*options)) {
      case jobs::ReceiptCheck::kAgrees:
        return kExitFine;
      case jobs::ReceiptCheck::kDiffers:
        return kExitRegression;
      default:
        return kExitCannot;
    }
  });
}

// What this program starts for each kernel library.
void AddKernelLibrary(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    jobs::KernelChoice kernels;
    bool serve = false;
  };
  const auto given = std::make_shared<Arguments>();
  CLI::App* const child = app.add_subcommand("kernel-library", "Load a kernel library for verify and for a run");
  child->group("");
  child->add_option("library", given->kernels.libraries)->required()->expected(1);
  AddTensorFiles(*child, given->kernels.tensor_files);
  child->add_flag("--serve", given->serve);
  invocation.When(*child, [given]() -> int {
    if (given->serve) jobs::ServeKernelLibrary(given->kernels);
    jobs::DescribeKernelLibrary(given->kernels);
  });
}

void AddSelftest(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    jobs::SelftestJob job;
    const Format* format = nullptr;
  };
  const auto arguments = std::make_shared<Arguments>();
  jobs::SelftestJob& job = arguments->job;
  CLI::App* const selftest =
      app.add_subcommand("selftest", "Test the profiler on kernels whose counts and phases are known");
  selftest->add_option("--kernel", job.kernel_pattern, "Only kernels that match this regular expression")
      ->type_name("REGEX");
  selftest->add_option("--device", job.device, "CUDA device number")->capture_default_str();
  selftest->add_option("-o,--output", job.file.path, "Keep the recording (*.fap)");
  selftest->add_flag("--force", job.file.overwrite, "Replace an existing recording");
  AddFormatOption(*selftest, arguments->format, &Format::selftest);
  invocation.When(*selftest, [arguments, &invocation] {
    jobs::SelftestJob& asked = arguments->job;
    asked.file.command_line = invocation.command_line;
    const SelftestReport report = jobs::RunSelftest(asked);
    arguments->format->selftest(std::cout, report, TerminalOptions());
    if (!asked.file.path.empty()) NameRecording("recording: " + asked.file.path);
    return CodeOf(report.Count(TruthCheck::Verdict::kFail) == 0 && report.Count(TruthCheck::Verdict::kPass) > 0);
  });
}

}  // namespace fa_profile::cli
