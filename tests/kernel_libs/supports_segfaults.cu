#define FIXTURE_OWN_SUPPORTS
#include "fixture.h"

EXPORT int fa_profile_kernel_supports(const fa_profile_attention_args*, char*, size_t) {
  volatile int* volatile nowhere = nullptr;  // both, or the compiler drops the write
  *nowhere = 1;
  return 0;
}
