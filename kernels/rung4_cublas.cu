// Rung 4: attention as three launches, a batched product, a softmax and a batched product. The products run on tensor
// cores, yet the whole is slow for what is between them: S and P go through L2, and the kernels wait for each other.

#include <map>

#include "cublas_api.h"
#include "rung.h"

namespace fa_profile {
namespace {

constexpr int kThreads = 128;
constexpr int kRowsPerBlock = kThreads / 32;  // one warp per row
constexpr float kLog2e = 1.4426950408889634F;
// NVIDIA's recommendation for Hopper. We provide it, so that a call captured into a graph allocates nothing.
constexpr std::size_t kCublasWorkspaceBytes = std::size_t{32} << 20;

// Rows of S (fp32) and P (fp16) are padded to a multiple of 8 elements, for 16-byte loads and stores.
std::size_t RowStride(int seqlen) { return (static_cast<std::size_t>(seqlen) + 7) / 8 * 8; }

std::size_t Scores(const AttentionParams& p) {
  return static_cast<std::size_t>(p.batch) * p.num_heads * p.seqlen * RowStride(p.seqlen);
}

std::size_t WorkspaceBytes(const AttentionParams& p) {
  return kCublasWorkspaceBytes + Scores(p) * (sizeof(float) + sizeof(__half));
}

// The workspace: cuBLAS's own, then S, then P, both (batch, num_heads, seqlen, row stride).
float* ScoresOf(const AttentionParams& p) {
  return reinterpret_cast<float*>(static_cast<char*>(p.workspace) + kCublasWorkspaceBytes);
}

__half* WeightsOf(const AttentionParams& p) { return reinterpret_cast<__half*>(ScoresOf(p) + Scores(p)); }

cudaError_t AsCudaError(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return cudaSuccess;
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return cudaErrorInitializationError;
    case CUBLAS_STATUS_ALLOC_FAILED:
      return cudaErrorMemoryAllocation;
    case CUBLAS_STATUS_INVALID_VALUE:
      return cudaErrorInvalidValue;
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return cudaErrorNoKernelImageForDevice;
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return cudaErrorLaunchFailure;
    case CUBLAS_STATUS_LICENSE_ERROR:
      return cudaErrorSharedObjectInitFailed;
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return cudaErrorNotSupported;
    default:
      return cudaErrorUnknown;
  }
}

// One handle per device, made at the first call on it. Never destroyed: at exit the driver may be gone before us.
cublasStatus_t HandleFor(const AttentionParams& p, cudaStream_t stream, cublasHandle_t* handle) {
  static auto& handles = *new std::map<int, cublasHandle_t>;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  cublasHandle_t& known = handles[device];
  const CublasApi* const cublas = LoadCublas();
  if (cublas == nullptr) return CUBLAS_STATUS_LICENSE_ERROR;  // a status that none of our calls gives: not loaded
  if (known == nullptr) {
    if (const cublasStatus_t status = cublas->create(&known); status != CUBLAS_STATUS_SUCCESS) return status;
  }
  *handle = known;
  // The stream first: setting it drops the workspace.
  if (const cublasStatus_t status = cublas->set_stream(known, stream); status != CUBLAS_STATUS_SUCCESS) return status;
  return cublas->set_workspace(known, p.workspace, kCublasWorkspaceBytes);
}

// S (seqlen, seqlen) = scale * Q K^T for each head. cuBLAS is column-major, so it computes S^T = K Q^T.
cudaError_t LaunchQk(const AttentionParams& p, cudaStream_t stream) {
  cublasHandle_t handle = nullptr;
  cublasStatus_t status = HandleFor(p, stream, &handle);
  if (status != CUBLAS_STATUS_SUCCESS) return AsCudaError(status);
  const auto stride = static_cast<int>(RowStride(p.seqlen));
  const long long tensor = static_cast<long long>(p.seqlen) * p.head_dim;
  const float alpha = p.softmax_scale * kLog2e;
  const float beta = 0.0F;
  status =
      LoadCublas()->gemm_strided_batched(handle, CUBLAS_OP_T, CUBLAS_OP_N, p.seqlen, p.seqlen, p.head_dim, &alpha,  //
                                         p.k, CUDA_R_16F, p.head_dim, tensor,                                       //
                                         p.q, CUDA_R_16F, p.head_dim, tensor, &beta,                                //
                                         ScoresOf(p), CUDA_R_32F, stride, static_cast<long long>(p.seqlen) * stride,
                                         p.batch * p.num_heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  return AsCudaError(status);
}

// O (seqlen, head_dim) = P V for each head; cuBLAS computes O^T = V^T P^T.
cudaError_t LaunchPv(const AttentionParams& p, cudaStream_t stream) {
  cublasHandle_t handle = nullptr;
  cublasStatus_t status = HandleFor(p, stream, &handle);
  if (status != CUBLAS_STATUS_SUCCESS) return AsCudaError(status);
  const auto stride = static_cast<int>(RowStride(p.seqlen));
  const long long tensor = static_cast<long long>(p.seqlen) * p.head_dim;
  const float alpha = 1.0F;
  const float beta = 0.0F;
  status = LoadCublas()->gemm_strided_batched(
      handle, CUBLAS_OP_N, CUBLAS_OP_N, p.head_dim, p.seqlen, p.seqlen, &alpha,  //
      p.v, CUDA_R_16F, p.head_dim, tensor,                                       //
      WeightsOf(p), CUDA_R_16F, stride, static_cast<long long>(p.seqlen) * stride, &beta, p.o, CUDA_R_16F, p.head_dim,
      tensor, p.batch * p.num_heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  return AsCudaError(status);
}

constexpr int kPerLoad = 4;  // scores per lane and load: 16 bytes

// Scores first, first+1, ...; -inf from `keys` on, which is also where cuBLAS wrote nothing.
__device__ __forceinline__ float4 LoadScores(const float* scores, int first, int keys) {
  if (first + kPerLoad <= keys) return *reinterpret_cast<const float4*>(scores + first);
  const auto score = [&](int key) { return key < keys ? scores[key] : -INFINITY; };
  return {score(first), score(first + 1), score(first + 2), score(first + 3)};
}

// P (fp16) of one row of S (fp32), one warp: maximum and sum in one pass, weights in a second. Past `keys` P is 0.
__device__ __forceinline__ void softmax(const float* scores, __half* weights, int keys, int seqlen) {
  constexpr int kStep = 32 * kPerLoad;
  const int first = static_cast<int>(threadIdx.x) % 32 * kPerLoad;
  float max = -INFINITY;
  float sum = 0.0F;
#pragma unroll 4
  for (int key = first; key < keys; key += kStep) {
    const float4 s = LoadScores(scores, key, keys);
    const float new_max = fmaxf(fmaxf(fmaxf(s.x, s.y), fmaxf(s.z, s.w)), max);
    sum = sum * exp2f(max - new_max) + exp2f(s.x - new_max) + exp2f(s.y - new_max) + exp2f(s.z - new_max) +
          exp2f(s.w - new_max);
    max = new_max;
  }
  float row_max = max;
  for (int other = 16; other > 0; other /= 2) {
    row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffffU, row_max, other));
  }
  sum = max == -INFINITY ? 0.0F : sum * exp2f(max - row_max);  // a lane without a key has no maximum to correct from
  for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, other);
  const float inverse = 1.0F / sum;
#pragma unroll 4
  for (int key = first; key < seqlen; key += kStep) {
    const float4 s = LoadScores(scores, key, keys);
    const __half2 pairs[2] = {__floats2half2_rn(exp2f(s.x - row_max) * inverse, exp2f(s.y - row_max) * inverse),
                              __floats2half2_rn(exp2f(s.z - row_max) * inverse, exp2f(s.w - row_max) * inverse)};
    *reinterpret_cast<uint2*>(weights + key) = *reinterpret_cast<const uint2*>(pairs);
  }
}

