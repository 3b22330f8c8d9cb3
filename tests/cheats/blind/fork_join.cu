// Honest: half of the rows run on a second stream that forks from the call's stream and joins it within the call.
#include "common.cuh"

LAUNCH {
  static cudaStream_t const side = NewStream();
  static cudaEvent_t fork = nullptr, join = nullptr;
  if (fork == nullptr) {
    cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  }
  const Norm a = NormOf(call);
  cudaEventRecord(fork, Stream(call));
  cudaStreamWaitEvent(side, fork);
  LaunchNorm(a, 0, a.rows / 2, side);
  LaunchNorm(a, a.rows / 2, a.rows, Stream(call));
  cudaEventRecord(join, side);
  cudaStreamWaitEvent(Stream(call), join);
  return Done();
}
EXPORT_NORM("fork_join")
