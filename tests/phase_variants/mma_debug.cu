// mma.sync, compiled with -G: the inference must refuse it.
#include "mma.cuh"

namespace phase_variants {
namespace {

VARIANT(v_debug, Mma, WITH kKeys = 16; WITH kWarps = 2;)

}  // namespace
}  // namespace phase_variants
