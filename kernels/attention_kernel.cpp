#include "attention_kernel.h"

#include "cuda_result.h"
#include "fa_profile/error.h"

namespace fa_profile {

std::unique_ptr<Workload> AttentionKernel::MakeWorkload(const AttentionShape& shape, std::uint64_t seed) const {
  if (const std::string why_not = WhyNot(shape); !why_not.empty()) {
    throw Error(spec_.id + " does not take the shape " + shape.ToString(), why_not);
  }
  auto workload =
      std::make_unique<AttentionWorkload>(spec_.id, spec_.origin, shape, spec_.workspace_bytes(shape), spec_.steps);
  workload->Fill(seed, nullptr);
  // Whoever reads scratch that no kernel wrote computes NaN. compute-sanitizer's initcheck then has nothing to say
  // about it, which is right: it does not see what cuBLAS's Hopper kernels store, and would call all of S
  // uninitialised.
  workload->Poison(nullptr);
  CheckCudaResult(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return workload;
}

}  // namespace fa_profile
