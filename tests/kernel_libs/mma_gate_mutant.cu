// Rung 7 a little worse, for the gate to find: what is different is given on the compiler's command line.
#include "mma_mutant.cuh"
