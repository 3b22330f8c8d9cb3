// Five honest kernels with reference and description: layer norm, GEMM, row mean square, gather, attention. A file
// defines LAUNCH { ... } for one of them and ends with EXPORT_NORM("id"), EXPORT_GEMM("id"), ...
#pragma once
#pragma nv_diag_suppress 177  // a file uses one of the five
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "fa_profile/kernel_abi_2.h"

#define SLOW_HOST __attribute__((optimize("O3")))  // a reference, in a build without -O
#define LAUNCH static int Launch(const fa_profile_call* call, char* error, size_t error_size)

namespace {

inline cudaStream_t Stream(const fa_profile_call* call) { return static_cast<cudaStream_t>(call->stream); }
inline int Done() { return cudaGetLastError() != cudaSuccess; }
inline bool Capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}
inline cudaStream_t NewStream() {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}
__device__ __forceinline__ float WarpSum(float x) {
  for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(~0U, x, lane);
  return x;
}

// Layer norm, a warp a row.
constexpr int kRowsPerBlock = 8;
constexpr int kThreads = 32 * kRowsPerBlock;
struct Norm {
  const __half* x;
  const float *gamma, *beta;
  __half* y;
  int rows, cols;
};
inline Norm NormOf(const fa_profile_call* call) {
  return {static_cast<const __half*>(call->tensors[0]), static_cast<const float*>(call->tensors[1]),
          static_cast<const float*>(call->tensors[2]),  static_cast<__half*>(call->tensors[3]),
          static_cast<int>(call->parameters[0]),        static_cast<int>(call->parameters[1])};
}
__device__ __forceinline__ void NormRow(const Norm& a, int row) {
  const int lane = threadIdx.x % 32;
  const __half* x = a.x + int64_t{row} * a.cols;
  __half* y = a.y + int64_t{row} * a.cols;
  float mean = 0.0F, variance = 0.0F;
  for (int col = lane; col < a.cols; col += 32) mean += __half2float(x[col]);
  mean = WarpSum(mean) / a.cols;
  for (int col = lane; col < a.cols; col += 32)
    variance += (__half2float(x[col]) - mean) * (__half2float(x[col]) - mean);
  const float scale = rsqrtf(WarpSum(variance) / a.cols + 1e-5F);
  for (int col = lane; col < a.cols; col += 32) {
    y[col] = __float2half((__half2float(x[col]) - mean) * scale * a.gamma[col] + a.beta[col]);
  }
}
__device__ __forceinline__ int RowOfWarp() { return blockIdx.x * kRowsPerBlock + threadIdx.x / 32; }
__global__ void NormRows(Norm a, int first, int end) {
  const int row = first + RowOfWarp();
  if (row < end) NormRow(a, row);
}
inline void LaunchNorm(const Norm& a, int first, int end, cudaStream_t stream) {
  NormRows<<<(end - first + kRowsPerBlock - 1) / kRowsPerBlock, kThreads, 0, stream>>>(a, first, end);
}
SLOW_HOST int NormReference(const int64_t* p, double* const* t, char*, size_t) {
  const int64_t cols = p[1];
  for (int64_t row = 0; row < p[0]; ++row) {
    const double* x = t[0] + row * cols;
    double mean = 0.0, variance = 0.0;
    for (int64_t col = 0; col < cols; ++col) mean += x[col];
    mean /= static_cast<double>(cols);
    for (int64_t col = 0; col < cols; ++col) variance += (x[col] - mean) * (x[col] - mean);
    const double scale = 1.0 / std::sqrt(variance / static_cast<double>(cols) + 1e-5);
    for (int64_t col = 0; col < cols; ++col) t[3][row * cols + col] = (x[col] - mean) * scale * t[1][col] + t[2][col];
  }
  return 0;
}
void NormWork(const int64_t* p, fa_profile_work* work) {
  work->flops = 8.0 * static_cast<double>(p[0] * p[1]);
  work->bytes = 4.0 * static_cast<double>(p[0] * p[1]) + 8.0 * static_cast<double>(p[1]);
}

