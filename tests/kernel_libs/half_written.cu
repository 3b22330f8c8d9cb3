#define FIXTURE_OWN_LAUNCH
#include "fixture.h"

// The first quarter becomes NaN (0xffff), the second and third zero, and the last stays as it was.
EXPORT int fa_profile_kernel_launch(const fa_profile_attention_args* args, char*, size_t) {
  const size_t quarter = TensorBytes(args) / 4;
  const auto stream = static_cast<cudaStream_t>(args->stream);
  if (cudaMemsetAsync(args->o, 0xff, quarter, stream) != cudaSuccess) return 1;
  return cudaMemsetAsync(static_cast<char*>(args->o) + quarter, 0, 2 * quarter, stream) == cudaSuccess ? 0 : 1;
}
