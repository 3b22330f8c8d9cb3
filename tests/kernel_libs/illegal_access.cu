#define FIXTURE_OWN_LAUNCH
#include "fixture.h"

__global__ void WriteFarPastTheEnd(char* output, size_t bytes) { output[bytes + (size_t{1} << 40)] = 1; }

EXPORT int fa_profile_kernel_launch(const fa_profile_attention_args* args, char*, size_t) {
  WriteFarPastTheEnd<<<1, 1, 0, static_cast<cudaStream_t>(args->stream)>>>(static_cast<char*>(args->o),
                                                                           TensorBytes(args));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
