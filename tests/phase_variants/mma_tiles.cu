// mma.sync: sizes of tiles, how K, V and Q reach the products, and which instruction multiplies.
#include "mma.cuh"

namespace phase_variants {
namespace {

VARIANT(v_keys16, Mma, WITH kKeys = 16;)
VARIANT(v_keys32_warps2, Mma, WITH kKeys = 32; WITH kWarps = 2;)
VARIANT(v_keys48_bounds, Mma, WITH kKeys = 48; WITH kBounds = true;)
VARIANT(v_keys128_warps8, Mma, WITH kKeys = 128; WITH kWarps = 8;)
VARIANT(v_rows32_keys64, Mma, WITH kMTiles = 2;)
VARIANT(v_rows32_q_shared, Mma, WITH kMTiles = 2; WITH kQueries = Queries::kShared; WITH kWarps = 2;)
VARIANT(v_one_warp, Mma, WITH kWarps = 1; WITH kKeys = 32; WITH kQueries = Queries::kStaged;)
VARIANT(v_d128, Mma, WITH kHeadDim = 128;)
VARIANT(v_d128_q_shared, Mma, WITH kHeadDim = 128; WITH kQueries = Queries::kShared; WITH kKeys = 32;)
VARIANT(v_d128_causal_rows32, Mma, WITH kHeadDim = 128; WITH kCausal = true; WITH kMTiles = 2; WITH kWarps = 2;
        WITH kKeys = 32; WITH kQueries = Queries::kShared;)
VARIANT(v_one_stage, Mma, WITH kCopy = Copy::kAsync1;)
VARIANT(v_through_registers, Mma, WITH kCopy = Copy::kRegisters;)
VARIANT(v_prefetched, Mma, WITH kCopy = Copy::kPrefetch; WITH kKeys = 32;)
VARIANT(v_direct, Mma, WITH kCopy = Copy::kDirect; WITH kKeys = 16;)
VARIANT(v_direct_causal, Mma, WITH kCopy = Copy::kDirect; WITH kKeys = 32; WITH kCausal = true; WITH kWarps = 2;)
VARIANT(v_padded, Mma, WITH kPadded = true;)
VARIANT(v_plain_lds, Mma, WITH kPadded = true; WITH kLdmatrix = false;)
VARIANT(v_plain_lds_swizzled, Mma, WITH kLdmatrix = false; WITH kKeys = 32; WITH kQueries = Queries::kShared;)
VARIANT(v_depth8, Mma, WITH kMmaDepth = 8;)
VARIANT(v_depth8_plain_lds, Mma, WITH kMmaDepth = 8; WITH kLdmatrix = false; WITH kPadded = true; WITH kKeys = 32;
        WITH kCopy = Copy::kRegisters;)
VARIANT(v_bf16_qk, Mma, WITH kBf16Qk = true; WITH kCopy = Copy::kRegisters; WITH kLeastSeqlen = 4096;)
VARIANT(v_p_shared, Mma, WITH kPShared = true;)
VARIANT(v_p_shared_d128, Mma, WITH kPShared = true; WITH kHeadDim = 128; WITH kKeys = 32;)

}  // namespace
}  // namespace phase_variants
