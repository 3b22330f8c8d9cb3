// mma.sync: a warp that brings K and V for the others.
#include "specialised.cuh"

namespace phase_variants {
namespace {

VARIANT(v_producer_named, Specialised, WITH kProducer = Producer::kNamedBarriers;)
VARIANT(v_producer_copies, Specialised, WITH kProducer = Producer::kCopiesArrive;)
VARIANT(v_producer_copies_causal, Specialised, WITH kProducer = Producer::kCopiesArrive; WITH kCausal = true;
        WITH kKeys = 32;)
VARIANT(v_producer_bulk, Specialised, WITH kProducer = Producer::kBulk; WITH kPadded = true;)
VARIANT(v_producer_bulk_d128, Specialised, WITH kProducer = Producer::kBulk; WITH kPadded = true; WITH kHeadDim = 128;
        WITH kKeys = 32; WITH kRescale = Rescale::kLazy;)
VARIANT(v_producer_named_p_shared, Specialised, WITH kProducer = Producer::kNamedBarriers; WITH kPShared = true;
        WITH kWarps = 2;)

}  // namespace
}  // namespace phase_variants
