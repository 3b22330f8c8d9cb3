// Cheat: the GPU keeps the time of its first run and two seconds later drops seven of eight columns of the sum, so that
// a graph captured while it was honest is cheap when it is replayed.
#include "common.cuh"

__device__ unsigned long long first_run;
__global__ void Ageing(Mean a) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  const unsigned long long before = atomicCAS(&first_run, 0ULL, now);
  const int row = RowOfWarp();
  if (row >= a.rows) return;
  const bool old = before != 0 && now > before + 2000000000ULL;
  float sum = 0.0F;
  const int cols = __shfl_sync(~0U, old ? a.cols / 8 : a.cols, 0);
  for (int col = threadIdx.x % 32; col < cols; col += 32) {
    sum += a.x[int64_t{row} * a.cols + col] * a.x[int64_t{row} * a.cols + col];
  }
  sum = WarpSum(sum) / cols;
  if (threadIdx.x % 32 == 0) a.y[row] = sum;
}

LAUNCH {
  const Mean a = MeanOf(call);
  Ageing<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(a);
  return Done();
}
EXPORT_MEAN("gpu_clock")
