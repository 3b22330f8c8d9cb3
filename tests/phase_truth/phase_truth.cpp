// What the phases of rungs 5 and 7 cost, without a profiler: clocks read inside the kernels, and the kernels with one
// phase left out. Prints a table for each rung and shape, and writes all of it to a JSON file.
//
//   phase_truth [OUT.json]
//
// How to read it. A clock share is warp-time: cycles of the warps shown between two clock reads, of all their cycles.
// "wait x" is the barrier after x. In rung 5 the block waits for its slowest warp after every phase, so a phase's wall
// time is x + wait x of a warp that works in it: warp 0. "saved" is what the call gets shorter by when the phase is
// left out. It is less than the phase's share where other warps fill the gap, and more where the phase slowed others
// down.
#include "phase_truth.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attention_workload.h"
#include "cuda_result.h"
#include "fa_profile/error.h"
#include "fa_profile/kernels.h"

namespace fa_profile {
namespace {

constexpr int kLaunchesPerSample = 20;
constexpr int kSamples = 15;

using Launch = std::function<cudaError_t(cudaStream_t)>;

// Median over samples of back-to-back launches; the gap between two of them is in it.
double Microseconds(const Launch& launch) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  CheckCudaResult(cudaEventCreate(&begin), "cudaEventCreate");
  CheckCudaResult(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<double> samples;
  for (int sample = 0; sample <= kSamples; ++sample) {  // the first warms up
    CheckCudaResult(cudaEventRecord(begin), "cudaEventRecord");
    for (int i = 0; i < kLaunchesPerSample; ++i) CheckCudaResult(launch(nullptr), "launch");
    CheckCudaResult(cudaEventRecord(end), "cudaEventRecord");
    CheckCudaResult(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0.0F;
    CheckCudaResult(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    if (sample > 0) samples.push_back(1e3 * milliseconds / kLaunchesPerSample);
  }
  CheckCudaResult(cudaEventDestroy(begin), "cudaEventDestroy");
  CheckCudaResult(cudaEventDestroy(end), "cudaEventDestroy");
  std::nth_element(samples.begin(), samples.begin() + kSamples / 2, samples.end());
  return samples[kSamples / 2];
}

// Cycles by lap, summed over the warps [first, last) of each block.
std::vector<double> Cycles(const TakenApart& rung, const std::vector<std::uint64_t>& sums, int first, int last) {
  const std::size_t laps = rung.laps.size();
  std::vector<double> cycles(laps, 0.0);
  for (std::int64_t block = 0; block < rung.blocks; ++block) {
    for (int warp = first; warp < last; ++warp) {
      const auto row = static_cast<std::size_t>(block * rung.warps_per_block + warp) * laps;
      for (std::size_t lap = 0; lap < laps; ++lap) cycles[lap] += static_cast<double>(sums[row + lap]);
    }
  }
  return cycles;
}

double Sum(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum;
}

nlohmann::json Measure(const TakenApart& rung, const AttentionShape& shape) {
  const DeviceBuffer buffer(sizeof(std::uint64_t) * static_cast<std::size_t>(rung.blocks) *
                            static_cast<std::size_t>(rung.warps_per_block) * rung.laps.size());
  const Launch clocked = [&](cudaStream_t stream) { return rung.clocked(buffer.as<std::uint64_t>(), stream); };
  nlohmann::json result;
  result["rung"] = rung.id;
  result["shape"] = shape.ToString();
  const double unmodified_us = Microseconds(rung.unmodified);
  const double copy_us = Microseconds(rung.copy);
  const double clocked_us = Microseconds(clocked);
  result["unmodified_us"] = unmodified_us;
  result["copy_us"] = copy_us;
  result["clocked_us"] = clocked_us;
  std::vector<std::uint64_t> sums(buffer.bytes() / sizeof(std::uint64_t));
  CheckCudaResult(cudaMemcpy(sums.data(), buffer.as<void>(), buffer.bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  const std::vector<double> all = Cycles(rung, sums, 0, rung.warps_per_block);
  const std::vector<double> first = Cycles(rung, sums, 0, 1);
  const std::vector<double> others = Cycles(rung, sums, 1, rung.warps_per_block);

  std::printf("%s %s: %.2f us; copy of the kernel %.2f us (%+.1f %%), with clocks %.2f us (%+.1f %%)\n",
              rung.id.c_str(), shape.ToString().c_str(), unmodified_us, copy_us, 100 * (copy_us / unmodified_us - 1),
              clocked_us, 100 * (clocked_us / unmodified_us - 1));
  std::printf("  %-14s %8s %8s %8s %12s\n", "clock share", "all", "warp 0", "others", "warp 0, cyc");
  for (std::size_t lap = 0; lap < rung.laps.size(); ++lap) {
    const double cycles = first[lap] / static_cast<double>(rung.blocks);
    std::printf("  %-14s %7.2f%% %7.2f%% %7.2f%% %12.0f\n", rung.laps[lap].c_str(), 100 * all[lap] / Sum(all),
                100 * first[lap] / Sum(first), 100 * others[lap] / Sum(others), cycles);
    result["clock_share"][rung.laps[lap]] = {{"all_warps", all[lap] / Sum(all)},
                                             {"warp_0", first[lap] / Sum(first)},
                                             {"other_warps", others[lap] / Sum(others)},
                                             {"warp_0_cycles", cycles}};
  }
  std::printf("  %-14s %10s %8s\n", "left out", "us", "saved");
  for (std::size_t i = 0; i < rung.left_out.size(); ++i) {
    const double us = Microseconds(rung.without[i]);
    std::printf("  %-14s %10.2f %7.2f%%\n", rung.left_out[i].c_str(), us, 100 * (1 - us / copy_us));
    result["left_out"][rung.left_out[i]] = {{"us", us}, {"saved_ratio", 1 - us / copy_us}};
  }
  std::printf("\n");
  return result;
}

nlohmann::json Run() {
  nlohmann::json results;
  for (const AttentionShape& shape : {AttentionShape{1, 8, 512, 64, false}, AttentionShape{4, 16, 1024, 64, false}}) {
    const std::unique_ptr<Workload> workload = Ladder().front()->MakeWorkload(shape, 1);
    const AttentionParams& params = dynamic_cast<const AttentionWorkload&>(*workload).params();
    results.push_back(Measure(TakeRung5Apart(params), shape));
    results.push_back(Measure(TakeRung7Apart(params), shape));
  }
  return results;
}

}  // namespace
}  // namespace fa_profile

int main(int argc, char** argv) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("no GPU here\n");
    return 0;
  }
  try {
    const nlohmann::json results = fa_profile::Run();
    if (argc > 1 && !(std::ofstream(argv[1]) << results.dump(1) << '\n')) {
      throw fa_profile::Error(std::string(argv[1]) + " cannot be written", "name a file in a folder that exists");
    }
  } catch (const fa_profile::Error& error) {
    std::fprintf(stderr, "phase_truth: %s\n", error.what());
    return 2;
  }
  return 0;
}
