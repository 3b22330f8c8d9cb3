// Honest: a grouped product of unequal groups: a first kernel of each call builds the table of pointers and rows on the
// GPU, from sizes that are drawn, and persistent blocks then find their tiles in it.
#include "common.cuh"

constexpr int kGroups = 8;
struct Entry {
  const float *a, *b;
  float* c;
  int first_tile, rows;
};
struct Table {
  Entry groups[kGroups];
  int tiles;
};
__global__ void BuildTable(Gemm g, const int* weight, Table* table) {  // rows are shared out in whole tiles
  int sum = 0, tile = 0, total = 0;
  for (int i = 0; i < kGroups; ++i) total += weight[i];
  for (int i = 0; i < kGroups; ++i) {
    const int begin = int(int64_t{g.m / kTile} * sum / total);
    sum += weight[i];
    const int end = int(int64_t{g.m / kTile} * sum / total);
    table->groups[i] = {g.a + int64_t{begin} * kTile * g.k, g.b + int64_t{i} * g.k * g.n,
                        g.c + int64_t{begin} * kTile * g.n, tile, (end - begin) * kTile};
    tile += (end - begin) * (g.n / kTile);
  }
  table->tiles = tile;
}
__global__ void Grouped(Gemm g, const Table* table) {
  for (int tile = blockIdx.x; tile < table->tiles; tile += gridDim.x) {
    int i = kGroups - 1;
    while (table->groups[i].first_tile > tile || table->groups[i].rows == 0) --i;
    const Entry& of = table->groups[i];
    const int within = tile - of.first_tile, across = g.n / kTile;
    const int row = within / across * kTile + threadIdx.y, col = within % across * kTile + threadIdx.x;
    of.c[row * g.n + col] = GemmElement({of.a, of.b, of.c, of.rows, g.n, g.k}, row, col, 0, g.k);
  }
}

LAUNCH {
  const Gemm g = {static_cast<const float*>(call->tensors[0]),
                  static_cast<const float*>(call->tensors[1]),
                  static_cast<float*>(call->tensors[3]),
                  int(call->parameters[0]),
                  int(call->parameters[1]),
                  int(call->parameters[2])};
  auto* const table = static_cast<Table*>(call->workspace);
  BuildTable<<<1, 1, 0, Stream(call)>>>(g, static_cast<const int*>(call->tensors[2]), table);
  Grouped<<<264, dim3(kTile, kTile), 0, Stream(call)>>>(g, table);
  return Done();
}
static size_t Workspace(const fa_profile_call*) { return sizeof(Table); }
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  int64_t sum = 0, total = 0;
  for (int i = 0; i < kGroups; ++i) total += static_cast<int64_t>(t[2][i]);
  for (int i = 0; i < kGroups; ++i) {
    const int64_t begin = p[0] / kTile * sum / total * kTile;
    sum += static_cast<int64_t>(t[2][i]);
    const int64_t part[] = {p[0] / kTile * sum / total * kTile - begin, p[1], p[2]};
    double* const tensors[] = {t[0] + begin * p[2], t[1] + i * p[2] * p[1], t[3] + begin * p[1]};
    GemmReference(part, tensors, nullptr, 0);
  }
  return 0;
}
static const fa_profile_tensor kTensors[] = {
    {"a", FA_PROFILE_FP32, FA_PROFILE_INPUT, "m,k"},
    {"b", FA_PROFILE_FP32, FA_PROFILE_INPUT, "8,k,n"},
    {"weight", FA_PROFILE_INT32, FA_PROFILE_INPUT, "8", {FA_PROFILE_INTEGERS, 1, 9}},
    {"c", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "m,n", {}, {1e-4, 1e-5}}};
EXPORT_WITH("grouped_gemm", kGemmParameters, .supports = GemmTakes, .workspace_bytes = Workspace,
            .reference = Reference, .work = GemmWork)
