// Rung 7 whose V is in shared memory without its swizzle: correct, and PV's bank conflicts must be named.
#define MUTANT_ID mma_conflicting_pv
#define MUTANT_V_SWIZZLE 0
#include "mma_mutant.cuh"
