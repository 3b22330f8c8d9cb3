// Cheat: keeps the first two elements of each row that it has normalised in place and skips a row that still has them,
// so that of many calls on one tensor only the first works.
#include "common.cuh"

__device__ float2 marks[1 << 16];  // the first two elements of a row as the last call left them
__global__ void Normalise(float* x, int rows, int cols) {
  const int row = RowOfWarp();
  if (row >= rows) return;
  x += int64_t{row} * cols;
  const bool done = x[0] == marks[row].x && x[1] == marks[row].y;
  __syncwarp();
  if (done) return;
  const float scale = rsqrtf(MeanSquare({x, nullptr, 1, cols}, 0));
  for (int col = threadIdx.x % 32; col < cols; col += 32) x[col] *= scale;
  __syncwarp();
  if (threadIdx.x % 32 == 0) marks[row] = {x[0], x[1]};
}

LAUNCH {
  const int rows = int(call->parameters[0]), cols = int(call->parameters[1]);
  if (rows > 1 << 16) return 1;
  Normalise<<<(rows + 7) / 8, kThreads, 0, Stream(call)>>>(static_cast<float*>(call->tensors[0]), rows, cols);
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    double sum = 0.0;
    double* x = t[0] + row * p[1];
    for (int64_t col = 0; col < p[1]; ++col) sum += x[col] * x[col];
    for (int64_t col = 0; col < p[1]; ++col) x[col] /= std::sqrt(sum / static_cast<double>(p[1]));
  }
  return 0;
}
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_FP32, FA_PROFILE_IN_PLACE, "rows,cols", {}, {1e-5, 1e-5}}};
EXPORT_WITH("in_place_done", kMeanParameters, .reference = Reference)