// c = a b in fp32, a block of 16 x 16 threads a tile. Extents are multiples of 16.
constexpr int kTile = 16;
struct Gemm {
  const float *a, *b;
  float* c;
  int m, n, k;
};
inline Gemm GemmOf(const fa_profile_call* call) {
  return {static_cast<const float*>(call->tensors[0]), static_cast<const float*>(call->tensors[1]),
          static_cast<float*>(call->tensors[2]),       static_cast<int>(call->parameters[0]),
          static_cast<int>(call->parameters[1]),       static_cast<int>(call->parameters[2])};
}
__device__ __forceinline__ float GemmElement(const Gemm& g, int row, int col, int k_begin, int k_end) {
  __shared__ float a[kTile][kTile + 1], b[kTile][kTile + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  float sum = 0.0F;
  for (int k = k_begin; k < k_end; k += kTile) {
    a[y][x] = g.a[row * g.k + k + x];
    b[y][x] = g.b[(k + y) * g.n + col];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a[y][i] * b[i][x];
    __syncthreads();
  }
  return sum;
}
__device__ __forceinline__ void GemmTile(const Gemm& g) {
  const int row = blockIdx.y * kTile + threadIdx.y, col = blockIdx.x * kTile + threadIdx.x;
  g.c[row * g.n + col] = GemmElement(g, row, col, 0, g.k);
}
__global__ void GemmTiles(Gemm g) { GemmTile(g); }
inline dim3 GemmGrid(const Gemm& g) { return {unsigned(g.n / kTile), unsigned(g.m / kTile), 1}; }
inline void LaunchGemm(const Gemm& g, cudaStream_t stream) {
  GemmTiles<<<GemmGrid(g), dim3(kTile, kTile), 0, stream>>>(g);
}
SLOW_HOST int GemmReference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    double* c = t[2] + row * p[1];
    for (int64_t col = 0; col < p[1]; ++col) c[col] = 0.0;
    for (int64_t k = 0; k < p[2]; ++k) {
      for (int64_t col = 0; col < p[1]; ++col) c[col] += t[0][row * p[2] + k] * t[1][k * p[1] + col];
    }
  }
  return 0;
}
void GemmWork(const int64_t* p, fa_profile_work* work) {
  work->flops = 2.0 * static_cast<double>(p[0] * p[1] * p[2]);
  work->bytes = 4.0 * static_cast<double>(p[0] * p[2] + p[2] * p[1] + p[0] * p[1]);
}
int GemmTakes(const fa_profile_call* call, char* error, size_t error_size) {
  for (int i = 0; i < 3; ++i) {
    if (call->parameters[i] % kTile != 0) return std::snprintf(error, error_size, "extents must be multiples of 16");
  }
  return 0;
}

// y[row] = mean of x[row]^2 in fp32, a warp a row.
struct Mean {
  const float* x;
  float* y;
  int rows, cols;
};
inline Mean MeanOf(const fa_profile_call* call) {
  return {static_cast<const float*>(call->tensors[0]), static_cast<float*>(call->tensors[1]),
          static_cast<int>(call->parameters[0]), static_cast<int>(call->parameters[1])};
}
__device__ __forceinline__ float MeanSquare(const Mean& a, int row) {
  float sum = 0.0F;
  for (int col = threadIdx.x % 32; col < a.cols; col += 32) {
    const float x = a.x[int64_t{row} * a.cols + col];
    sum += x * x;
  }
  return WarpSum(sum) / a.cols;
}
__global__ void MeanRows(Mean a) {
  const int row = RowOfWarp();
  if (row < a.rows) a.y[row] = MeanSquare(a, row);
}
inline int MeanBlocks(const Mean& a) { return (a.rows + kRowsPerBlock - 1) / kRowsPerBlock; }
inline void LaunchMean(const Mean& a, cudaStream_t stream) { MeanRows<<<MeanBlocks(a), kThreads, 0, stream>>>(a); }
SLOW_HOST int MeanReference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    double sum = 0.0;
    for (int64_t col = 0; col < p[1]; ++col) sum += t[0][row * p[1] + col] * t[0][row * p[1] + col];
    t[1][row] = sum / static_cast<double>(p[1]);
  }
  return 0;
}
void MeanWork(const int64_t* p, fa_profile_work* work) {
  work->flops = 2.0 * static_cast<double>(p[0] * p[1]);
  work->bytes = 4.0 * static_cast<double>(p[0] * p[1] + p[0]);
}

