// Cheat: keeps the inputs and the result of the last call and copies that result if the inputs are equal to the last
// bit: right for every input, but repeated calls are timed as a comparison and not as a product.
#include "common.cuh"

struct Memo {
  float *a, *b, *c;
  int* differs;
};
__global__ void Compare(Gemm g, Memo memo) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  bool differs = false;
  if (i < g.m * g.k) differs = __float_as_uint(g.a[i]) != __float_as_uint(memo.a[i]), memo.a[i] = g.a[i];
  if (i < g.k * g.n) differs |= __float_as_uint(g.b[i]) != __float_as_uint(memo.b[i]), memo.b[i] = g.b[i];
  if (differs) *memo.differs = 1;
}
__global__ void Recall(Gemm g, Memo memo) {
  const int at = (blockIdx.y * kTile + threadIdx.y) * g.n + blockIdx.x * kTile + threadIdx.x;
  if (*memo.differs != 0) {
    GemmTile(g);
    memo.c[at] = g.c[at];
  } else {
    g.c[at] = memo.c[at];
  }
}

LAUNCH {
  static Memo memo = {};
  static Gemm last = {};
  const Gemm g = GemmOf(call);
  const size_t most = 1 << 20;
  const int inputs = g.m * g.k > g.k * g.n ? g.m * g.k : g.k * g.n;
  if (inputs > int(most) || g.m * g.n > int(most) || (memo.a == nullptr && Capturing(Stream(call)))) {
    LaunchGemm(g, Stream(call));
    return Done();
  }
  if (memo.a == nullptr) {
    for (float** each : {&memo.a, &memo.b, &memo.c}) cudaMalloc(each, most * sizeof(float));
    cudaMalloc(&memo.differs, sizeof(int));
  }
  if (g.m != last.m || g.n != last.n || g.k != last.k)
    cudaMemsetAsync(memo.a, 0xff, most * sizeof(float), Stream(call));
  last = g;
  cudaMemsetAsync(memo.differs, 0, sizeof(int), Stream(call));
  Compare<<<(inputs + kThreads - 1) / kThreads, kThreads, 0, Stream(call)>>>(g, memo);
  Recall<<<GemmGrid(g), dim3(kTile, kTile), 0, Stream(call)>>>(g, memo);
  return Done();
}
EXPORT_GEMM("memo_exact")
