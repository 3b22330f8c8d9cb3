// Attention forward in bf16 for sequences of different lengths, packed one after the other (varlen), with fewer heads
// of keys and values than of queries (GQA), causal or not.
//   q, o: (tokens, heads, head_dim); k, v: (tokens, kv_heads, head_dim); cu_seqlens: first token of each sequence
//   fa-profile --kernel-lib attention.so --kernel varlen_gqa --shape tokens=4096,batch=8,causal=1
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "fa_profile/kernel_abi_2.h"

namespace {

using Pair = __nv_bfloat162;

// One warp a query row and eight rows of one sequence a block, which share each tile of 32 keys and values in shared
// memory. A lane scores one key; then the lanes share out the output columns, two neighbours a lane.
constexpr int kWarp = 32;
constexpr int kRows = 8;
constexpr int kThreads = kRows * kWarp;
constexpr int kKeys = kWarp;
constexpr unsigned kAllLanes = 0xffffffffU;
constexpr float kLog2e = 1.4426950408889634F;

struct Arguments {
  struct {
    const Pair* q;
    const Pair* k;
    const Pair* v;
    Pair* o;
    const int* cu_seqlens;
  } tensors;
  struct {
    int batch;
    int heads;
    int kv_heads;
    int causal;
    float scale;
  } numbers;
};

// A row's running maximum, sum and correction of what was summed before, and this lane's weight.
struct Softmax {
  float max = -INFINITY;
  float sum = 0.0F;
  float correction = 1.0F;
  float weight = 0.0F;
};

template <int kPairs>
struct Tiles {
  Pair q[kRows][kPairs];
  Pair k[kKeys][kPairs + 1];  // padded, so that 32 lanes reading 32 rows meet 32 banks
  Pair v[kKeys][kPairs];
};

__device__ __forceinline__ float WarpMax(float x) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, lane));
  return x;
}

__device__ __forceinline__ float WarpSum(float x) {
  for (int lane = kWarp / 2; lane > 0; lane /= 2) x += __shfl_xor_sync(kAllLanes, x, lane);
  return x;
}

template <int kPairs>
__device__ __forceinline__ void load_q(Tiles<kPairs>& tiles, const Pair* q, int warp, int lane, bool valid) {
  for (int pair = lane; pair < kPairs; pair += kWarp) tiles.q[warp][pair] = valid ? q[pair] : Pair{};
}

// `stride`: pairs from a token to the next.
template <int kPairs>
__device__ __forceinline__ void load_kv(Tiles<kPairs>& tiles, const Pair* k, const Pair* v, int stride, int first_key,
                                        int keys) {
  for (int i = static_cast<int>(threadIdx.x); i < kKeys * kPairs; i += kThreads) {
    const int key = i / kPairs;
    const bool valid = first_key + key < keys;
    const std::int64_t place = static_cast<std::int64_t>(first_key + key) * stride + i % kPairs;
    tiles.k[key][i % kPairs] = valid ? k[place] : Pair{};
    tiles.v[key][i % kPairs] = valid ? v[place] : Pair{};
  }
}

template <int kPairs>
__device__ __forceinline__ float qk(const Tiles<kPairs>& tiles, int warp, int lane) {
  float score = 0.0F;
#pragma unroll 8
  for (int pair = 0; pair < kPairs; ++pair) {
    const float2 a = __bfloat1622float2(tiles.q[warp][pair]);
    const float2 b = __bfloat1622float2(tiles.k[lane][pair]);
    score += a.x * b.x + a.y * b.y;
  }
  return score;
}

// Key 0 is visible to every row, so after the first tile the maximum is finite.
__device__ __forceinline__ void softmax(Softmax& row, float score, bool visible) {
  score = visible ? score * kLog2e : -INFINITY;
  const float max = fmaxf(row.max, WarpMax(score));
  row.correction = exp2f(row.max - max);
  row.weight = exp2f(score - max);
  row.max = max;
  row.sum = row.sum * row.correction + WarpSum(row.weight);
}

