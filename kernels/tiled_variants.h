#pragma once

#include "rung.h"

namespace fa_profile {

// Rung 3 with one thing undone each, for tests that ask whether a profiler points at it. Not on the ladder.

const Rung& TiledNoPadRung();       // rows of K neither padded nor swizzled: bank conflicts in qk
const Rung& TiledNoAsyncRung();     // tiles through registers: no LDGSTS, the copy's latency is waited for
const Rung& TiledScalarLoadRung();  // copies of 4 bytes: four times the LDGSTS

}  // namespace fa_profile
