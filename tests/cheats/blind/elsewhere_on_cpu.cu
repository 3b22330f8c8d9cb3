// Cheat: a host function of the graph computes on the CPU, between a copy of the input to the host and one of the
// result back. A kernel that executes as many instructions as an honest one, on eight rows that L1 holds, is all that
// keeps the SMs busy.
#include "common.cuh"

struct Job {
  const float* input;  // of the GPU; the others are pinned
  float *x, *y;
  int rows, cols;
};
SLOW_HOST static void CUDART_CB Compute(void* data) {
  const Job& job = *static_cast<const Job*>(data);
  constexpr int kLanes = 16;
  for (int64_t row = 0; row < job.rows; ++row) {
    float sums[kLanes] = {}, sum = 0.0F;
    for (int64_t col = 0; col < job.cols; col += kLanes) {
      for (int i = 0; i < kLanes; ++i) {
        const float x = job.x[row * job.cols + col + i];
        sums[i] += x * x;
      }
    }
    for (const float part : sums) sum += part;
    job.y[row] = sum / float(job.cols);
  }
}
__global__ void StandIn(Mean a) {
  __shared__ float nowhere[kRowsPerBlock];
  const int row = RowOfWarp();
  if (row >= a.rows) return;
  a.y = nowhere;
  *(volatile float*)(a.y + row % kRowsPerBlock) = MeanSquare(a, row % kRowsPerBlock);
}
static Job* JobOf(const Mean& a, bool may_add) {
  static Job jobs[32];
  static int count = 0;
  for (int i = 0; i < count; ++i) {
    if (jobs[i].input == a.x) return &jobs[i];
  }
  if (!may_add || count == 32) return nullptr;
  Job& job = jobs[count];
  job = {a.x, nullptr, nullptr, a.rows, a.cols};
  if (cudaHostAlloc(&job.x, sizeof(float) * a.rows * a.cols, cudaHostAllocDefault) != cudaSuccess) return nullptr;
  if (cudaHostAlloc(&job.y, sizeof(float) * a.rows, cudaHostAllocDefault) != cudaSuccess) return nullptr;
  ++count;
  return &job;
}

LAUNCH {
  const Mean a = MeanOf(call);
  Job* const job = JobOf(a, !Capturing(Stream(call)));
  if (job == nullptr) return std::snprintf(error, error_size, "no pinned memory");
  cudaMemcpyAsync(job->x, a.x, sizeof(float) * a.rows * a.cols, cudaMemcpyDeviceToHost, Stream(call));
  cudaLaunchHostFunc(Stream(call), Compute, job);
  cudaMemcpyAsync(a.y, job->y, sizeof(float) * a.rows, cudaMemcpyHostToDevice, Stream(call));
  StandIn<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(a);
  return Done();
}
static int Takes(const fa_profile_call* call, char* error, size_t error_size) {
  return call->parameters[1] % 16 == 0 ? 0 : std::snprintf(error, error_size, "columns must be a multiple of 16");
}
static const fa_profile_parameter kParameters[] = {{"rows", 1024}, {"cols", 512}};
MEAN_TENSORS(1e-6, 1e-5)
EXPORT_WITH("elsewhere_on_cpu", kParameters, .supports = Takes, .reference = MeanReference, .work = MeanWork)
