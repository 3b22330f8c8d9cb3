// The commands that need CUDA, in a build without it (preset host).
#include "commands.h"
#include "fa_profile/error.h"
#include "fa_profile/metric_sets.h"
#include "gate_sample.h"
#include "gpu_access.h"

namespace fa_profile {
namespace {

[[noreturn]] void Refuse(const std::string& what) {
  throw Error(what + " needs CUDA, and this program was built without it",
              "build it where nvcc and CUPTI are installed: cmake --preset gpu");
}

}  // namespace

std::string WhyNoGpu() { return "built without CUDA"; }
int RunLadder(const RunOptions&) { Refuse("profiling"); }
int RunProgram(const RunOptions&) { Refuse("profiling a program"); }
int RunVerify(const VerifyOptions&) { Refuse("verify"); }
int RunSelftest(const SelftestOptions&) { Refuse("selftest"); }
int RunGateSample(const GateSampleOptions&) { Refuse("gate-sample"); }
int RunDoctor(int, const std::string&) { Refuse("doctor"); }
void ListKernels(const std::string&) { Refuse("list kernels"); }
void ListCounters(const std::string&, const std::string&) { Refuse("list counters"); }
void ListChips() { Refuse("list chips"); }
std::vector<std::string> KnownChips() { return MetricSetChips(); }
std::set<std::string> KnownCounters() { return {}; }
std::optional<unsigned> ComputeProcesses(const std::string&) { return std::nullopt; }
std::function<HostReading()> MakeGpuReader(const std::string&) {
  return [] {
    HostReading host;
    host.nvml_error = "this program was built without CUDA and NVML; serve --no-nvml turns this reading off";
    return host;
  };
}

}  // namespace fa_profile
