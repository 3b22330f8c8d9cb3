#define FIXTURE_OWN_NAME
#include "fixture.h"

EXPORT const char* fa_profile_kernel_name(void) { return "My Kernel!"; }
