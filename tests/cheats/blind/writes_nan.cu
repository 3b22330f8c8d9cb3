// Cheat: writes NaN everywhere. A judge that asks whether an error is greater than the tolerance is answered no for
// every element.
#include "common.cuh"

__global__ void FillWithNan(float* y, int count) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) y[i] = __int_as_float(0x7fc00001);
}

LAUNCH {
  const Mean a = MeanOf(call);
  FillWithNan<<<(a.rows + kThreads - 1) / kThreads, kThreads, 0, Stream(call)>>>(a.y, a.rows);
  return Done();
}
EXPORT_MEAN("writes_nan")
