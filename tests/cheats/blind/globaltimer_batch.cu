// Cheat: the GPU skips a call that begins within 20 us of the end of the one before, so that one call does the work of
// all that follow it in a graph, whose nodes look honest.
#include "common.cuh"

__device__ unsigned long long last_end;
__device__ unsigned ended_blocks;
__device__ unsigned long long Now() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}
__global__ void Series(Norm a) {
  const int row = RowOfWarp();
  if (row < a.rows && Now() - *static_cast<volatile unsigned long long*>(&last_end) > 20000) NormRow(a, row);
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&ended_blocks, 1) == gridDim.x - 1) {
    ended_blocks = 0;
    last_end = Now();
  }
}

LAUNCH {
  const Norm a = NormOf(call);
  Series<<<(a.rows + kRowsPerBlock - 1) / kRowsPerBlock, kThreads, 0, Stream(call)>>>(a);
  return Done();
}
EXPORT_NORM("globaltimer_batch")
