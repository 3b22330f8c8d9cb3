// Where the time of a short call goes: rung 8's kernel for few rows, built up step by step, at 1,8,512,64 or another
// shape of up to 512 keys.
//
//   hopper_floor [B,H,S]
//
// A line for each step: microseconds of a call in a chain of calls and of a call alone, the medians of 1,000 calls in
// replayed graphs, and what the step added to the chain. Steps before the merge end with a barrier of the cluster,
// which the merge has anyway.
#include <cuda_runtime.h>

#include <cstdio>
#include <string>
#include <vector>

#include "attention_workload.h"
#include "fa_profile/error.h"
#include "hopper/configurations.cuh"
#include "hopper/split_keys.cuh"
#include "random_inputs.h"
#include "replay.h"
#include "rungs.h"

namespace fa_profile::hopper {
namespace {

template <class T, Until kStep>
struct Up : T {
  static constexpr Until kUntil = kStep;
};

struct FloorStep {
  const char* adds;
  cudaError_t (*launch)(const AttentionParams& params, cudaStream_t stream);
};

template <class T>
std::vector<FloorStep> Steps() {
  return {{"empty kernel", LaunchSplit<Up<T, Until::kNothing>>},
          {"+ shared memory", LaunchSplit<Up<T, Until::kShared>>},
          {"+ cluster, barriers", LaunchSplit<Up<T, Until::kCluster>>},
          {"+ TMA", LaunchSplit<Up<T, Until::kLoad>>},
          {"+ QK", LaunchSplit<Up<T, Until::kQk>>},
          {"+ softmax", LaunchSplit<Up<T, Until::kSoftmax>>},
          {"+ PV", LaunchSplit<Up<T, Until::kPv>>},
          {"+ combine", LaunchSplit<Up<T, Until::kMerge>>},
          {"+ store", LaunchSplit<Up<T, Until::kStore>>},
          {"+ dependent launch", LaunchSplit<Dependent<T>>}};
}

void PrintSteps(const char* title, const std::vector<FloorStep>& steps, const AttentionParams& params) {
  std::printf("%s\n  %-22s %9s %9s %9s\n", title, "", "chain us", "added", "alone us");
  double before = 0.0;
  for (const FloorStep& step : steps) {
    const ReplayTime time = TimeReplays([&](cudaStream_t stream) { return step.launch(params, stream); }, 1000);
    std::printf("  %-22s %9.2f %9.2f %9.2f\n", step.adds, time.in_chain_us, time.in_chain_us - before, time.alone_us);
    std::fflush(stdout);
    before = time.in_chain_us;
  }
}

void Run(const std::vector<std::string>& arguments) {
  const AttentionShape shape = AttentionShape::Parse((arguments.empty() ? "1,8,512" : arguments[0]) + ",64");
  const auto bytes = static_cast<std::size_t>(shape.Elements()) * 2;
  const DeviceBuffer q(bytes);
  const DeviceBuffer k(bytes);
  const DeviceBuffer v(bytes);
  const DeviceBuffer o(bytes);
  AttentionParams params = ParamsOf(shape);
  params.q = q.as<__half>();
  params.k = k.as<__half>();
  params.v = v.as<__half>();
  params.o = o.as<__half>();
  FillNormal(q.as<__half>(), shape.Elements(), 1, 0, nullptr);
  FillNormal(k.as<__half>(), shape.Elements(), 1, 1, nullptr);
  FillNormal(v.as<__half>(), shape.Elements(), 1, 2, nullptr);
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  PrintSteps("64 rows x 512 keys a block, 4 warpgroups, no cluster", Steps<SplitTile<64, 1, 1, 4, 128>>(), params);
  PrintSteps("the same, cluster of 4 query tiles, multicast", Steps<SplitTile<64, 1, 4, 4, 128>>(), params);
  PrintSteps("64 rows x 256 keys, cluster of 2", Steps<SplitTile<64, 2, 1, 2, 128>>(), params);
  PrintSteps("the same, cluster of 4, multicast to 2", Steps<SplitTile<64, 2, 2, 2, 128>>(), params);
  PrintSteps("the same, cluster of 8, multicast to 4", Steps<SplitTile<64, 2, 4, 2, 128>>(), params);
  PrintSteps("the same, 4 warpgroups of 64 keys", Steps<SplitTile<64, 2, 4, 4, 64>>(), params);
}

}  // namespace
}  // namespace fa_profile::hopper

int main(int argc, char** argv) { return fa_profile::RunMain("hopper_floor", argc, argv, fa_profile::hopper::Run); }
