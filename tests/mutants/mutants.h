#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

// One kernel a finding must name, or must not. `memory`: device memory, zeroed, kMemoryBytes of it.
inline constexpr std::size_t kMemoryBytes = std::size_t{256} << 20;

cudaError_t LaunchCoalesced(void* memory);         // no finding: memory-bound as it should be
cudaError_t LaunchUncoalesced(void* memory);       // uncoalesced access
cudaError_t LaunchDevicePrintf(void* memory);      // printf in the kernel
cudaError_t LaunchRuntimeIndex(void* memory);      // local memory: stack frame without spills
cudaError_t LaunchSpills(void* memory);            // local memory: spills
cudaError_t LaunchWmmaOnLocal(void* memory);       // WMMA in the source, none in the code
cudaError_t LaunchTinyGrid(void* memory);          // latency-bound: two blocks
cudaError_t LaunchMufuBound(void* memory);         // exponentials at the limit of their pipe
cudaError_t LaunchOccupancyMatters(void* memory);  // low occupancy, and latency that nothing hides
cudaError_t LaunchOccupancyIsEnough(
    void* memory);  // no finding about occupancy: one block an SM feeds the tensor cores
