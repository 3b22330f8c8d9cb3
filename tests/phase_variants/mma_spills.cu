// mma.sync, with fewer registers than it needs: spills.
#include "mma.cuh"

namespace phase_variants {
namespace {

VARIANT(v_spills, Mma, WITH kMinBlocks = 5; WITH kMTiles = 1;)
VARIANT(v_spills_d128, Mma, WITH kHeadDim = 128; WITH kMinBlocks = 4;)
VARIANT(v_spills_causal_rows32, Mma, WITH kMTiles = 2; WITH kCausal = true; WITH kMinBlocks = 4;)

}  // namespace
}  // namespace phase_variants
