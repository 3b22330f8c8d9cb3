// A library that was built for version 1 of the interface, which had no description.
#define FIXTURE_OWN_VERSION
#define FIXTURE_OWN_DESCRIPTION
#include "fixture.h"

FA_PROFILE_EXPORT uint32_t fa_profile_kernel_abi_version(void) { return 1; }
