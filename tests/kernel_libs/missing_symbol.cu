#define FIXTURE_OWN_LAUNCH  // and none is written
#include "fixture.h"
