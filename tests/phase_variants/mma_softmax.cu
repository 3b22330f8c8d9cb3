// mma.sync: exponentials, scales, maxima, rescaling.
#include "mma.cuh"

namespace phase_variants {
namespace {

VARIANT(v_exp2f, Mma, WITH kExp = Exp::kExp2f;)
VARIANT(v_fast_exp, Mma, WITH kExp = Exp::kFast; WITH kKeys = 32;)
VARIANT(v_expf_causal, Mma, WITH kExp = Exp::kExpf; WITH kCausal = true;)
VARIANT(v_expf_separate_scale, Mma, WITH kExp = Exp::kExpf; WITH kScale = Scale::kSeparate; WITH kKeys = 32;)
VARIANT(v_polynomial, Mma, WITH kExp = Exp::kPolynomial;)
VARIANT(v_mixed_exp, Mma, WITH kExp = Exp::kMixed;)
VARIANT(v_mixed_exp_lazy, Mma, WITH kExp = Exp::kMixed; WITH kRescale = Rescale::kLazy; WITH kKeys = 128;
        WITH kQueries = Queries::kShared;)
VARIANT(v_half2_exp, Mma, WITH kExp = Exp::kHalf2;)
VARIANT(v_scale_on_q, Mma, WITH kScale = Scale::kOnQ;)
VARIANT(v_separate_scale_causal, Mma, WITH kScale = Scale::kSeparate; WITH kCausal = true;)
VARIANT(v_lazy_rescale, Mma, WITH kRescale = Rescale::kLazy;)
VARIANT(v_lazy_rescale_d128, Mma, WITH kRescale = Rescale::kLazy; WITH kHeadDim = 128; WITH kKeys = 32;)
VARIANT(v_rescale_when_changed, Mma, WITH kRescale = Rescale::kChanged; WITH kCausal = true;)
VARIANT(v_no_maximum, Mma, WITH kRescale = Rescale::kNone;)
VARIANT(v_two_pass, Mma, WITH kLoop = Loop::kTwoPass; WITH kCopy = Copy::kAsync1;)
VARIANT(v_shared_reduction, Mma, WITH kSharedReduction = true;)
VARIANT(v_shared_reduction_rows32, Mma, WITH kSharedReduction = true; WITH kMTiles = 2; WITH kWarps = 2;
        WITH kKeys = 32;)
VARIANT(v_sum_each_tile, Mma, WITH kSumEachTile = true; WITH kKeys = 32;)
VARIANT(v_rotary, Mma, WITH kRotary = true; WITH kCopy = Copy::kRegisters;)
VARIANT(v_rotary_computed, Mma, WITH kRotary = true; WITH kRotaryTable = false; WITH kCopy = Copy::kRegisters;
        WITH kQueries = Queries::kShared; WITH kKeys = 32;)

}  // namespace
}  // namespace phase_variants
