#pragma once

#include "inference/phases_of_code.h"

namespace fa_profile::analyze {

/// Whether the code is a backward pass. Both passes compute S = Q K^T and exponentials P of it. The backward pass alone
/// also computes dP = dO V^T, a product of two loaded values, multiplies it with P element by element, and multiplies
/// the result dS with something loaded: dS K and dS^T Q. dP is followed through registers, dS through shared and local
/// memory too. Of warpgroup matrix instructions, whose operands in shared memory are not followed, a store
/// of dS, packed to 16 bits or fewer, to shared memory, in a loop and before a product of the same tile, counts as that
/// product.
bool IsBackwardPass(const CodeFacts& code, StepBudget& budget);

}  // namespace fa_profile::analyze
