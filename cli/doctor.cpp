#include <fmt/format.h>

#include <memory>
#include <vector>

#include "command.h"
#include "fa_profile/diagnose_code.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/text.h"

namespace fa_profile::cli {
namespace {

int RunDoctor(int device, const std::string& file) {
  std::vector<Diagnosis> found;
  if (file.empty()) {
    found = jobs::DiagnoseGpu(device);
    found.push_back(sass::DiagnoseNvdisasm());
  } else {
    found.push_back(sass::DiagnoseLineInfo(file));
  }
  bool problem = false;
  for (const Diagnosis& diagnosis : found) {
    problem = problem || diagnosis.level == Diagnosis::Level::kProblem;
    const char* const mark = diagnosis.level == Diagnosis::Level::kOk        ? "ok     "
                             : diagnosis.level == Diagnosis::Level::kWarning ? "warning"
                                                                             : "PROBLEM";
    fmt::print("{}  {:<12} {}\n", mark, diagnosis.subject, Printable(diagnosis.detail));
    if (!diagnosis.cure.empty()) fmt::print("{:<23}cure: {}\n", "", Printable(diagnosis.cure));
  }
  if (!file.empty()) fmt::print("The GPU and this machine are not checked: fa-profile doctor, without a file, does.\n");
  return problem ? kExitCannot : kExitFine;
}

}  // namespace

void AddDoctor(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    int device = 0;
    std::string file;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const doctor = app.add_subcommand("doctor", "Check whether this machine can profile, and what to fix");
  doctor->add_option("--device", arguments->device, "CUDA device number")->capture_default_str();
  doctor->add_option("file", arguments->file,
                     "A program, library or cubin to check for line information, instead of this machine");
  invocation.When(*doctor, [arguments] { return RunDoctor(arguments->device, arguments->file); });
}

}  // namespace fa_profile::cli
