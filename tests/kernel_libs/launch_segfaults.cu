#define FIXTURE_OWN_LAUNCH
#include "fixture.h"

EXPORT int fa_profile_kernel_launch(const fa_profile_attention_args*, char*, size_t) {
  volatile int* volatile nowhere = nullptr;  // both, or the compiler drops the write
  *nowhere = 1;
  return 0;
}
