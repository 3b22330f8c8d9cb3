// Honest: warps add their parts of a row with atomics, in another order each time, within a tolerance that fp32
// addition in any order keeps.
#include "common.cuh"

__global__ void Parts(Mean a) {  // a warp 128 columns
  const int parts = (a.cols + 127) / 128, row = RowOfWarp() / parts, part = RowOfWarp() % parts;
  if (row >= a.rows) return;
  float sum = 0.0F;
  for (int col = part * 128 + threadIdx.x % 32; col < min(part * 128 + 128, a.cols); col += 32) {
    const float x = a.x[int64_t{row} * a.cols + col];
    sum += x * x / a.cols;
  }
  sum = WarpSum(sum);
  if (threadIdx.x % 32 == 0) atomicAdd(a.y + row, sum);
}

LAUNCH {
  const Mean a = MeanOf(call);
  const int warps = a.rows * ((a.cols + 127) / 128);
  cudaMemsetAsync(a.y, 0, sizeof(float) * a.rows, Stream(call));
  Parts<<<(warps + kRowsPerBlock - 1) / kRowsPerBlock, kThreads, 0, Stream(call)>>>(a);
  return Done();
}
EXPORT_MEAN("atomic_sum")
