// Honest: split-K: four grids' worth of partial sums go to the workspace, and a second kernel adds them, in every call.
#include "common.cuh"

constexpr int kSplits = 4;
__global__ void Partial(Gemm g, float* partial) {
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  const int depth = (g.k / kTile + kSplits - 1) / kSplits * kTile, from = blockIdx.z * depth;
  partial[(int64_t{blockIdx.z} * g.m + row) * g.n + col] = GemmElement(g, row, col, from, min(from + depth, g.k));
}
__global__ void Add(Gemm g, const float* partial) {
  const int i = blockIdx.x * kThreads + threadIdx.x, count = g.m * g.n;
  if (i >= count) return;
  float sum = 0.0F;
  for (int split = 0; split < kSplits; ++split) sum += partial[int64_t{split} * count + i];
  g.c[i] = sum;
}

LAUNCH {
  const Gemm g = GemmOf(call);
  auto* const partial = static_cast<float*>(call->workspace);
  dim3 grid = GemmGrid(g);
  grid.z = kSplits;
  Partial<<<grid, dim3(kTile, kTile), 0, Stream(call)>>>(g, partial);
  Add<<<(g.m * g.n + kThreads - 1) / kThreads, kThreads, 0, Stream(call)>>>(g, partial);
  return Done();
}
static size_t Workspace(const fa_profile_call* call) {
  return sizeof(float) * kSplits * static_cast<size_t>(call->parameters[0] * call->parameters[1]);
}
GEMM_TENSORS(1e-4, 1e-5)
EXPORT_WITH("split_k_workspace", kGemmParameters, .supports = GemmTakes, .workspace_bytes = Workspace,
            .reference = GemmReference, .work = GemmWork)
