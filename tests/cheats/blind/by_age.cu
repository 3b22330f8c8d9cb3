// Cheat: two seconds after its first call it leaves out half of the depth, so that the verification, which comes first,
// and the timing see different kernels.
#include <chrono>

#include "common.cuh"

__global__ void Shallow(Gemm g, int depth) {
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  g.c[row * g.n + col] = GemmElement(g, row, col, 0, depth);
}

LAUNCH {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point first = Clock::now();
  const Gemm g = GemmOf(call);
  const bool young = Clock::now() - first < std::chrono::seconds(2);
  Shallow<<<GemmGrid(g), dim3(kTile, kTile), 0, Stream(call)>>>(g, young ? g.k : g.k / 32 * 16);
  return Done();
}
EXPORT_GEMM("by_age")