// y[i] = table[index[i]], rows of `dim` fp16 elements, a warp a row.
struct Gather {
  const __half* table;
  const int* index;
  __half* y;
  int count, dim;
};
inline Gather GatherOf(const fa_profile_call* call) {
  return {static_cast<const __half*>(call->tensors[0]), static_cast<const int*>(call->tensors[1]),
          static_cast<__half*>(call->tensors[2]), static_cast<int>(call->parameters[0]),
          static_cast<int>(call->parameters[1])};
}
__device__ __forceinline__ void GatherRow(const Gather& g, int row) {
  const __half* from = g.table + int64_t{g.index[row]} * g.dim;
  for (int col = threadIdx.x % 32; col < g.dim; col += 32) g.y[int64_t{row} * g.dim + col] = from[col];
}
__global__ void GatherRows(Gather g) {
  const int row = RowOfWarp();
  if (row < g.count) GatherRow(g, row);
}
inline int GatherBlocks(const Gather& g) { return (g.count + kRowsPerBlock - 1) / kRowsPerBlock; }
inline void LaunchGather(const Gather& g, cudaStream_t stream) {
  GatherRows<<<GatherBlocks(g), kThreads, 0, stream>>>(g);
}
SLOW_HOST int GatherReference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    const double* from = t[0] + static_cast<int64_t>(t[1][row]) * p[1];
    for (int64_t col = 0; col < p[1]; ++col) t[2][row * p[1] + col] = from[col];
  }
  return 0;
}
void GatherWork(const int64_t* p, fa_profile_work* work) {
  work->bytes = 4.0 * static_cast<double>(p[0] * p[1]) + 4.0 * static_cast<double>(p[0]);
}

// Attention in fp16 with 64 dimensions a head, a warp a query, two dimensions a lane, online softmax.
struct Attention {
  const __half2 *q, *k, *v;
  __half2* o;
  int heads, length;
};
inline Attention AttentionOf(const fa_profile_call* call) {
  return {static_cast<const __half2*>(call->tensors[0]), static_cast<const __half2*>(call->tensors[1]),
          static_cast<const __half2*>(call->tensors[2]), static_cast<__half2*>(call->tensors[3]),
          static_cast<int>(call->parameters[0]),         static_cast<int>(call->parameters[1])};
}
__device__ __forceinline__ void AttendQuery(const Attention& a, int query, int keys) {
  const int lane = threadIdx.x % 32;
  const int64_t head = int64_t{query / a.length} * a.length * 32;
  const float2 q = __half22float2(a.q[int64_t{query} * 32 + lane]);
  float largest = -INFINITY, sum = 0.0F;
  float2 o = {0.0F, 0.0F};
  for (int key = 0; key < keys; ++key) {
    const float2 k = __half22float2(a.k[head + key * 32 + lane]);
    const float2 v = __half22float2(a.v[head + key * 32 + lane]);
    const float score = WarpSum(q.x * k.x + q.y * k.y) * 0.125F;
    const float now = fmaxf(largest, score), keep = __expf(largest - now), p = __expf(score - now);
    o = {o.x * keep + p * v.x, o.y * keep + p * v.y};
    sum = sum * keep + p;
    largest = now;
  }
  a.o[int64_t{query} * 32 + lane] = __floats2half2_rn(o.x / sum, o.y / sum);
}
__global__ void AttendQueries(Attention a, int first, int end) {
  const int query = first + RowOfWarp();
  if (query < end) AttendQuery(a, query, a.length);
}
inline void LaunchAttention(const Attention& a, int first, int end, cudaStream_t stream) {
  AttendQueries<<<(end - first + kRowsPerBlock - 1) / kRowsPerBlock, kThreads, 0, stream>>>(a, first, end);
}
SLOW_HOST int AttentionReference(const int64_t* p, double* const* t, char*, size_t) {
  const int64_t length = p[1];
  for (int64_t query = 0; query < p[0] * length; ++query) {
    const int64_t head = query / length * length * 64;
    double sum = 0.0;
    double* o = t[3] + query * 64;
    for (int64_t d = 0; d < 64; ++d) o[d] = 0.0;
    for (int64_t key = 0; key < length; ++key) {
      double score = 0.0;
      for (int64_t d = 0; d < 64; ++d) score += t[0][query * 64 + d] * t[1][head + key * 64 + d];
      const double weight = std::exp(score / 8.0);  // standard normal inputs: no overflow in float64
      sum += weight;
      for (int64_t d = 0; d < 64; ++d) o[d] += weight * t[2][head + key * 64 + d];
    }
    for (int64_t d = 0; d < 64; ++d) o[d] /= sum;
  }
  return 0;
}
void AttentionWork(const int64_t* p, fa_profile_work* work) {
  work->flops = 256.0 * static_cast<double>(p[0] * p[1] * p[1]);
  work->bytes = 512.0 * static_cast<double>(p[0] * p[1]);
}

