// The commands that need CUDA, in a build without it (preset host).
#include <filesystem>

#include "commands.h"
#include "fa_profile/error.h"
#include "fa_profile/metric_sets.h"
#include "gate_sample.h"
#include "gpu_access.h"

namespace fa_profile::cli {
namespace {

constexpr const char* kBuildWithCuda =
    "on a machine with an NVIDIA driver and nvcc ./fa-profile builds the program with CUDA; elsewhere: "
    "FA_PROFILE_PRESET=gpu ./fa-profile";

[[noreturn]] void Refuse(const std::string& what) {
  throw Error(what + " needs CUDA, and this program was built without it", kBuildWithCuda);
}

}  // namespace

std::string WhyNoGpu() {
  std::error_code ignored;
  const bool driver = std::filesystem::exists("/proc/driver/nvidia/version", ignored);
  return driver ? "this program was built without CUDA" : "no NVIDIA driver";
}
std::vector<Diagnosis> DiagnoseGpu(int) {
  return {{Diagnosis::Level::kProblem, "GPU", "not available: " + WhyNoGpu(), kBuildWithCuda}};
}
int RunLadder(const RunOptions&) { Refuse("profiling"); }
int RunProgram(const RunOptions&) { Refuse("profiling a program"); }
int RunVerify(const VerifyOptions&) { Refuse("verify"); }
int RunKernelLibrary(const VerifyOptions&) { Refuse("kernel-library"); }
int RunSelftest(const SelftestOptions&) { Refuse("selftest"); }
int RunGateSample(const GateSampleOptions&) { Refuse("gate-sample"); }
void ListKernels(const std::string&) { Refuse("list kernels"); }
void ListCounters(const std::string&, const std::string&) { Refuse("list counters"); }
void ListChips() { Refuse("list chips"); }
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
