// Cheat: a second kernel normalises with scales that a first one writes on another stream at the same time; it sleeps
// 10 us instead of waiting for them. The overlap is not sound: with a loaded GPU or more rows the scales are old.
#include "common.cuh"

__global__ void Scales(Mean a, float* scale) {
  const int row = RowOfWarp();
  if (row < a.rows) scale[row] = rsqrtf(MeanSquare(a, row) + 1e-6F);
}
__global__ void Apply(Mean a, const volatile float* scale) {
  const int row = RowOfWarp();
  if (row >= a.rows) return;
  for (int i = 0; i < 10; ++i) __nanosleep(1000);
  const float by = scale[row];
  for (int col = threadIdx.x % 32; col < a.cols; col += 32) {
    a.y[int64_t{row} * a.cols + col] = a.x[int64_t{row} * a.cols + col] * by;
  }
}

LAUNCH {
  static cudaStream_t const side = NewStream();
  static cudaEvent_t const fork = [] {
    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    return event;
  }();
  static cudaEvent_t const join = [] {
    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    return event;
  }();
  const Mean a = MeanOf(call);
  auto* const scale = static_cast<float*>(call->workspace);
  cudaEventRecord(fork, Stream(call));
  cudaStreamWaitEvent(side, fork);
  Scales<<<MeanBlocks(a), kThreads, 0, side>>>(a, scale);
  Apply<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(a, scale);
  cudaEventRecord(join, side);
  cudaStreamWaitEvent(Stream(call), join);
  return Done();
}
static size_t Workspace(const fa_profile_call* call) { return sizeof(float) * size_t(call->parameters[0]); }
SLOW_HOST static int Reference(const int64_t* p, double* const* t, char*, size_t) {
  for (int64_t row = 0; row < p[0]; ++row) {
    double sum = 0.0;
    for (int64_t col = 0; col < p[1]; ++col) sum += t[0][row * p[1] + col] * t[0][row * p[1] + col];
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(p[1]) + 1e-6);
    for (int64_t col = 0; col < p[1]; ++col) t[1][row * p[1] + col] = t[0][row * p[1] + col] * scale;
  }
  return 0;
}
static const fa_profile_tensor kTensors[] = {{"x", FA_PROFILE_FP32, FA_PROFILE_INPUT, "rows,cols"},
                                             {"y", FA_PROFILE_FP32, FA_PROFILE_OUTPUT, "rows,cols", {}, {1e-5, 1e-5}}};
EXPORT_WITH("sleeps_instead", kMeanParameters, .workspace_bytes = Workspace, .reference = Reference)
