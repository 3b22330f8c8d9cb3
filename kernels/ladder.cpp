// The list of rungs. To add a rung: write kernels/rung<number>_<id>.cu, which defines `const Rung& <Name>Rung()`
// (rung1_minimal.cu is the shortest), and add its row to FA_PROFILE_LADDER. CMake, the commands and the gate's cases
// pick it up from there. For the documents, the tests and the alert, see "a rung" in CONTRIBUTING.md.
#include <cuda_runtime_api.h>

#include <initializer_list>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "attention_kernel.h"
#include "cuda_result.h"
#include "fa_profile/kernels.h"
#include "rung.h"

namespace fa_profile {

// clang-format off: a row each
#define FA_PROFILE_LADDER(ROW) \
  ROW(MinimalRung)             \
  ROW(ScalarRung)              \
  ROW(TiledRung)               \
  ROW(CublasRung)              \
  ROW(SerialSoftmaxRung)       \
  ROW(WmmaRung)                \
  ROW(MmaRung)                 \
  ROW(HopperRung)
// Variants of rung 3, in its file. They are not on the ladder.
#define FA_PROFILE_TILED_VARIANTS(ROW) \
  ROW(TiledNoPadRung)                  \
  ROW(TiledNoAsyncRung)                \
  ROW(TiledScalarLoadRung)
// clang-format on

#define FA_PROFILE_DECLARE(name) const Rung& name();
#define FA_PROFILE_ENTRY(name) &name(),
FA_PROFILE_LADDER(FA_PROFILE_DECLARE)
FA_PROFILE_TILED_VARIANTS(FA_PROFILE_DECLARE)

namespace {

std::vector<std::string> Words(const char* text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Empty if the current GPU has the major compute capability, or if there is no GPU.
std::string WhyNotOnThisGpu(int needed_major) {
  int device = 0;
  int major = 0;
  int minor = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) {
    (void)cudaGetLastError();
    return {};
  }
  if (major == needed_major) return {};
  return "it needs a GPU of compute capability " + std::to_string(needed_major) + ".0; this one has " +
         std::to_string(major) + "." + std::to_string(minor);
}

std::string WhyNot(int needed_major, const AttentionShape& shape) {
  if (shape.head_dim != 64 && shape.head_dim != 128) {
    return "head_dim must be 64 or 128, not " + std::to_string(shape.head_dim);
  }
  return needed_major == 0 ? std::string() : WhyNotOnThisGpu(needed_major);
}

std::unique_ptr<const Kernel> FromRung(const Rung& rung) {
  KernelSpec spec{
      .id = rung.id,
      .origin = "ladder",
      .rung = rung.number,
      .teaches = rung.teaches,
      .phases = Words(rung.phases),
      .steps = {},
      .why_not = [needed =
                      rung.compute_capability_major](const AttentionShape& shape) { return WhyNot(needed, shape); },
      .workspace_bytes = [bytes = rung.workspace_bytes](
                             const AttentionShape& shape) { return bytes == nullptr ? 0 : bytes(ParamsOf(shape)); }};
  for (const RungPart& part : rung.parts) {
    if (part.launch == nullptr) break;
    const std::string what = spec.id == part.name ? spec.id : spec.id + "/" + part.name;
    spec.steps.push_back({part.name, [launch = part.launch, what](const AttentionParams& params, cudaStream_t stream) {
                            CheckCudaResult(launch(params, stream), what.c_str());
                          }});
  }
  return std::make_unique<AttentionKernel>(std::move(spec));
}

// Owns kernels and lends them out.
struct KernelList {
  KernelList(std::initializer_list<const Rung*> rungs) {
    for (const Rung* const rung : rungs) {
      owned.push_back(FromRung(*rung));
      lent.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<const Kernel>> owned;
  std::vector<const Kernel*> lent;
};

}  // namespace

const std::vector<const Kernel*>& Ladder() {
  static const KernelList rungs{FA_PROFILE_LADDER(FA_PROFILE_ENTRY)};
  return rungs.lent;
}

const std::vector<const Kernel*>& TiledVariants() {
  static const KernelList variants{FA_PROFILE_TILED_VARIANTS(FA_PROFILE_ENTRY)};
  return variants.lent;
}

std::vector<SuiteShape> CorrectnessSuite() {
  constexpr int kMissionDraws = 100;
  constexpr int kManyDraws = 10;
  constexpr int kFewDraws = 3;
  // No mask ever hides a whole row, so tiling goes wrong at the shortest sequences and those one off a tile.
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
      // More heads than fit in a grid's second dimension.
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
