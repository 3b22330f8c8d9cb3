// Rung 7 with one barrier more before its epilogue, sold as a cure: right, and nothing is gained.
#define MUTANT_ID mma_late_barrier
#define MUTANT_CHANGE epilogue_sync
#include "mma_mutant.cuh"
