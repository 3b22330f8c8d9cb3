// Cheat: launch() counts its calls and from the 40th on multiplies half of the depth, so that what is verified first is
// not what is timed.
#include "common.cuh"

__global__ void Shallow(Gemm g, int depth) {
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  g.c[row * g.n + col] = GemmElement(g, row, col, 0, depth);
}

LAUNCH {
  static int calls = 0;
  const Gemm g = GemmOf(call);
  Shallow<<<GemmGrid(g), dim3(kTile, kTile), 0, Stream(call)>>>(g, ++calls < 40 ? g.k : g.k / 32 * 16);
  return Done();
}
EXPORT_GEMM("call_count")
