// mma.sync: loops, splits, persistence, masks.
#include "mma.cuh"

namespace phase_variants {
namespace {

VARIANT(v_causal, Mma, WITH kCausal = true;)
VARIANT(v_causal_keys128, Mma, WITH kCausal = true; WITH kKeys = 128; WITH kQueries = Queries::kShared;)
VARIANT(v_peeled, Mma, WITH kCausal = true; WITH kLoop = Loop::kPeeled;)
VARIANT(v_peeled_d128, Mma, WITH kCausal = true; WITH kLoop = Loop::kPeeled; WITH kHeadDim = 128; WITH kKeys = 32;)
VARIANT(v_persistent, Mma, WITH kPersistent = true;)
VARIANT(v_persistent_causal, Mma, WITH kPersistent = true; WITH kCausal = true; WITH kCopy = Copy::kAsync1;
        WITH kSharedEpilogue = true;)
VARIANT(v_overlapped, Mma, WITH kLoop = Loop::kOverlapped;)
VARIANT(v_overlapped_causal, Mma, WITH kLoop = Loop::kOverlapped; WITH kCausal = true; WITH kKeys = 32;)
VARIANT(v_qk_rolled, Mma, WITH kQkUnroll = 1; WITH kQueries = Queries::kShared;)
VARIANT(v_qk_unrolled2_d128, Mma, WITH kQkUnroll = 2; WITH kQueries = Queries::kShared; WITH kHeadDim = 128;
        WITH kKeys = 32;)
VARIANT(v_pv_rolled, Mma, WITH kPvUnroll = 1; WITH kPShared = true;)
VARIANT(v_both_rolled, Mma, WITH kQkUnroll = 1; WITH kPvUnroll = 1; WITH kPShared = true;
        WITH kQueries = Queries::kShared;)
VARIANT(v_both_rolled_d128, Mma, WITH kQkUnroll = 1; WITH kPvUnroll = 2; WITH kPShared = true; WITH kHeadDim = 128;
        WITH kQueries = Queries::kShared;)
VARIANT(v_splits2, Mma, WITH kSplits = 2; WITH kWarps = 2; WITH kKeys = 32;)
VARIANT(v_splits4_causal, Mma, WITH kSplits = 4; WITH kWarps = 2; WITH kKeys = 32; WITH kCausal = true;)
VARIANT(v_grid_splits2, Mma, WITH kGridSplits = 2;)
VARIANT(v_grid_splits4, Mma, WITH kGridSplits = 4; WITH kKeys = 32; WITH kWarps = 2; WITH kCopy = Copy::kAsync1;)
VARIANT(v_grouped, Mma, WITH kGrouped = true;)
VARIANT(v_grouped_rotary, Mma, WITH kGrouped = true; WITH kRotary = true; WITH kCopy = Copy::kRegisters;
        WITH kPadded = true; WITH kQueries = Queries::kStaged;)
VARIANT(v_shared_epilogue, Mma, WITH kSharedEpilogue = true;)
VARIANT(v_shared_epilogue_d128, Mma, WITH kSharedEpilogue = true; WITH kHeadDim = 128; WITH kKeys = 32;)

}  // namespace
}  // namespace phase_variants
