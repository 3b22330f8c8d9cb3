// Cheat: declares a mean in fp32 but rounds each element to bf16 and adds in bf16 within a lane; a tolerance of 2 %
// hides it.
#include <cuda_bf16.h>

#include "common.cuh"

__global__ void MeanInBf16(Mean a) {
  const int row = RowOfWarp();
  if (row >= a.rows) return;
  __nv_bfloat16 sum = __float2bfloat16(0.0F);
  for (int col = threadIdx.x % 32; col < a.cols; col += 32) {
    const __nv_bfloat16 x = __float2bfloat16(a.x[int64_t{row} * a.cols + col]);
    sum = __hfma(x, x, sum);
  }
  const float total = WarpSum(__bfloat162float(sum));
  if (threadIdx.x % 32 == 0) a.y[row] = total / a.cols;
}

LAUNCH {
  const Mean a = MeanOf(call);
  MeanInBf16<<<MeanBlocks(a), kThreads, 0, Stream(call)>>>(a);
  return Done();
}
MEAN_TENSORS(0, 2e-2)
EXPORT_WITH("bf16_mean", kMeanParameters, .reference = MeanReference, .work = MeanWork)
