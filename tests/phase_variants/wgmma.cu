// WGMMA: sm_90a.
#include "wgmma.cuh"

namespace phase_variants {
namespace {

VARIANT(v_wgmma, Wgmma, )
VARIANT(v_wgmma_keys128, Wgmma, WITH kKeys = 128;)
VARIANT(v_wgmma_p_shared, Wgmma, WITH kPSharedGmma = true;)
// ptxas 13.0 serializes the two products of this one (C7513): they are issued together and do not overlap.
VARIANT(v_wgmma_overlapped, Wgmma, WITH kOverlap = true;)
VARIANT(v_wgmma_producer, Wgmma, WITH kProducerWarp = true; WITH kWarps = 8;)
VARIANT(v_wgmma_lazy_mixed, Wgmma, WITH kRescale = Rescale::kLazy; WITH kExp = Exp::kMixed; WITH kWarps = 8;)

}  // namespace
}  // namespace phase_variants