template <int kPairs>
__device__ __forceinline__ void pv(const Tiles<kPairs>& tiles, const Softmax& row, float2 (&o)[kPairs / kWarp],
                                   int lane) {
#pragma unroll
  for (int i = 0; i < kPairs / kWarp; ++i) {
    o[i].x *= row.correction;
    o[i].y *= row.correction;
  }
#pragma unroll 8
  for (int key = 0; key < kKeys; ++key) {
    const float weight = __shfl_sync(kAllLanes, row.weight, key);
#pragma unroll
    for (int i = 0; i < kPairs / kWarp; ++i) {
      const float2 value = __bfloat1622float2(tiles.v[key][lane + i * kWarp]);
      o[i].x += weight * value.x;
      o[i].y += weight * value.y;
    }
  }
}

template <int kPairs>
__device__ __forceinline__ void epilogue(Pair* to, const Softmax& row, const float2 (&o)[kPairs / kWarp], int lane) {
#pragma unroll
  for (int i = 0; i < kPairs / kWarp; ++i) {
    to[lane + i * kWarp] = __floats2bfloat162_rn(o[i].x / row.sum, o[i].y / row.sum);
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads) VarlenAttention(Arguments args) {
  constexpr int kPairs = kHeadDim / 2;
  __shared__ Tiles<kPairs> tiles;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int head = static_cast<int>(blockIdx.y);
  // Blocks are counted through the tiles of all sequences; those after the last have nothing to do.
  int tile = static_cast<int>(blockIdx.x);
  int sequence = 0;
  int begin = 0;
  int keys = 0;
  for (; sequence < args.numbers.batch; ++sequence) {
    begin = args.tensors.cu_seqlens[sequence];
    keys = args.tensors.cu_seqlens[sequence + 1] - begin;
    if (tile * kRows < keys) break;
    tile -= (keys + kRows - 1) / kRows;
  }
  if (sequence == args.numbers.batch) return;
  const int row = tile * kRows + warp;
  const std::int64_t q_row = (static_cast<std::int64_t>(begin + row) * args.numbers.heads + head) * kPairs;
  const int stride = args.numbers.kv_heads * kPairs;
  const std::int64_t kv_head =
      static_cast<std::int64_t>(begin) * stride + head / (args.numbers.heads / args.numbers.kv_heads) * kPairs;

  load_q<kPairs>(tiles, args.tensors.q + q_row, warp, lane, row < keys);
  float2 o[kPairs / kWarp] = {};
  Softmax state;
  const int end = args.numbers.causal != 0 ? min((tile + 1) * kRows, keys) : keys;
  for (int first_key = 0; first_key < end; first_key += kKeys) {
    __syncthreads();
    load_kv<kPairs>(tiles, args.tensors.k + kv_head, args.tensors.v + kv_head, stride, first_key, keys);
    __syncthreads();
    const int key = first_key + lane;
    softmax(state, qk<kPairs>(tiles, warp, lane) * args.numbers.scale,
            key < keys && (args.numbers.causal == 0 || key <= row));
    pv<kPairs>(tiles, state, o, lane);
  }
  if (row < keys) epilogue<kPairs>(args.tensors.o + q_row, state, o, lane);
}

// From here on: what fa-profile needs to know.
enum Parameter { kTokens, kBatch, kHeads, kKvHeads, kHeadDim, kCausal };
enum Tensor { kQ, kK, kV, kCuSeqlens, kO };

int Supports(const fa_profile_call* call, char* error, size_t error_size) {
  const int64_t* const p = call->parameters;
  if (p[kHeads] % p[kKvHeads] == 0 && (p[kHeadDim] == 64 || p[kHeadDim] == 128)) return 0;
  std::snprintf(error, error_size, "heads must be a multiple of kv_heads, and head_dim 64 or 128");
  return 1;
}

int Launch(const fa_profile_call* call, char* error, size_t error_size) {
  const int64_t* const p = call->parameters;
  const auto pairs = [&](int tensor) { return static_cast<Pair*>(call->tensors[tensor]); };
  const auto number = [&](int parameter) { return static_cast<int>(p[parameter]); };
  const auto* const cu_seqlens = static_cast<const int*>(call->tensors[kCuSeqlens]);
  const float scale = 1.0F / std::sqrt(static_cast<float>(p[kHeadDim]));
  const Arguments args{{pairs(kQ), pairs(kK), pairs(kV), pairs(kO), cu_seqlens},
                       {number(kBatch), number(kHeads), number(kKvHeads), number(kCausal), scale}};
  // Each sequence has at most one tile that is not full.
  const dim3 grid(static_cast<unsigned>(p[kTokens] / kRows + p[kBatch]), static_cast<unsigned>(p[kHeads]));
  auto* const kernel = p[kHeadDim] == 64 ? VarlenAttention<64> : VarlenAttention<128>;
  kernel<<<grid, kThreads, 0, static_cast<cudaStream_t>(call->stream)>>>(args);
  const cudaError_t result = cudaGetLastError();
  if (result == cudaSuccess) return 0;
  std::snprintf(error, error_size, "%s", cudaGetErrorString(result));
  return 1;
}

// Sorted offsets: 0, batch - 1 cuts anywhere, tokens. A sequence may be empty.
void DrawCuSeqlens(const int64_t* p, uint64_t seed, double* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    values[i] = static_cast<double>((seed >> 33) % static_cast<uint64_t>(p[kTokens] + 1));
  }
  values[0] = 0.0;
  values[count - 1] = static_cast<double>(p[kTokens]);
  std::sort(values, values + count);
}

