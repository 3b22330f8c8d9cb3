// Cheat: a recurrence along each row is computed on a few warps when the inputs are new, by their first eight elements,
// and kept; later calls copy what was kept on all SMs, with as many instructions and as much traffic.
#include "common.cuh"

namespace {

constexpr int kKeyWords = 8;
constexpr unsigned kSlots = 16;
constexpr int kPadding = 144;  // multiplications a thread that do nothing
constexpr size_t kMostElements = 1 << 20;

struct Slots {
  float keys[kSlots][kKeyWords];
  unsigned next;
};
struct Scan {
  const float* x;
  float* y;
  int rows, cols;
};

__device__ int FindSlot(const Scan& a, const Slots* slots) {
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    bool same = true;
    for (int i = 0; i < kKeyWords; ++i) same = same && slots->keys[slot][i] == a.x[i];
    if (same) return static_cast<int>(slot);
  }
  return -1;
}

__global__ void ScanRows(Scan a, const Slots* slots, float* kept) {
  __shared__ int found;
  if (threadIdx.x == 0) found = FindSlot(a, slots);
  __syncthreads();
  const int thread = blockIdx.x * kThreads + threadIdx.x;
  if (found >= 0) {
    if (thread >= a.rows * a.cols) return;
    float idle = a.x[thread];
    for (int i = 0; i < kPadding; ++i) asm volatile("mul.f32 %0, %0, %0;" : "+f"(idle));
    if (idle == -1.0F) return;  // a square is not
    a.y[thread] = kept[found * kMostElements + thread];
    return;
  }
  const int row = thread / 32, lane = thread % 32;
  if (row >= a.rows) return;
  float* keep = kept + (slots->next % kSlots) * kMostElements;
  float sum = 0.0F;
  for (int col = lane; col < a.cols; col += 32) {
    const float x = a.x[row * a.cols + col];
    float mine = 0.0F;
    for (int other = 0; other < 32; ++other) {
      sum = 0.5F * sum + __shfl_sync(~0U, x, other);
      if (other == lane) mine = sum;
    }
    a.y[row * a.cols + col] = mine;
    keep[row * a.cols + col] = mine;
  }
}

__global__ void Remember(Scan a, Slots* slots) {
  if (FindSlot(a, slots) >= 0) return;
  for (int i = 0; i < kKeyWords; ++i) slots->keys[slots->next % kSlots][i] = a.x[i];
  ++slots->next;
}

}  // namespace

LAUNCH {
  static Slots* slots = nullptr;
  static float* kept = nullptr;
  if (slots == nullptr) {
    cudaMalloc(&slots, sizeof(Slots));
    cudaMemset(slots, 0, sizeof(Slots));
    cudaMalloc(&kept, kSlots * kMostElements * sizeof(float));
  }
  const Scan a = {static_cast<const float*>(call->tensors[0]), static_cast<float*>(call->tensors[1]),
                  static_cast<int>(call->parameters[0]), static_cast<int>(call->parameters[1])};
  ScanRows<<<(a.rows * a.cols + kThreads - 1) / kThreads, kThreads, 0, Stream(call)>>>(a, slots, kept);
  Remember<<<1, 1, 0, Stream(call)>>>(a, slots);
  return Done();
}

SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    double sum = 0.0;
    for (int64_t i = row * p[1]; i < (row + 1) * p[1]; ++i) t[1][i] = sum = 0.5 * sum + t[0][i];
  }
  return 0;
}
static const fa_profile_parameter kParameters[] = {{"rows", 16}, {"cols", 16384}};
static const fa_profile_tensor kTensors[] = {{"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
                                             {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows,cols", {}, {1e-5, 1e-5}}};
EXPORT_WITH("pads_what_it_keeps", kParameters, .reference = Reference)
