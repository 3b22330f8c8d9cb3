#include "attention_kernel.h"

#include "cuda_result.h"
#include "fa_profile/error.h"

namespace fa_profile {

FittedShape AttentionKernel::Fit(const std::optional<Shape>& asked) const {
  if (!asked || asked->attention() != nullptr) return {asked.value_or(Shape()), {}};
  return {{}, "it takes --shape BATCH,HEADS,SEQLEN,HEAD_DIM", true};
}

std::string AttentionKernel::WhyNot(const Shape& shape) const {
  const AttentionShape* const attention = shape.attention();
  return attention != nullptr ? spec_.why_not(*attention) : Fit(shape).why_not;
}

std::unique_ptr<Workload> AttentionKernel::MakeWorkload(const Shape& shape, std::uint64_t seed) const {
  if (const std::string why_not = WhyNot(shape); !why_not.empty()) {
    throw Error(spec_.id + " does not take the shape " + shape.ToString(), why_not);
  }
  auto workload = std::make_unique<AttentionWorkload>(spec_.id, spec_.origin, *shape.attention(),
                                                      spec_.workspace_bytes(*shape.attention()), spec_.steps);
  workload->Fill(seed, nullptr);
  // Reading scratch that no kernel wrote then gives NaN. compute-sanitizer's initcheck cannot check it any more, which
  // is right: it does not see what cuBLAS's Hopper kernels store, and would call all of S uninitialised.
  workload->Poison(nullptr);
  CheckCudaResult(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return workload;
}

}  // namespace fa_profile
