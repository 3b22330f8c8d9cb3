#include <fmt/format.h>

#include <vector>

#include "commands.h"
#include "fa_profile/diagnose_code.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/text.h"

namespace fa_profile::cli {

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
  return problem ? kExitCannot : kExitFine;
}

}  // namespace fa_profile::cli
