// mma.sync, compiled with ptxas -O1.
#include "mma.cuh"

namespace phase_variants {
namespace {

VARIANT(v_o1, Mma, WITH kKeys = 32;)
VARIANT(v_o1_causal, Mma, WITH kCausal = true; WITH kKeys = 32; WITH kExp = Exp::kExpf;)
VARIANT(v_o1_p_shared, Mma, WITH kPShared = true; WITH kKeys = 32; WITH kCopy = Copy::kRegisters;)

}  // namespace
}  // namespace phase_variants