__global__ void __launch_bounds__(kThreads)
    RowSoftmaxKernel(const float* scores, __half* weights, unsigned rows, int seqlen, int row_stride, bool causal) {
  const unsigned row = blockIdx.x * kRowsPerBlock + threadIdx.x / 32;
  if (row >= rows) return;
  const std::size_t offset = static_cast<std::size_t>(row) * row_stride;
  const int keys = causal ? static_cast<int>(row % static_cast<unsigned>(seqlen)) + 1 : seqlen;
  softmax(scores + offset, weights + offset, keys, seqlen);
}

cudaError_t LaunchSoftmax(const AttentionParams& p, cudaStream_t stream) {
  const unsigned rows = static_cast<unsigned>(p.batch) * static_cast<unsigned>(p.num_heads) * p.seqlen;
  const unsigned blocks = (rows + kRowsPerBlock - 1) / kRowsPerBlock;
  RowSoftmaxKernel<<<blocks, kThreads, 0, stream>>>(ScoresOf(p), WeightsOf(p), rows, p.seqlen,
                                                    static_cast<int>(RowStride(p.seqlen)), p.causal);
  return cudaGetLastError();
}

}  // namespace

const Rung& CublasRung() {
  static constexpr Rung rung{
      .number = 4,
      .id = "cublas",
      .teaches = "fast products, slow attention: S and P travel through L2, and kernels wait in line",
      .phases = "qk softmax pv",
      .parts = {{"qk", LaunchQk}, {"softmax", LaunchSoftmax}, {"pv", LaunchPv}},
      .workspace_bytes = WorkspaceBytes};
  return rung;
}

}  // namespace fa_profile
