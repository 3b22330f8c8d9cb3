// WMMA.
#include "wmma.cuh"

namespace phase_variants {
namespace {

using wmma_family::Wmma;
VARIANT(v_wmma, Wmma, )
VARIANT(v_wmma_keys64_lanes16, Wmma, WITH kKeys = 64; WITH kLanesPerRow = 16;)
VARIANT(v_wmma_causal, Wmma, WITH kCausal = true; WITH kWarps = 2; WITH kLanesPerRow = 4;)
VARIANT(v_wmma_fixed_maximum, Wmma, WITH kFixedMaximum = true; WITH kCopyAsync = false;)
VARIANT(v_wmma_rolled, Wmma, WITH kQkRolled = true; WITH kPvRolled = true; WITH kKeys = 64; WITH kLanesPerRow = 8;)
VARIANT(v_wmma_d128_expf, Wmma, WITH kHeadDim = 128; WITH kExp = Exp::kExp2f; WITH kCopyAsync = false;
        WITH kLanesPerRow = 4;)

}  // namespace
}  // namespace phase_variants