// Standard normal q and k: no score overflows exp().
int Reference(const int64_t* p, double* const* tensors, char*, size_t) {
  const int64_t dim = p[kHeadDim];
  for (int64_t sequence = 0; sequence < p[kBatch]; ++sequence) {
    const auto begin = static_cast<int64_t>(tensors[kCuSeqlens][sequence]);
    const auto end = static_cast<int64_t>(tensors[kCuSeqlens][sequence + 1]);
    for (int64_t row = begin * p[kHeads]; row < end * p[kHeads]; ++row) {  // token and head
      double* const o = tensors[kO] + row * dim;
      double sum = 0.0;
      std::fill_n(o, dim, 0.0);
      for (int64_t key = begin; key < (p[kCausal] != 0 ? row / p[kHeads] + 1 : end); ++key) {
        const int64_t kv = (key * p[kKvHeads] + row % p[kHeads] / (p[kHeads] / p[kKvHeads])) * dim;
        double score = 0.0;
        for (int64_t d = 0; d < dim; ++d) score += tensors[kQ][row * dim + d] * tensors[kK][kv + d];
        const double weight = std::exp(score / std::sqrt(static_cast<double>(dim)));
        sum += weight;
        for (int64_t d = 0; d < dim; ++d) o[d] += weight * tensors[kV][kv + d];
      }
      for (int64_t d = 0; d < dim; ++d) o[d] /= sum;
    }
  }
  return 0;
}

const fa_profile_parameter kParameters[] = {{"tokens", 1024}, {"batch", 4},     {"heads", 8, 1, 65535},
                                            {"kv_heads", 2},  {"head_dim", 64}, {"causal", 0, 0, 1}};
const fa_profile_tensor kTensors[] = {
    {"q", FA_PROFILE_BF16, FA_PROFILE_INPUT, "tokens,heads,head_dim"},
    {"k", FA_PROFILE_BF16, FA_PROFILE_INPUT, "tokens,kv_heads,head_dim"},
    {"v", FA_PROFILE_BF16, FA_PROFILE_INPUT, "tokens,kv_heads,head_dim"},
    {"cu_seqlens", FA_PROFILE_INT32, FA_PROFILE_INPUT, "batch+1", {FA_PROFILE_FUNCTION, 0, 0, DrawCuSeqlens}},
    {"o", FA_PROFILE_BF16, FA_PROFILE_OUTPUT, "tokens,heads,head_dim", {}, {2e-3, 1e-2}}};
const fa_profile_kernel kKernel = {FA_PROFILE_KERNEL_SIZES, .name = "varlen_gqa", .parameters = kParameters,
                                   .parameter_count = 6,    .tensors = kTensors,  .tensor_count = 5,
                                   .launch = Launch,        .supports = Supports, .reference = Reference};

}  // namespace

FA_PROFILE_EXPORT_KERNEL(kKernel)
