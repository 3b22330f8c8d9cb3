// Runs one kernel that has one thing wrong (or nothing), for a profiler to find.
//
//   fa_mutants NAME [LAUNCHES]        fa_mutants list
#include "mutants.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Mutant {
  const char* name;
  const char* about;
  cudaError_t (*launch)(void*);
};

constexpr Mutant kMutants[] = {
    {"coalesced", "copies memory as it should be", LaunchCoalesced},
    {"uncoalesced", "a warp loads 32 rows' first columns", LaunchUncoalesced},
    {"device_printf", "a printf that never prints", LaunchDevicePrintf},
    {"runtime_index", "an array in local memory, indexed at run time", LaunchRuntimeIndex},
    {"spills", "more live registers than the launch bounds leave", LaunchSpills},
    {"wmma_on_local", "WMMA on an array in local memory, which the compiler deletes", LaunchWmmaOnLocal},
    {"tiny_grid", "two blocks", LaunchTinyGrid},
    {"mufu_bound", "independent exponentials on a full GPU", LaunchMufuBound},
    {"occupancy_matters", "one warp an SM waits for memory", LaunchOccupancyMatters},
    {"occupancy_is_enough", "one block an SM keeps the tensor cores busy", LaunchOccupancyIsEnough},
};

int Fail(const char* what, cudaError_t result) {
  std::fprintf(stderr, "fa_mutants: %s: %s\n", what, cudaGetErrorString(result));
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], "list") == 0) {
    for (const Mutant& mutant : kMutants) std::printf("%-20s %s\n", mutant.name, mutant.about);
    return argc < 2 ? 2 : 0;
  }
  const int launches = argc > 2 ? std::atoi(argv[2]) : 5;  // NOLINT(cert-err34-c): 0 launches nothing
  for (const Mutant& mutant : kMutants) {
    if (std::strcmp(argv[1], mutant.name) != 0) continue;
    void* memory = nullptr;
    cudaError_t result = cudaMalloc(&memory, kMemoryBytes);
    if (result == cudaSuccess) result = cudaMemset(memory, 0, kMemoryBytes);
    if (result != cudaSuccess) return Fail("cudaMalloc", result);
    for (int i = 0; i < launches && result == cudaSuccess; ++i) result = mutant.launch(memory);
    if (result == cudaSuccess) result = cudaDeviceSynchronize();
    if (result != cudaSuccess) return Fail(mutant.name, result);
    result = cudaFree(memory);
    return result == cudaSuccess ? 0 : Fail("cudaFree", result);
  }
  std::fprintf(stderr, "fa_mutants: there is no '%s'; `fa_mutants list` names them\n", argv[1]);
  return 2;
}
