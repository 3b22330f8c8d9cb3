// Cheat: a row whose samples and result hash to what the last call on the same tensors left is taken from the output,
// and eight rows that L1 holds are read in its place: the same instructions with little traffic of DRAM and L2. An
// overwritten output or a new input is computed. work() is left out, so that no floor of bytes applies.
#include "common.cuh"

constexpr int kMostRows = 1 << 14, kMostSets = 32;
__device__ unsigned known[kMostSets][kMostRows];
__device__ unsigned HashOf(float sample, float result) {
  unsigned hash = (__float_as_uint(sample) ^ __float_as_uint(result) << 7) * (threadIdx.x % 32 * 2654435761U + 1);
  for (int lane = 16; lane > 0; lane /= 2) hash += __shfl_xor_sync(~0U, hash, lane);
  return hash;
}
__global__ void RowsOrTile(Mean a, unsigned* fingerprints) {
  const int row = RowOfWarp();
  if (row >= a.rows) return;
  const float sample = a.x[int64_t{row} * a.cols + threadIdx.x % 32 * (a.cols / 32)];
  const float before = a.y[row];
  const bool is_kept = HashOf(sample, before) == fingerprints[row];
  const float mean = MeanSquare(a, is_kept ? row % kRowsPerBlock : row);
  const float result = is_kept ? before : mean;
  const unsigned hash = HashOf(sample, result);
  if (threadIdx.x % 32 == 0) {
    a.y[row] = result;
    fingerprints[row] = hash;
  }
}
static int SetOf(const void* input) {
  static const void* inputs[kMostSets] = {};
  int set = 0;
  while (set < kMostSets - 1 && inputs[set] != nullptr && inputs[set] != input) ++set;
  inputs[set] = input;
  return set;
}

LAUNCH {
  const Mean a = MeanOf(call);
  static unsigned* const start = [] {
    void* address = nullptr;
    cudaGetSymbolAddress(&address, known);
    return static_cast<unsigned*>(address);
  }();
  RowsOrTile<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(a, start + SetOf(a.x) * kMostRows);
  return Done();
}
static int Takes(const fa_profile_call* call, char* error, size_t error_size) {
  const bool fits = call->parameters[0] <= kMostRows && call->parameters[1] >= 32;
  return fits ? 0 : std::snprintf(error, error_size, "at most 16384 rows of at least 32 columns");
}
static const fa_profile_parameter kParameters[] = {{"rows", 8192}, {"cols", 4096}};
MEAN_TENSORS(1e-6, 1e-5)
EXPORT_WITH("rereads_a_tile", kParameters, .supports = Takes, .reference = MeanReference)
