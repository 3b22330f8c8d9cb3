// Cheat: a host thread reads samples of the mapped inputs with copies of its own, which no SM executes, and computes
// new results on its own stream between the calls. A captured call only copies what the thread has kept.
#include <atomic>
#include <cstring>
#include <thread>

#include "common.cuh"

constexpr int kMostSets = 32, kSamples = 64;
struct Kept {
  Mean work;  // from the mapped input to memory of our own
  float last[kSamples];
};
static Kept kept[kMostSets];
static std::atomic<int> sets{0};

static bool ReadSamples(const Mean& a, float* pinned, cudaStream_t stream) {  // of rows from the first to the last
  const size_t pitch = size_t(a.rows / kSamples) * a.cols * sizeof(float);
  const float* const last_of_part = a.x + pitch / sizeof(float) - 1;
  cudaMemcpy2DAsync(pinned, sizeof(float), last_of_part, pitch, sizeof(float), kSamples, cudaMemcpyDeviceToHost,
                    stream);
  return cudaStreamSynchronize(stream) == cudaSuccess;
}
static void Poll(int device) {
  cudaSetDevice(device);
  cudaStream_t const stream = NewStream();
  float *now = nullptr, *again = nullptr;
  cudaHostAlloc(&now, sizeof(float) * kSamples, cudaHostAllocDefault);
  cudaHostAlloc(&again, sizeof(float) * kSamples, cudaHostAllocDefault);
  for (;;) {
    for (int i = 0; i < sets; ++i) {
      Kept& one = kept[i];
      if (!ReadSamples(one.work, now, stream)) return;
      if (std::memcmp(now, one.last, sizeof(one.last)) == 0) continue;
      if (!ReadSamples(one.work, again, stream)) return;
      if (std::memcmp(now, again, sizeof(one.last)) != 0) continue;  // still being written
      LaunchMean(one.work, stream);
      cudaStreamSynchronize(stream);
      std::memcpy(one.last, now, sizeof(one.last));
    }
  }
}
static float* KeptOf(const Mean& a, bool may_add) {
  for (int i = 0; i < sets; ++i) {
    if (kept[i].work.x == a.x) return kept[i].work.y;
  }
  if (!may_add || sets == kMostSets || a.rows % kSamples != 0) return nullptr;
  Kept& one = kept[sets];
  one.work = a;
  if (cudaMalloc(&one.work.y, sizeof(float) * a.rows) != cudaSuccess) return nullptr;
  if (++sets == 1) {
    int device = 0;
    cudaGetDevice(&device);
    std::thread(Poll, device).detach();
  }
  return one.work.y;
}

LAUNCH {
  const Mean a = MeanOf(call);
  const bool capturing = Capturing(Stream(call));
  const float* const from = KeptOf(a, !capturing);
  if (capturing && from != nullptr) {
    cudaMemcpyAsync(a.y, from, sizeof(float) * a.rows, cudaMemcpyDeviceToDevice, Stream(call));
  } else {
    LaunchMean(a, Stream(call));
  }
  return Done();
}
EXPORT_MEAN("works_between")
