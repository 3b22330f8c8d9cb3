#define FIXTURE_OWN_VERSION
#include "fixture.h"

FA_PROFILE_EXPORT uint32_t fa_profile_kernel_abi_version(void) { return 42; }
