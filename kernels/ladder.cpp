#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attention_kernel.h"
#include "cuda_result.h"
#include "fa_profile/kernels.h"
#include "rung.h"
#include "tiled_variants.h"

namespace fa_profile {
namespace {

std::unique_ptr<const Kernel> FromRung(const Rung& rung) {
  KernelSpec spec{.id = rung.id,
                  .origin = "ladder",
                  .rung = rung.number,
                  .teaches = rung.teaches,
                  .phases = rung.phases,
                  .steps = {},
                  .why_not = rung.why_not,
                  .workspace_bytes = rung.workspace_bytes};
  for (const RungPart& part : rung.parts) {
    const std::string what = rung.parts.size() == 1 ? rung.id : rung.id + "/" + part.name;
    spec.steps.push_back({part.name, [launch = part.launch, what](const AttentionParams& params, cudaStream_t stream) {
                            CheckCudaResult(launch(params, stream), what.c_str());
                          }});
  }
  return std::make_unique<AttentionKernel>(std::move(spec));
}

// Owns kernels and lends them out.
struct KernelList {
  explicit KernelList(std::initializer_list<const Rung*> rungs) {
    for (const Rung* const rung : rungs) {
      owned.push_back(FromRung(*rung));
      lent.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<const Kernel>> owned;
  std::vector<const Kernel*> lent;
};

}  // namespace

std::string WhyNotCommon(const AttentionShape& shape) {
  if (shape.head_dim == 64 || shape.head_dim == 128) return {};
  return "head_dim must be 64 or 128, not " + std::to_string(shape.head_dim);
}

const std::vector<const Kernel*>& Ladder() {
  // In order.
  static const KernelList rungs{&MinimalRung(),       &ScalarRung(), &TiledRung(), &CublasRung(),
                                &SerialSoftmaxRung(), &WmmaRung(),   &MmaRung()};
  return rungs.lent;
}

const std::vector<const Kernel*>& TiledVariants() {
  static const KernelList variants{&TiledNoPadRung(), &TiledNoAsyncRung(), &TiledScalarLoadRung()};
  return variants.lent;
}

std::vector<SuiteShape> CorrectnessSuite() {
  constexpr int kMissionDraws = 100;
  constexpr int kManyDraws = 10;
  constexpr int kFewDraws = 3;
  // No mask ever hides a whole row, so the shortest sequences and those one off a tile are where tiling goes wrong.
  const std::vector<SuiteShape> shapes = {
      {{1, 8, 512, 64}, kMissionDraws},
      {{1, 8, 512, 128}, kManyDraws},
      {{1, 1, 1, 64}, kManyDraws},
      {{3, 2, 1, 128}, kFewDraws},
      {{1, 1, 2, 64}, kFewDraws},
      {{1, 3, 17, 64}, kManyDraws},
      {{2, 2, 17, 128}, kFewDraws},
      {{1, 2, 31, 64}, kFewDraws},
      {{1, 2, 63, 128}, kFewDraws},
      {{1, 2, 64, 128}, kFewDraws},
      {{5, 1, 65, 64}, kFewDraws},
      {{1, 5, 65, 128}, kFewDraws},
      {{2, 3, 127, 64}, kFewDraws},
      {{2, 3, 127, 128}, kFewDraws},
      {{1, 4, 129, 64}, kFewDraws},
      {{3, 3, 333, 64}, kFewDraws},
      {{2, 2, 333, 128}, kFewDraws},
      {{1, 2, 1000, 64}, kFewDraws},
      {{1, 1, 2049, 64}, kFewDraws},
      {{1, 1, 2049, 128}, kFewDraws},
      {{16, 16, 100, 64}, kFewDraws},
      // More heads than a grid's second dimension holds.
      {{8200, 8, 3, 64}, 1},
  };
  std::vector<SuiteShape> suite;
  for (const bool causal : {false, true}) {
    for (SuiteShape entry : shapes) {
      entry.shape.causal = causal;
      suite.push_back(entry);
    }
  }
  return suite;
}

}  // namespace fa_profile
