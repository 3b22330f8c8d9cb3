// The commands that need CUDA, in a build without it (preset host).
#include <filesystem>

#include "commands.h"
#include "fa_profile/error.h"
#include "fa_profile/metric_sets.h"
#include "gate_sample.h"
#include "gpu_access.h"

namespace fa_profile::cli {
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
int RunLadder(const RunOptions&) { Refuse("profiling"); }
int RunPython(const RunOptions&) { Refuse("profiling"); }
int RunProgram(const RunOptions&) { Refuse("profiling a program"); }
int RunVerify(const VerifyOptions&) { Refuse("verify"); }
int RunKernelLibrary(const VerifyOptions&) { Refuse("kernel-library"); }
int RunSelftest(const SelftestOptions&) { Refuse("selftest"); }
int RunGateSample(const GateSampleOptions&) { Refuse("gate-sample"); }
void ListKernels(const std::string&, const std::vector<std::string>&) { RefuseList("list kernels"); }
void ListCounters(const std::string&, const std::string&) { RefuseList("list counters"); }
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

}  // namespace fa_profile::cli
