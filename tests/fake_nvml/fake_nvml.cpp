// A stand-in for libnvidia-ml.so.1 on machines without a GPU. It does what the file named by FAKE_NVML_SCRIPT says,
// read anew at each call, so that a test can change a host under a running program. One directive a line:
//
//   gpus N                 the host has N GPUs (2)
//   fail NAME CODE [GPU]   the exported function NAME returns CODE (for one GPU)
//   once NAME CODE         the same, the first time it is called after this line appeared
//   lost GPU               every question to the GPU is answered with NVML_ERROR_GPU_IS_LOST
//   reset GPU              ... with NVML_ERROR_RESET_REQUIRED
//   mig GPU                MIG mode is on
//   old GPU                before Hopper: no GPM
//   uuid GPU TEXT          another GPU sits there
//   xid GPU NUMBER         the GPU has an Xid error; each such line is delivered once
//
// GPU g answers 1000 + g MHz and so on, below. What the real one would only do badly (use before nvmlInit or after
// nvmlShutdown, two GPM samples less than 0.1 s apart, samples or event sets left over) ends the program with a
// message.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "nvml_abi.h"

namespace fa_profile::collect::nvml {

struct DeviceTag {
  unsigned index;
};
struct EventSetTag {
  std::set<Device> devices;
};
struct GpmSampleTag {
  Device device = nullptr;
  std::chrono::steady_clock::time_point taken;
};

namespace {

using Words = std::vector<std::string>;

// How far a script has got: outlives a session, and restarts with another script.
std::string script_path;
std::size_t xids_told = 0;
std::set<std::size_t> once_done;

std::vector<Words> Script() {
  std::vector<Words> lines;
  const char* const path = std::getenv("FAKE_NVML_SCRIPT");
  if (path != nullptr && script_path != path) {
    script_path = path;
    xids_told = 0;
    once_done.clear();
  }
  std::ifstream file(script_path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; words >> word;) lines.back().push_back(word);
  }
  return lines;
}

struct State {
  int sessions = 0;
  std::array<DeviceTag, 64> devices{};
  std::set<EventSet> event_sets;
  std::set<GpmSample> samples;
  std::map<Device, std::chrono::steady_clock::time_point> sampled;
};
State state;
[[noreturn]] void Misuse(const std::string& what) {
  std::fprintf(stderr, "fake NVML: %s\n", what.c_str());
  std::abort();
}

bool Has(const std::string& directive, unsigned gpu) {
  for (const Words& words : Script()) {
    if (words.size() == 2 && words[0] == directive && words[1] == std::to_string(gpu)) return true;
  }
  return false;
}

unsigned Gpus() {
  for (const Words& words : Script()) {
    if (words.size() == 2 && words[0] == "gpus") return static_cast<unsigned>(std::stoul(words[1]));
  }
  return 2;
}

// The result that the script sets for `name`.
Result Verdict(const std::string& name, const DeviceTag* device = nullptr) {
  if (state.sessions == 0 && name != kInit.name) Misuse(name + " without nvmlInit_v2");
  if (device != nullptr && Has("lost", device->index)) return kGpuIsLost;
  if (device != nullptr && Has("reset", device->index)) return kResetRequired;
  const std::vector<Words> script = Script();
  for (std::size_t i = 0; i < script.size(); ++i) {
    const Words& words = script[i];
    if (words.size() < 3 || words[1] != name) continue;
    const bool here = words.size() == 3 || (device != nullptr && words[3] == std::to_string(device->index));
    if (words[0] == "fail" && here) return std::stoi(words[2]);
    if (words[0] == "once" && once_done.insert(i).second) return std::stoi(words[2]);
  }
  return kSuccess;
}

template <typename Value>
Result Answer(const char* name, Device device, Value* answer, Value value) {
  const Result result = Verdict(name, device);
  if (result == kSuccess) *answer = value;
  return result;
}

Result AnswerText(const char* name, const DeviceTag* device, char* text, unsigned size, const std::string& value) {
  const Result result = Verdict(name, device);
  if (result == kSuccess) std::snprintf(text, size, "%s", value.c_str());
  return result;
}

std::string Uuid(unsigned gpu) {
  for (const Words& words : Script()) {
    if (words.size() == 3 && words[0] == "uuid" && words[1] == std::to_string(gpu)) return words[2];
  }
  return "GPU-fake-" + std::to_string(gpu);
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT Result nvmlInit_v2() {
  const Result result = Verdict("nvmlInit_v2");
  if (result == kSuccess) ++state.sessions;
  for (unsigned i = 0; i < state.devices.size(); ++i) state.devices[i].index = i;
  return result;
}

EXPORT Result nvmlShutdown() {
  if (state.sessions == 0) Misuse("nvmlShutdown without nvmlInit_v2");
  if (!state.event_sets.empty()) Misuse("event sets left over");
  if (!state.samples.empty()) Misuse("GPM samples left over");
  if (--state.sessions == 0) state.sampled.clear();
  return kSuccess;
}

EXPORT const char* nvmlErrorString(Result result) {
  switch (result) {
    case kVersionMismatch:
      return "Driver/library version mismatch";
    case kGpuIsLost:
      return "GPU is lost";
    default:
      return "fake error";
  }
}

EXPORT Result nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return AnswerText("nvmlSystemGetDriverVersion", nullptr, text, size, "580.0-fake");
}

EXPORT Result nvmlDeviceGetCount_v2(unsigned* count) { return Answer("nvmlDeviceGetCount_v2", nullptr, count, Gpus()); }

EXPORT Result nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index >= Gpus()) return kInvalidArgument;
  return Answer("nvmlDeviceGetHandleByIndex_v2", &state.devices[index], device, &state.devices[index]);
}

