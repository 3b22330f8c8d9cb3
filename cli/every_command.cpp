#include "command.h"

namespace fa_profile::cli {

std::vector<void (*)(CLI::App&, Invocation&)> Commands() {
  return {AddProfile, AddReport, AddDiff,     AddRedact,  AddVerify, AddReceipt,    AddKernelLibrary,
          AddList,    AddLint,   AddSelftest, AddDoctor,  AddWatch,  AddExporter,   AddNew,
          AddMcp,     AddGate,   AddBaseline, AddRelease, AddHelp,   AddCompletion, AddManPages};
}

}  // namespace fa_profile::cli
