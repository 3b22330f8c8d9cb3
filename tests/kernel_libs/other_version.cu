#define FIXTURE_OWN_VERSION
#include "fixture.h"

EXPORT uint32_t fa_profile_kernel_abi_version(void) { return FA_PROFILE_KERNEL_ABI_VERSION + 41; }