EXPORT Result nvmlDeviceGetName(Device device, char* text, unsigned size) {
  return AnswerText("nvmlDeviceGetName", device, text, size, "Fake H200");
}

EXPORT Result nvmlDeviceGetUUID(Device device, char* text, unsigned size) {
  return AnswerText("nvmlDeviceGetUUID", device, text, size, Uuid(device->index));
}

EXPORT Result nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  *minor = 0;
  return Answer("nvmlDeviceGetCudaComputeCapability", device, major, 9);
}

EXPORT Result nvmlDeviceGetClockInfo(Device device, unsigned clock, unsigned* megahertz) {
  return Answer("nvmlDeviceGetClockInfo", device, megahertz, (clock == kClockSm ? 1000 : 3000) + device->index);
}

EXPORT Result nvmlDeviceGetMaxClockInfo(Device device, unsigned, unsigned* megahertz) {
  return Answer("nvmlDeviceGetMaxClockInfo", device, megahertz, 1980U);
}

EXPORT Result nvmlDeviceGetTemperature(Device device, unsigned, unsigned* celsius) {
  return Answer("nvmlDeviceGetTemperature", device, celsius, 40 + device->index);
}

EXPORT Result nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  return Answer("nvmlDeviceGetPowerUsage", device, milliwatts, 250'500 + device->index * 1000);
}

EXPORT Result nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  return Answer("nvmlDeviceGetEnforcedPowerLimit", device, milliwatts, 700'000U);
}

EXPORT Result nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* millijoules) {
  return Answer("nvmlDeviceGetTotalEnergyConsumption", device, millijoules, 5'000'000'000'500ULL);
}

EXPORT Result nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  return Answer("nvmlDeviceGetMemoryInfo", device, memory, Memory{100'000'000'000, 98'000'000'000, 2'000'000'000});
}

EXPORT Result nvmlDeviceGetUtilizationRates(Device device, Utilization* percent) {
  return Answer("nvmlDeviceGetUtilizationRates", device, percent, Utilization{75, 20});
}

EXPORT Result nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* reasons) {
  constexpr unsigned long long kGpuIdle = 0x1;  // none of the six
  constexpr unsigned long long kSwPowerCap = 0x4;
  constexpr unsigned long long kHwThermal = 0x40;
  return Answer("nvmlDeviceGetCurrentClocksEventReasons", device, reasons, kGpuIdle | kSwPowerCap | kHwThermal);
}

EXPORT Result nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  constexpr unsigned long long kSyncBoost = 0x10;
  return Answer("nvmlDeviceGetCurrentClocksThrottleReasons", device, reasons, kSyncBoost);
}

EXPORT Result nvmlDeviceGetTotalEccErrors(Device device, unsigned kind, unsigned counter, unsigned long long* count) {
  if (counter != kEccVolatile) return kInvalidArgument;
  return Answer("nvmlDeviceGetTotalEccErrors", device, count, kind == kEccCorrected ? 7ULL : 0ULL);
}

