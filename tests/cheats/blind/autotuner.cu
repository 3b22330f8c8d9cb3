// Honest: the first calls try three block sizes, each a whole and right call, and keep the fastest by events; a
// captured call uses what is best so far.
#include "common.cuh"

struct Tuner {
  cudaEvent_t begin[3], end[3];
  int tried = 0, best = 0;
  Tuner() {
    for (int i = 0; i < 3; ++i) cudaEventCreate(&begin[i]), cudaEventCreate(&end[i]);
  }
  void Choose() {
    float least = INFINITY;
    for (int i = 0; i < 3; ++i) {
      float time = 0.0F;
      if (cudaEventQuery(end[i]) != cudaSuccess || cudaEventElapsedTime(&time, begin[i], end[i]) != cudaSuccess) return;
      if (time < least) least = time, best = i;
    }
    tried = 4;
  }
};
__global__ void Rows(Mean a) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row < a.rows) a.y[row] = MeanSquare(a, row);
}

LAUNCH {
  static Tuner tuner;
  const Mean a = MeanOf(call);
  const bool tries = tuner.tried < 3 && !Capturing(Stream(call));
  if (tuner.tried == 3 && !Capturing(Stream(call))) tuner.Choose();
  (void)cudaGetLastError();  // of a query that was too early
  const int choice = tries ? tuner.tried++ : tuner.best, rows_a_block = 2 << choice;
  if (tries) cudaEventRecord(tuner.begin[choice], Stream(call));
  Rows<<<(a.rows + rows_a_block - 1) / rows_a_block, 32 * rows_a_block, 0, Stream(call)>>>(a);
  if (tries) cudaEventRecord(tuner.end[choice], Stream(call));
  return Done();
}
EXPORT_MEAN("autotuner")
