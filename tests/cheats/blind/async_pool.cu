// Honest: each call takes its scratch memory from the stream-ordered pool with cudaMallocAsync and gives it back with
// cudaFreeAsync.
#include "common.cuh"

__global__ void Halves(Mean a, float* partial) {  // a warp half a row
  const int part = RowOfWarp();
  if (part >= 2 * a.rows) return;
  const float mean = MeanSquare({a.x, nullptr, 2 * a.rows, a.cols / 2}, part);
  if (threadIdx.x % 32 == 0) partial[part] = mean;
}
__global__ void Join(Mean a, const float* partial) {
  const int row = blockIdx.x * kThreads + threadIdx.x;
  if (row < a.rows) a.y[row] = 0.5F * (partial[2 * row] + partial[2 * row + 1]);
}

LAUNCH {
  const Mean a = MeanOf(call);
  float* partial = nullptr;
  if (cudaMallocAsync(&partial, 2 * sizeof(float) * a.rows, Stream(call)) != cudaSuccess) return 1;
  Halves<<<(2 * a.rows + 7) / 8, kThreads, 0, Stream(call)>>>(a, partial);
  Join<<<(a.rows + kThreads - 1) / kThreads, kThreads, 0, Stream(call)>>>(a, partial);
  cudaFreeAsync(partial, Stream(call));
  return Done();
}
static int EvenColumns(const fa_profile_call* call, char* error, size_t error_size) {
  return call->parameters[1] % 2 == 0 ? 0 : std::snprintf(error, error_size, "cols must be even");
}
MEAN_TENSORS(1e-6, 1e-5)
EXPORT_WITH("async_pool", kMeanParameters, .supports = EvenColumns, .reference = MeanReference, .work = MeanWork)