EXPORT Result nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  *pending = kMigEnabled;
  return Answer("nvmlDeviceGetMigMode", device, current, Has("mig", device->index) ? kMigEnabled : 0);
}

EXPORT Result nvmlEventSetCreate(EventSet* set) {
  const Result result = Verdict("nvmlEventSetCreate");
  if (result == kSuccess) state.event_sets.insert(*set = new EventSetTag);
  return result;
}

EXPORT Result nvmlEventSetFree(EventSet set) {
  if (state.event_sets.erase(set) == 0) Misuse("an event set that is none is freed");
  delete set;
  return kSuccess;
}

EXPORT Result nvmlDeviceRegisterEvents(Device device, unsigned long long types, EventSet set) {
  const Result result = Verdict("nvmlDeviceRegisterEvents", device);
  if (result == kSuccess && types == kEventXid) set->devices.insert(device);
  return result;
}

EXPORT Result nvmlEventSetWait_v2(EventSet set, EventData* data, unsigned milliseconds) {
  if (milliseconds != 0) Misuse("a reading waits for events");
  const Result result = Verdict("nvmlEventSetWait_v2");
  if (result != kSuccess) return result;
  std::size_t line = 0;
  for (const Words& words : Script()) {
    if (words.size() != 3 || words[0] != "xid") continue;
    if (line++ < xids_told) continue;
    Device const device = &state.devices.at(std::stoul(words[1]));
    if (!set->devices.contains(device)) return kTimeout;  // its own set comes to it
    ++xids_told;
    *data = {device, kEventXid, std::stoull(words[2]), 0, 0};
    return kSuccess;
  }
  return kTimeout;
}

EXPORT Result nvmlGpmQueryDeviceSupport(Device device, GpmSupport* support) {
  if (support->version != kGpmVersion) return kInvalidArgument;
  return Answer("nvmlGpmQueryDeviceSupport", device, &support->supported, Has("old", device->index) ? 0U : 1U);
}

EXPORT Result nvmlGpmSampleAlloc(GpmSample* sample) {
  const Result result = Verdict("nvmlGpmSampleAlloc");
  if (result == kSuccess) state.samples.insert(*sample = new GpmSampleTag);
  return result;
}

EXPORT Result nvmlGpmSampleFree(GpmSample sample) {
  if (state.samples.erase(sample) == 0) Misuse("a GPM sample that is none is freed");
  delete sample;
  return kSuccess;
}

EXPORT Result nvmlGpmSampleGet(Device device, GpmSample sample) {
  const Result result = Verdict("nvmlGpmSampleGet", device);
  if (result != kSuccess) return result;
  const auto now = std::chrono::steady_clock::now();
  const auto before = state.sampled.find(device);
  if (before != state.sampled.end() && now - before->second < std::chrono::milliseconds(100)) {
    Misuse("two GPM samples less than 0.1 s apart");
  }
  state.sampled[device] = now;
  *sample = {device, now};
  return kSuccess;
}

// SM 80 %, occupancy 12 %, tensor 78 + GPU %, DRAM 14 %.
EXPORT Result nvmlGpmMetricsGet(GpmMetrics* metrics) {
  if (metrics->version != kGpmVersion) return kInvalidArgument;
  if (metrics->from->device != metrics->to->device || metrics->from->taken >= metrics->to->taken) {
    Misuse("GPM samples of two GPUs, or the wrong way round");
  }
  const Result result = Verdict("nvmlGpmMetricsGet", metrics->to->device);
  if (result != kSuccess) return result;
  const std::map<unsigned, double> values = {{kGpmSmUtil, 80.0},
                                             {kGpmSmOccupancy, 12.0},
                                             {kGpmAnyTensorUtil, 78.0 + metrics->to->device->index},
                                             {kGpmDramBandwidthUtil, 14.0}};
  for (unsigned i = 0; i < metrics->count; ++i) {
    GpmMetric& metric = metrics->metrics[i];
    metric.result = Verdict("metric" + std::to_string(metric.id), metrics->to->device);
    metric.value = metric.result == kSuccess ? values.at(metric.id) : -1.0;
  }
  return kSuccess;
}

}  // extern "C"
}  // namespace fa_profile::collect::nvml
