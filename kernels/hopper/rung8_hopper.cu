// Rung 8's configurations for many rows. It is not on the ladder yet.
#include <iterator>

#include "hopper/forward.cuh"
#include "hopper/rung8_hopper.h"
#include "hopper/variants.cuh"

namespace fa_profile::hopper {
namespace {

/// Two warpgroups hide less of each other's softmax than three: 19 % of the time, measured at 1,16,16384,64.
bool PrefersRows128(const AttentionParams& params, int sms) {
  const int heads = params.batch * params.num_heads;
  return WaveRows(heads, params.seqlen, Rows128::kRows, sms) * 119 <
         WaveRows(heads, params.seqlen, Persistent64::kRows, sms) * 100;
}

}  // namespace

cudaError_t LaunchHopper(const AttentionParams& params, cudaStream_t stream) {
  int sms = 0;
  if (const cudaError_t status = CountSms(sms); status != cudaSuccess) return status;
  if (FitsSplitKeys(params, sms)) return LaunchSplitKeys(params, stream);
  if (params.head_dim == 128) return LaunchForward<Persistent128>(params, stream);
  return PrefersRows128(params, sms) ? LaunchForward<Rows128>(params, stream)
                                     : LaunchForward<Persistent64>(params, stream);
}

Variants ChosenVariants() {
  static constexpr Variant kVariants[] = {{"hopper_64", "the choice for the shape", 64, false, 0, LaunchHopper},
                                          {"hopper_128", "the choice for the shape", 128, false, 0, LaunchHopper}};
  return {kVariants, kVariants + std::size(kVariants)};
}

Variants ForwardVariants() {
  static constexpr Variant kVariants[] = {
      ForwardVariant<Plain64>("64_plain", "one product after the other"),
      ForwardVariant<Overlap64>("64_overlap", "next QK before this PV"),
      ForwardVariant<Lazy64>("64_lazy", "lazy rescale"),
      ForwardVariant<PingPong64>("64_ping_pong", "warpgroups in turn"),
      ForwardVariant<Store64>("64_store", "O by TMA"),
      ForwardVariant<Persistent64>("64_persistent", "as many blocks as SMs"),
      ForwardVariant<Continued64>("64_continued", "next item's QK before the epilogue"),
      ForwardVariant<Polynomial64>("64_poly_3", "3 of 16 exponentials on the FMA pipe"),
      ForwardVariant<Plain128>("128_plain", "one product after the other"),
      ForwardVariant<Overlap128>("128_overlap", "next QK before this PV"),
      ForwardVariant<Lazy128>("128_lazy", "lazy rescale"),
      ForwardVariant<PingPong128>("128_ping_pong", "warpgroups in turn"),
      ForwardVariant<Store128>("128_store", "O by TMA"),
      ForwardVariant<Persistent128>("128_persistent", "as many blocks as SMs"),
      ForwardVariant<Continued128>("128_continued", "next item's QK before the epilogue"),
  };
  return {kVariants, kVariants + std::size(kVariants)};
}

StuckReport TakeForwardStuckWait() { return TakeStuckWait(); }

}  // namespace fa_profile::hopper
