// Rung 8: chooses the configuration for a shape. The kernels are in hopper/forward.cuh (many rows) and
// hopper/split_keys.cuh (few, short heads).
#include <cuda_runtime_api.h>

#include "rung.h"

#ifdef FA_PROFILE_HAS_SM90A
#include <cstdint>

#include "hopper/configurations.cuh"
#include "hopper/forward.cuh"
#include "hopper/schedule.h"
#include "hopper/split_keys.cuh"
#include "hopper/tensor_map.h"
#endif

namespace fa_profile {
namespace {

#ifdef FA_PROFILE_HAS_SM90A
using namespace hopper;  // NOLINT(google-build-using-namespace): this file is their rung

/// Two warpgroups hide less of each other's softmax than three: 28 % of the time, measured at 1,16,16384,64.
bool PrefersRows128(const AttentionParams& params, int sms) {
  const int heads = params.batch * params.num_heads;
  return WaveRows(heads, params.seqlen, Rows128::kRows, sms) * 128 <
         WaveRows(heads, params.seqlen, Chosen64::kRows, sms) * 100;
}

/// Whether all blocks of the kernel that splits the keys run at once on `sms` SMs.
template <class T>
bool FitsSplitKeys(const AttentionParams& params, int sms) {
  const std::int64_t clusters = Blocks(params.seqlen, kWarpgroupRows * T::kQueries);
  return params.seqlen <= T::kMaxSeqlen && clusters * T::kCluster * params.batch * params.num_heads <= sms;
}

cudaError_t LaunchHopper(const AttentionParams& params, cudaStream_t stream) {
  int sms = 0;
  if (const cudaError_t status = CountSms(sms); status != cudaSuccess) return status;
  if (params.head_dim == 128) {
    return FitsSplitKeys<SplitKeys128>(params, sms) ? LaunchSplit<SplitKeys128>(params, stream)
                                                    : LaunchForward<Chosen128>(params, stream);
  }
  if (FitsSplitKeys<SplitKeys64>(params, sms)) return LaunchSplit<SplitKeys64>(params, stream);
  return PrefersRows128(params, sms) ? LaunchForward<Rows128>(params, stream) : LaunchForward<Chosen64>(params, stream);
}
#else
cudaError_t LaunchHopper(const AttentionParams&, cudaStream_t) { return cudaErrorNoKernelImageForDevice; }
#endif

}  // namespace

const Rung& HopperRung() {
  static constexpr Rung rung{
      .number = 8,
      .id = "hopper",
      .teaches = "copies and products that run beside the softmax: TMA, warpgroup products, warps that specialise",
      .phases = "load_q load_kv sync qk softmax rescale pv epilogue",
      .parts = {{"hopper", LaunchHopper}},
      .workspace_bytes = nullptr,
      .compute_capability_major = 9};
  return rung;
}

}  // namespace fa_profile
