// A variant of rung 8 as a kernel library, for fa-profile to measure and compare. Set on the compiler's command line:
// VARIANT, a configuration (Overlap64), VARIANT_LAUNCH, its launcher, and VARIANT_NAME ("hopper_64_overlap").
#include <cuda_runtime.h>

#include <cstdio>

#include "attention_library.h"
#include "hopper/configurations.cuh"
#include "hopper/forward.cuh"
#include "hopper/slips.cuh"
#include "hopper/split_keys.cuh"

namespace fa_profile::hopper {
namespace {

// nvcc accepts no comma in a macro on its command line.
using Split21 = SplitTile<64, 2, 1, 2, 128>;
using Split24 = SplitTile<64, 2, 4, 2, 128>;
using Split14 = SplitTile<64, 1, 4, 4, 128>;
using Polynomials = Polynomial<Persistent64, 3>;

// The kernels of all variants have the same name, so that the gate and `diff` know what to compare.
struct Chosen : VARIANT {};

template <class T>
constexpr bool TakesSeqlen(int seqlen) {
  if constexpr (requires { T::kMaxSeqlen; }) return seqlen <= T::kMaxSeqlen;
  return true;
}

constexpr AttentionLibrary::Parameters kParameters = {
    {"batch", 1}, {"heads", 8}, {"seqlen", 512}, {"head_dim", Chosen::kHeadDim}, {"causal", 0, 0, 1}};

int Supports(const fa_profile_call* call, char* error, size_t error_size) {
  const AttentionParams params = AttentionLibrary::ParamsOf(*call);
  if (params.head_dim == Chosen::kHeadDim && TakesSeqlen<Chosen>(params.seqlen)) return 0;
  std::snprintf(error, error_size, "this variant takes head_dim %d, and some of them few keys only", Chosen::kHeadDim);
  return 1;
}

int Launch(const fa_profile_call* call, char* error, size_t error_size) {
  const cudaError_t status =
      VARIANT_LAUNCH<Chosen>(AttentionLibrary::ParamsOf(*call), static_cast<cudaStream_t>(call->stream));
  return AttentionLibrary::ResultOf(status, error, error_size);
}

const fa_profile_kernel kKernel = AttentionLibrary::Describe(VARIANT_NAME, kParameters, Launch, Supports);

}  // namespace
}  // namespace fa_profile::hopper

FA_PROFILE_EXPORT_KERNEL(fa_profile::hopper::kKernel)
