// A product of matrices on tensor cores: c = a b, bf16 in, fp32 accumulated and out, any m, n and k.
//   fa-profile --kernel-lib gemm.so --kernel gemm --shape m=2048,n=2048,k=2048 --phase-map examples/gemm/phases.yaml
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>
#include <cstdio>

#include "fa_profile/kernel_abi_2.h"

namespace {

namespace wmma = nvcuda::wmma;
using Bf16 = __nv_bfloat16;

// A block makes a tile of 64 x 64 with four warps, 32 x 32 each: 2 x 2 fragments, which share their loads. Rows are
// padded by 8 elements, so that they do not all begin at the same bank; WMMA wants 32 bytes of alignment, which 16 rows
// of any multiple of 8 elements keep.
constexpr int kTile = 64;
constexpr int kDepth = 32;
constexpr int kFragment = 16;
constexpr int kThreads = 128;
constexpr int kPad = 8;
constexpr int kRowOfA = kDepth + kPad;
constexpr int kRowOfB = kTile + kPad;

using Accumulator = wmma::fragment<wmma::accumulator, kFragment, kFragment, kFragment, float>;

struct alignas(32) Stage {
  Bf16 a[kTile * kRowOfA];
  Bf16 b[kDepth * kRowOfB];
};

// Elements outside of the matrices are zero.
__device__ __forceinline__ void load_tiles(Stage& stage, const Bf16* a, const Bf16* b, int m, int n, int k, int row,
                                           int col, int depth) {
#pragma unroll 4  // all of it at once needs more registers than there are
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kThreads) {
    const int r = i / kDepth;
    const int d = i % kDepth;
    const bool inside = row + r < m && depth + d < k;
    stage.a[r * kRowOfA + d] = inside ? a[static_cast<std::int64_t>(row + r) * k + depth + d] : Bf16{};
  }
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < kDepth * kTile; i += kThreads) {
    const int d = i / kTile;
    const int c = i % kTile;
    const bool inside = depth + d < k && col + c < n;
    stage.b[d * kRowOfB + c] = inside ? b[static_cast<std::int64_t>(depth + d) * n + col + c] : Bf16{};
  }
}

__device__ __forceinline__ void multiply(const Stage& stage, Accumulator (&sums)[2][2], int row, int col) {
  for (int d = 0; d < kDepth; d += kFragment) {
    wmma::fragment<wmma::matrix_a, kFragment, kFragment, kFragment, Bf16, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, kFragment, kFragment, kFragment, Bf16, wmma::row_major> b[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      wmma::load_matrix_sync(a[i], stage.a + (row + i * kFragment) * kRowOfA + d, kRowOfA);
      wmma::load_matrix_sync(b[i], stage.b + d * kRowOfB + col + i * kFragment, kRowOfB);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) wmma::mma_sync(sums[i][j], a[i], b[j], sums[i][j]);
    }
  }
}

// Through shared memory, because the API hides which lane holds what and c may end inside a fragment.
__device__ __forceinline__ void store_tile(float* tile, Accumulator (&sums)[2][2], float* c, int m, int n, int row,
                                           int col, int warp_row, int warp_col) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float* const place = tile + (warp_row + i * kFragment) * kRowOfB + warp_col + j * kFragment;
      wmma::store_matrix_sync(place, sums[i][j], kRowOfB, wmma::mem_row_major);
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kTile; i += kThreads) {
    const int r = i / kTile;
    const int w = i % kTile;
    if (row + r < m && col + w < n) c[static_cast<std::int64_t>(row + r) * n + col + w] = tile[r * kRowOfB + w];
  }
}

// Four blocks an SM leave each thread 128 registers; left alone, ptxas aims at five, and spills.
__global__ void __launch_bounds__(kThreads, 4) Gemm(const Bf16* a, const Bf16* b, float* c, int m, int n, int k) {
  __shared__ Stage stage;
  __shared__ alignas(32) float tile[kTile * kRowOfB];
  const int row = static_cast<int>(blockIdx.y) * kTile;
  const int col = static_cast<int>(blockIdx.x) * kTile;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / 2 * (kTile / 2);
  const int warp_col = warp % 2 * (kTile / 2);
  Accumulator sums[2][2];
#pragma unroll
  for (int i = 0; i < 4; ++i) wmma::fill_fragment(sums[i / 2][i % 2], 0.0F);
  for (int depth = 0; depth < k; depth += kDepth) {
    load_tiles(stage, a, b, m, n, k, row, col, depth);
    __syncthreads();
    multiply(stage, sums, warp_row, warp_col);
    __syncthreads();
  }
  store_tile(tile, sums, c, m, n, row, col, warp_row, warp_col);
}

// From here on: what fa-profile needs to know.
enum Parameter { kM, kN, kK };
enum Tensor { kA, kB, kC };

unsigned TilesOf(int64_t extent) { return static_cast<unsigned>((extent + kTile - 1) / kTile); }

int Launch(const fa_profile_call* call, char* error, size_t error_size) {
  const int64_t* const p = call->parameters;
  Gemm<<<dim3(TilesOf(p[kN]), TilesOf(p[kM])), kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const Bf16*>(call->tensors[kA]), static_cast<const Bf16*>(call->tensors[kB]),
      static_cast<float*>(call->tensors[kC]), static_cast<int>(p[kM]), static_cast<int>(p[kN]),
      static_cast<int>(p[kK]));
  const cudaError_t result = cudaGetLastError();
  if (result == cudaSuccess) return 0;
  std::snprintf(error, error_size, "%s", cudaGetErrorString(result));
  return 1;
}

// Row by row of b, which the compiler turns into vector instructions: 1024^3 take about a second.
int Reference(const int64_t* p, double* const* tensors, char*, size_t) {
  for (int64_t row = 0; row < p[kM]; ++row) {
    double* const c = tensors[kC] + row * p[kN];
    for (int64_t col = 0; col < p[kN]; ++col) c[col] = 0.0;
    for (int64_t d = 0; d < p[kK]; ++d) {
      const double a = tensors[kA][row * p[kK] + d];
      const double* const b = tensors[kB] + d * p[kN];
      for (int64_t col = 0; col < p[kN]; ++col) c[col] += a * b[col];
    }
  }
  return 0;
}

void WorkOf(const int64_t* p, fa_profile_work* work) {
  const auto m = static_cast<double>(p[kM]), n = static_cast<double>(p[kN]), k = static_cast<double>(p[kK]);
  work->flops = 2.0 * m * n * k;
  work->bytes = 2.0 * (m * k + k * n) + 4.0 * m * n;
}

const fa_profile_parameter kParameters[] = {{"m", 1024, 1, 65535 * kTile}, {"n", 1024}, {"k", 1024}};
const fa_profile_tensor kTensors[] = {{"a", FA_PROFILE_BF16, FA_PROFILE_INPUT, "m,k"},
                                      {"b", FA_PROFILE_BF16, FA_PROFILE_INPUT, "k,n"},
                                      {"c", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "m,n", {}, {1e-2, 1e-3}}};
const fa_profile_kernel kKernel = {FA_PROFILE_KERNEL_SIZES, .name = "gemm",         .parameters = kParameters,
                                   .parameter_count = 3,    .tensors = kTensors,    .tensor_count = 3,
                                   .launch = Launch,        .reference = Reference, .work = WorkOf};

}  // namespace

FA_PROFILE_EXPORT_KERNEL(kKernel)
