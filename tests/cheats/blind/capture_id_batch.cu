// Cheat: of all calls in one capture the first computes, the others launch the same grid without rows, so that one call
// does the work of the series.
#include "common.cuh"

LAUNCH {
  static unsigned long long last_capture = 0;
  static const void* last_output = nullptr;
  const Norm a = NormOf(call);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long capture = 0;
  cudaStreamGetCaptureInfo(Stream(call), &status, &capture, nullptr, nullptr, nullptr, nullptr);
  const bool again = status == cudaStreamCaptureStatusActive && capture == last_capture && a.y == last_output;
  last_capture = capture;
  last_output = a.y;
  NormRows<<<(a.rows + kRowsPerBlock - 1) / kRowsPerBlock, kThreads, 0, Stream(call)>>>(a, 0, again ? 0 : a.rows);
  return Done();
}
EXPORT_NORM("capture_id_batch")
