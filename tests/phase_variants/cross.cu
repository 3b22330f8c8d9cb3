// mma.sync: warps that share the rows.
#include "cross.cuh"

namespace phase_variants {
namespace {

using cross::Cross;
VARIANT(v_cross, Cross, )
VARIANT(v_cross_causal, Cross, WITH kCausal = true; WITH kMTiles = 1;)
VARIANT(v_cross_d128_warps8, Cross, WITH kHeadDim = 128; WITH kWarps = 8; WITH kKeys = 128;)
VARIANT(v_cross_expf, Cross, WITH kExp = Exp::kExp2f; WITH kMTiles = 4; WITH kWarps = 2;)

}  // namespace
}  // namespace phase_variants