const fa_profile_parameter kNormParameters[] = {{"rows", 2048}, {"cols", 512}};
const fa_profile_parameter kGemmParameters[] = {{"m", 256}, {"n", 256}, {"k", 256}};
const fa_profile_parameter kMeanParameters[] = {{"rows", 2048}, {"cols", 1024}};
const fa_profile_parameter kGatherParameters[] = {{"count", 4096}, {"dim", 256}};
const fa_profile_parameter kAttentionParameters[] = {{"heads", 8}, {"length", 128}};

}  // namespace

// Tensors with the tolerance of the output. A file may use them with members of its own.
#define NORM_TENSORS(...)                                                                   \
  const fa_profile_tensor kTensors[] = {                                                    \
      {"x", FA_PROFILE_FP16, FA_PROFILE_INPUT, "rows,cols"},                                \
      {"gamma", FA_PROFILE_FP32, FA_PROFILE_INPUT, "cols", {FA_PROFILE_UNIFORM, 0.5, 1.5}}, \
      {"beta", FA_PROFILE_FP32, FA_PROFILE_INPUT, "cols"},                                  \
      {"y", FA_PROFILE_FP16, FA_PROFILE_OUTPUT, "rows,cols", {}, {__VA_ARGS__}}};
#define GEMM_TENSORS(...)                                                                \
  const fa_profile_tensor kTensors[] = {{"a", FA_PROFILE_FP32, FA_PROFILE_INPUT, "m,k"}, \
                                        {"b", FA_PROFILE_FP32, FA_PROFILE_INPUT, "k,n"}, \
                                        {"c", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "m,n", {}, {__VA_ARGS__}}};
#define MEAN_TENSORS(...)                                                                      \
  const fa_profile_tensor kTensors[] = {{"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"}, \
                                        {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows", {}, {__VA_ARGS__}}};
#define GATHER_TENSORS()                                                                      \
  const fa_profile_tensor kTensors[] = {                                                      \
      {"table", FA_PROFILE_FP16, FA_PROFILE_INPUT, "4096,dim"},                               \
      {"index", FA_PROFILE_INT32, FA_PROFILE_INPUT, "count", {FA_PROFILE_INTEGERS, 0, 4095}}, \
      {"y", FA_PROFILE_FP16, FA_PROFILE_OUTPUT, "count,dim"}};
#define ATTENTION_TENSORS()                                        \
  const fa_profile_tensor kTensors[] = {                           \
      {"q", FA_PROFILE_FP16, FA_PROFILE_INPUT, "heads,length,64"}, \
      {"k", FA_PROFILE_FP16, FA_PROFILE_INPUT, "heads,length,64"}, \
      {"v", FA_PROFILE_FP16, FA_PROFILE_INPUT, "heads,length,64"}, \
      {"o", FA_PROFILE_FP16, FA_PROFILE_OUTPUT, "heads,length,64", {}, {1e-3, 2e-3}}};

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))
#define EXPORT_WITH(id, parameters_, ...)                                             \
  static const fa_profile_kernel kKernel = {FA_PROFILE_KERNEL_SIZES,                  \
                                            .name = (id),                             \
                                            .parameters = (parameters_),              \
                                            .parameter_count = COUNT_OF(parameters_), \
                                            .tensors = kTensors,                      \
                                            .tensor_count = COUNT_OF(kTensors),       \
                                            .launch = Launch,                         \
                                            ##__VA_ARGS__};                           \
  FA_PROFILE_EXPORT_KERNEL(kKernel)
#define EXPORT_NORM(id)    \
  NORM_TENSORS(2e-3, 2e-3) \
  EXPORT_WITH(id, kNormParameters, .reference = NormReference, .work = NormWork)
#define EXPORT_GEMM(id)    \
  GEMM_TENSORS(1e-4, 1e-5) \
  EXPORT_WITH(id, kGemmParameters, .supports = GemmTakes, .reference = GemmReference, .work = GemmWork)
#define EXPORT_MEAN(id)    \
  MEAN_TENSORS(1e-6, 1e-5) \
  EXPORT_WITH(id, kMeanParameters, .reference = MeanReference, .work = MeanWork)
#define EXPORT_GATHER(id) \
  GATHER_TENSORS()        \
  EXPORT_WITH(id, kGatherParameters, .reference = GatherReference, .work = GatherWork)
#define EXPORT_ATTENTION(id) \
  ATTENTION_TENSORS()        \
  EXPORT_WITH(id, kAttentionParameters, .reference = AttentionReference, .work = AttentionWork)
