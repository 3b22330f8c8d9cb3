#pragma once

#include <nvtx3/nvtx3.hpp>

namespace fa_profile {

/// The domain of the NVTX ranges around launches of our own kernels.
struct NvtxDomain {
  static constexpr const char* name = "fa_profile";  // NOLINT(readability-identifier-naming): NVTX asks for it
};

/// A range from here to the end of the block.
using NvtxScope = nvtx3::scoped_range_in<NvtxDomain>;

}  // namespace fa_profile
