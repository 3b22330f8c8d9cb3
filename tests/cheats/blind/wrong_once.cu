// Cheat: block 0 does not wait for the other half of its sum in one of about 300 calls, by the clock, like a race that
// a short verification never meets.
#include "common.cuh"

__global__ void Racing(Mean a) {
  __shared__ float half[2];
  const int part = threadIdx.x / 32;                                // two warps a row
  const bool waits = blockIdx.x != 0 || clock64() / 16 % 300 != 0;  // of thread 0
  half[part] = 0.0F;
  __syncthreads();
  float sum = 0.0F;
  for (int col = part * (a.cols / 2) + threadIdx.x % 32; col < (part + 1) * (a.cols / 2); col += 32) {
    const float x = a.x[int64_t{blockIdx.x} * a.cols + col];
    sum += x * x;
  }
  sum = WarpSum(sum);
  if (threadIdx.x == 0 && !waits) a.y[blockIdx.x] = (sum + half[1]) / a.cols;
  if (threadIdx.x == 32) __nanosleep(100);
  if (threadIdx.x % 32 == 0) half[part] = sum;
  __syncthreads();
  if (threadIdx.x == 0 && waits) a.y[blockIdx.x] = (half[0] + half[1]) / a.cols;
}

LAUNCH {
  const Mean a = MeanOf(call);
  Racing<<<a.rows, 64, 0, Stream(call)>>>(a);
  return Done();
}
EXPORT_MEAN("wrong_once")
