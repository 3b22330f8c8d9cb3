#define FIXTURE_OWN_NAME
#include <cstdlib>

#include "fixture.h"

FA_PROFILE_EXPORT const char* fa_profile_kernel_name(void) { std::exit(0); }
