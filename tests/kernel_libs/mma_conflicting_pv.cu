// Rung 7 whose V is not swizzled: correct, and 8-way bank conflicts must be found in pv and nowhere else.
#define MUTANT_NAME "mma_conflicting_pv"
namespace {
constexpr bool kSerialSoftmax = false;
constexpr bool kPlainV = true;
}  // namespace
#include "mma_mutant.cuh"
