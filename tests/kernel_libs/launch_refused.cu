#define FIXTURE_OWN_LAUNCH
#include "fixture.h"

EXPORT int fa_profile_kernel_launch(const fa_profile_attention_args*, char* error, size_t error_size) {
  std::snprintf(error, error_size, "the moon is not full");
  return 7;
}
