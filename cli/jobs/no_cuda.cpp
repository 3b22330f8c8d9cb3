// The commands that need CUDA, in a build without it (preset host).
#include <filesystem>

#include "fa_profile/error.h"
#include "fa_profile/gpu_access.h"
#include "fa_profile/jobs.h"
#include "fa_profile/metric_sets.h"
#include "judge_python.h"
#include "receipt.h"

namespace fa_profile::jobs {
namespace {

constexpr const char* kGpuMachine =
    "use a machine with an NVIDIA GPU, its driver and nvcc: ./fa-profile builds the program with CUDA there; report, "
    "lint, gate --static and gate --replay need no GPU";

[[noreturn]] void Refuse(const std::string& what) {
  throw Error(what + " needs a GPU, and this program was built without CUDA", kGpuMachine);
}

[[noreturn]] void RefuseList(const std::string& what) {
  throw Error(what + " needs CUDA, and this program was built without it",
              "with nvcc and without a GPU: FA_PROFILE_PRESET=gpu ./fa-profile " + what);
}

}  // namespace

std::string WhyNoGpu() {
  std::error_code ignored;
  const bool driver = std::filesystem::exists("/proc/driver/nvidia/version", ignored);
  return driver ? "this program was built without CUDA" : "no NVIDIA driver";
}
void RequireGpu(const std::string& what) { Refuse(what); }
std::vector<Diagnosis> DiagnoseGpu(int) {
  return {{Diagnosis::Level::kProblem, "GPU", "not available: " + WhyNoGpu(), kGpuMachine}};
}
bool RunLadder(const LadderJob&, const Report&) { Refuse("profiling"); }
bool RunPython(const PythonJob&, const Report&) { Refuse("profiling"); }
int RunProgram(const ProgramJob&, const Report&) { Refuse("profiling a program"); }
void MeasureReceipt(const ReceiptJob&, const Receipt&, Receipt&) { Refuse("receipt check"); }
VerifyCounts JudgePythonCases(const VerifyPythonJob&, const std::vector<std::string>&, Receipt*) { Refuse("verify"); }
void MeasurePythonReceipt(const ReceiptJob&, const Receipt&, Receipt&) { Refuse("receipt check"); }
Correctness VerifyKernels(const VerifyJob&) { Refuse("verify"); }
void DescribeKernelLibrary(const KernelChoice&) { Refuse("kernel-library"); }
void ServeKernelLibrary(const KernelChoice&) { Refuse("kernel-library"); }
SelftestReport RunSelftest(const SelftestJob&) { Refuse("selftest"); }
void RunGateSample(const GateSampleJob&) { Refuse("gate-sample"); }
void ListKernels(const Wanted&, const std::vector<std::string>&) { RefuseList("list kernels"); }
void ListCounters(const std::string&, const Wanted&) { RefuseList("list counters"); }
void ListChips() { RefuseList("list chips"); }
std::string KernelOfLibrary(const std::string&, const ChildLimits&) { RefuseList("list kernels"); }
std::vector<std::string> KnownKernels() { return {}; }
std::vector<std::string> KnownChips() { return MetricSetChips(); }
std::set<std::string> KnownCounters() { return {}; }
std::optional<unsigned> ComputeProcesses(const std::string&) { return std::nullopt; }
std::function<HostReading()> MakeGpuReader(const std::string&) {
  return [] {
    HostReading host;
    host.nvml_error = "this program was built without CUDA and NVML";
    return host;
  };
}

}  // namespace fa_profile::jobs
