// A variant of rung 8 as a kernel library, for fa-profile to measure and compare. On the compiler's command line:
// VARIANT, a configuration (Overlap64), VARIANT_LAUNCH, what launches it, and VARIANT_NAME ("hopper_64_overlap").
#include <cuda_runtime.h>

#include <cstdio>

#include "fa_profile/kernel_abi.h"
#include "hopper/configurations.cuh"
#include "hopper/forward.cuh"
#include "hopper/slips.cuh"
#include "hopper/split_keys.cuh"

namespace fa_profile::hopper {
namespace {

// nvcc takes no comma in a macro of its command line.
using Split21 = SplitTile<64, 2, 1, 2, 128>;
using Split24 = SplitTile<64, 2, 4, 2, 128>;
using Split14 = SplitTile<64, 1, 4, 4, 128>;
using Polynomials = Polynomial<Persistent64, 3>;

// The kernels of all variants have the same name: that is how the gate and `diff` find what to compare.
struct Chosen : VARIANT {};

template <class T>
constexpr bool TakesSeqlen(int seqlen) {
  if constexpr (requires { T::kMaxSeqlen; }) return seqlen <= T::kMaxSeqlen;
  return true;
}

AttentionParams ParamsOf(const fa_profile_attention_args& args) {
  AttentionParams params;
  params.batch = args.batch;
  params.num_heads = args.num_heads;
  params.seqlen = args.seqlen;
  params.head_dim = args.head_dim;
  params.causal = args.causal != 0;
  params.softmax_scale = args.softmax_scale;
  params.q = static_cast<const __half*>(args.q);
  params.k = static_cast<const __half*>(args.k);
  params.v = static_cast<const __half*>(args.v);
  params.o = static_cast<__half*>(args.o);
  return params;
}

}  // namespace
}  // namespace fa_profile::hopper

extern "C" {

__attribute__((visibility("default"))) uint32_t fa_profile_kernel_abi_version(void) {
  return FA_PROFILE_KERNEL_ABI_VERSION;
}

__attribute__((visibility("default"))) const char* fa_profile_kernel_name(void) { return VARIANT_NAME; }

__attribute__((visibility("default"))) int fa_profile_kernel_supports(const fa_profile_attention_args* args,
                                                                      char* error, size_t error_size) {
  using fa_profile::hopper::Chosen;
  if (args->head_dim == Chosen::kHeadDim && fa_profile::hopper::TakesSeqlen<Chosen>(args->seqlen)) return 0;
  std::snprintf(error, error_size, "this variant takes head_dim %d, and some of them few keys only", Chosen::kHeadDim);
  return 1;
}

__attribute__((visibility("default"))) size_t fa_profile_kernel_workspace_bytes(const fa_profile_attention_args*) {
  return 0;
}

__attribute__((visibility("default"))) int fa_profile_kernel_launch(const fa_profile_attention_args* args, char* error,
                                                                    size_t error_size) {
  using namespace fa_profile::hopper;  // NOLINT(google-build-using-namespace): VARIANT_LAUNCH is in it
  const cudaError_t status = VARIANT_LAUNCH<Chosen>(ParamsOf(*args), static_cast<cudaStream_t>(args->stream));
  if (status == cudaSuccess) return 0;
  std::snprintf(error, error_size, "%s", cudaGetErrorString(status));
  return 1;
}
}
