// Honest: a cooperative launch: the whole grid writes the mean squares to the workspace, meets at a barrier and
// divides them by the largest.
#include <cooperative_groups.h>

#include "common.cuh"

__global__ void Scaled(Mean a, float* means) {
  const int warps = gridDim.x * kRowsPerBlock;
  for (int row = RowOfWarp(); row < a.rows; row += warps) {
    const float mean = MeanSquare(a, row);
    if (threadIdx.x % 32 == 0) means[row] = mean;
  }
  cooperative_groups::this_grid().sync();
  float largest = 0.0F;
  for (int row = threadIdx.x % 32; row < a.rows; row += 32) largest = fmaxf(largest, means[row]);
  for (int lane = 16; lane > 0; lane /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, lane));
  for (int row = RowOfWarp(); row < a.rows; row += warps) a.y[row] = means[row] / largest;
}

LAUNCH {
  Mean a = MeanOf(call);
  auto* means = static_cast<float*>(call->workspace);
  void* arguments[] = {&a, &means};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(Scaled), dim3(64), dim3(kThreads), arguments, 0, Stream(call));
  return Done();
}
static int Reference(const int64_t* p, double* const* t, char* error, size_t error_size) {
  const int failed = MeanReference(p, t, error, error_size);
  double largest = 0.0;
  for (int64_t row = 0; row < p[0]; ++row) largest = std::fmax(largest, t[1][row]);
  for (int64_t row = 0; row < p[0]; ++row) t[1][row] /= largest;
  return failed;
}
static size_t Workspace(const fa_profile_call* call) { return sizeof(float) * size_t(call->parameters[0]); }
MEAN_TENSORS(1e-5, 1e-5)
EXPORT_WITH("cooperative_grid", kMeanParameters, .workspace_bytes = Workspace, .reference = Reference, .work = MeanWork)
