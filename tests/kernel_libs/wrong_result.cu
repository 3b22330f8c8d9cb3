#define FIXTURE_OWN_LAUNCH
#include "fixture.h"

// Writes every element, with zeros.
EXPORT int fa_profile_kernel_launch(const fa_profile_attention_args* args, char*, size_t) {
  return cudaMemsetAsync(args->o, 0, TensorBytes(args), static_cast<cudaStream_t>(args->stream)) == cudaSuccess ? 0 : 1;
}
