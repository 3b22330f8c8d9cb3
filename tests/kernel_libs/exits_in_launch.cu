#define FIXTURE_OWN_LAUNCH
#include <cstdlib>

#include "fixture.h"

EXPORT int fa_profile_kernel_launch(const fa_profile_attention_args*, char*, size_t) {
  std::printf("goodbye");
  std::exit(0);
}
