#define FIXTURE_OWN_DESCRIPTION  // and none is written
#include "fixture.h"
