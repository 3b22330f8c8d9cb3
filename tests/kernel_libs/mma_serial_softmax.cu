// Rung 7 with a softmax that one lane of each warp does: correct, and the verdict must move to softmax.
#define MUTANT_ID mma_serial_softmax
#define MUTANT_SERIAL_SOFTMAX true
#include "mma_mutant.cuh"
