// Rung 7 with a softmax that one lane of each warp does: correct, and the verdict must move to softmax.
#define MUTANT_NAME "mma_serial_softmax"
namespace {
constexpr bool kSerialSoftmax = true;
constexpr bool kPlainV = false;
}  // namespace
#include "mma_mutant.cuh"
