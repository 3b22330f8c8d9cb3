#define FIXTURE_OWN_NAME
#include "fixture.h"

FA_PROFILE_EXPORT const char* fa_profile_kernel_name(void) { return "My Kernel!"; }
