// Honest: running sums in one pass: a block adds its tile, and one thread looks back over the sums of the tiles
// before it, spinning where one is not there yet (decoupled look-back). Blocks number themselves, so that those before
// a block have always begun. How many instructions a call executes depends on how long they wait.
#include "common.cuh"

constexpr int kPerThread = 8, kBlock = 256, kTileSize = kPerThread * kBlock;
constexpr unsigned kOfTile = 1, kOfAll = 2;  // what a tile's state holds: its own sum, or that of all tiles up to it
struct State {                               // zeroed by each call
  unsigned next_tile, unused;
  unsigned long long tiles[1];
};
__device__ void Publish(State* state, unsigned tile, unsigned kind, int sum) {
  atomicExch(&state->tiles[tile], (unsigned long long){kind} << 32 | unsigned(sum));
}
__device__ int LookBack(State* state, unsigned tile) {
  int before = 0;
  for (unsigned at = tile; at > 0;) {
    const unsigned long long seen = *(volatile unsigned long long*)&state->tiles[at - 1];
    const unsigned kind = unsigned(seen >> 32);
    if (kind == 0) continue;
    before += int(unsigned(seen));
    if (kind == kOfAll) break;
    --at;
  }
  return before;
}
__global__ void RunningSums(const int* x, int* y, int64_t count, State* state) {
  __shared__ unsigned tile;
  __shared__ int of_warps[kBlock / 32], before;
  if (threadIdx.x == 0) tile = atomicAdd(&state->next_tile, 1);
  __syncthreads();
  const int64_t start = int64_t{tile} * kTileSize + threadIdx.x * kPerThread;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int values[kPerThread], sum = 0;
  for (int i = 0; i < kPerThread; ++i) values[i] = sum += start + i < count ? x[start + i] : 0;
  int up_to = sum;
  for (int i = 1; i < 32; i *= 2) {
    const int other = __shfl_up_sync(~0U, up_to, i);
    if (lane >= i) up_to += other;
  }
  if (lane == 31) of_warps[warp] = up_to;
  __syncthreads();
  int before_thread = up_to - sum;
  for (int i = 0; i < warp; ++i) before_thread += of_warps[i];
  if (threadIdx.x == kBlock - 1) {
    const int all = before_thread + sum;
    Publish(state, tile, tile == 0 ? kOfAll : kOfTile, all);
    before = LookBack(state, tile);
    if (tile > 0) Publish(state, tile, kOfAll, before + all);
  }
  __syncthreads();
  for (int i = 0; i < kPerThread; ++i) {
    if (start + i < count) y[start + i] = before + before_thread + values[i];
  }
}

static int64_t Tiles(const fa_profile_call* call) { return (call->parameters[0] + kTileSize - 1) / kTileSize; }
static size_t Workspace(const fa_profile_call* call) { return sizeof(State) + sizeof(int64_t) * size_t(Tiles(call)); }
LAUNCH {
  auto* const state = static_cast<State*>(call->workspace);
  cudaMemsetAsync(state, 0, Workspace(call), Stream(call));
  RunningSums<<<unsigned(Tiles(call)), kBlock, 0, Stream(call)>>>(
      static_cast<const int*>(call->tensors[0]), static_cast<int*>(call->tensors[1]), call->parameters[0], state);
  return Done();
}
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  double sum = 0.0;
  for (int64_t i = 0; i < p[0]; ++i) t[1][i] = sum += t[0][i];
  return 0;
}
static void Work(const int64_t* p, fa_profile_work* work) { work->bytes = 8.0 * static_cast<double>(p[0]); }
static const fa_profile_parameter kParameters[] = {{"count", 1 << 22, 1, 1 << 24}};  // sums stay below 2^31
static const fa_profile_tensor kTensors[] = {
    {"x", FA_PROFILE_INT32, FA_PROFILE_INPUT, "count", {FA_PROFILE_INTEGERS, -100, 100}},
    {"y", FA_PROFILE_INT32, FA_PROFILE_OUTPUT, "count"}};
EXPORT_WITH("spin_between_blocks", kParameters, .workspace_bytes = Workspace, .reference = Reference, .work = Work)
