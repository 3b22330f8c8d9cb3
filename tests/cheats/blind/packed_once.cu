// Cheat: keeps the second matrix in a packed layout and packs it again only if one element in 4096 differs from the
// packed copy, so that repeated calls are timed without the packing and a small change of the matrix is never seen.
#include "common.cuh"

__device__ int differs;
__global__ void Compare(Gemm g, const float* packed) {  // packed: columns first
  const int64_t i = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4096;
  if (i < int64_t{g.k} * g.n && packed[i % g.n * g.k + i / g.n] != g.b[i]) differs = 1;
}
__global__ void Pack(Gemm g, float* packed) {
  if (differs == 0) return;
  const int64_t count = int64_t{g.k} * g.n;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += int64_t{gridDim.x} * kThreads) {
    packed[i % g.n * g.k + i / g.n] = g.b[i];
  }
}
__global__ void ProductOfPacked(Gemm g, const float* packed) {
  __shared__ float a[kTile][kTile + 1], b[kTile][kTile + 1];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile + y;
  if (blockIdx.x == 0 && blockIdx.y == 0 && x == 0 && y == 0) differs = 0;
  float sum = 0.0F;
  for (int k = 0; k < g.k; k += kTile) {
    a[y][x] = g.a[row * g.k + k + x];
    b[y][x] = packed[int64_t{blockIdx.x * kTile + y} * g.k + k + x];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a[y][i] * b[x][i];
    __syncthreads();
  }
  g.c[row * g.n + blockIdx.x * kTile + x] = sum;
}

LAUNCH {
  static float* packed = nullptr;
  static int64_t size = 0;
  const Gemm g = GemmOf(call);
  const int64_t count = int64_t{g.k} * g.n;
  if (size < count) {
    if (cudaMalloc(&packed, count * sizeof(float)) != cudaSuccess) return 1;
    cudaMemsetAsync(packed, 0xff, count * sizeof(float), Stream(call));
    size = count;
  }
  Compare<<<unsigned((count / 4096 + kThreads) / kThreads), kThreads, 0, Stream(call)>>>(g, packed);
  Pack<<<132, kThreads, 0, Stream(call)>>>(g, packed);
  ProductOfPacked<<<GemmGrid(g), dim3(kTile, kTile), 0, Stream(call)>>>(g, packed);
  return Done();
}
EXPORT_GEMM("packed_once")
