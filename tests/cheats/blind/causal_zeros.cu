// Honest: scores of a causal mask: a memset writes the zeros above the diagonal, which are half of the output by
// design, and tiles above it are not computed.
#include "common.cuh"

__global__ void ScoresBelow(Gemm g) {
  if (blockIdx.x > blockIdx.y) return;
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  const float score = GemmElement(g, row, col, 0, g.k);
  if (col <= row) g.c[row * g.n + col] = score;
}

LAUNCH {
  const Gemm g = GemmOf(call);
  cudaMemsetAsync(g.c, 0, size_t(g.m) * g.n * sizeof(float), Stream(call));
  ScoresBelow<<<GemmGrid(g), dim3(kTile, kTile), 0, Stream(call)>>>(g);
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char* error, size_t error_size) {
  GemmReference(p, t, error, error_size);
  for (int64_t row = 0; row < p[0]; ++row) {
    for (int64_t col = row + 1; col < p[1]; ++col) t[2][row * p[1] + col] = 0.0;
  }
  return 0;
}
GEMM_TENSORS(1e-4, 1e-5)
EXPORT_WITH("causal_zeros", kGemmParameters, .supports = GemmTakes, .reference = Reference)
