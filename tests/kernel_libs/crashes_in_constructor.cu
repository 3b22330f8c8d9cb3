#include <cstdlib>

#include "fixture.h"

__attribute__((constructor)) static void Crash() { std::abort(); }
