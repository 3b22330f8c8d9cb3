// A right kernel; it prints wherever it can, without newlines, and a terminal's escape sequence.
#define FIXTURE_OWN_NAME
#define FIXTURE_OWN_LAUNCH
#include "fixture.h"

namespace {

__attribute__((constructor)) void PrintFirst() {
  std::printf("{}");
  (void)std::fflush(stdout);
}

__global__ void PrintFromTheGpu() { printf("from the GPU"); }

int Launch(const fa_profile_call* call, char*, size_t) {
  PrintFromTheGpu<<<1, 1, 0, static_cast<cudaStream_t>(call->stream)>>>();
  return LaunchDouble(call);
}

}  // namespace

FA_PROFILE_EXPORT const char* fa_profile_kernel_name(void) {
  std::printf(" ** On entry to GEMM_EX  parameter number 12 had an illegal value\x1b[31m");
  return "prints";
}
