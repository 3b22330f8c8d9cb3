#pragma once

#include <cstdint>

#include "fa_profile/nvtx_ranges.h"

/// A program's NVTX calls, received by the library that NVTX_INJECTION64_PATH names.
namespace fa_profile::collect {

/// The NVTX function that hands out tables, by id.
using NvtxTables = const void* (*)(std::uint32_t);

/// Receives the ranges of one copy of NVTX in the process: each of the program's libraries may have one. False: this
/// NVTX is too old.
bool TakeNvtx(NvtxTables tables) noexcept;

/// Receives the ranges of NVTX's extension for ranges with data. Each of the program's libraries has its own table.
/// `module`: an nvtxExtModuleInfo_t. False: it belongs to another extension.
bool TakeNvtxExtension(void* module) noexcept;

/// From here on a child of fork() records no ranges. To be called by whichever library function runs first.
void PrepareNvtxForFork() noexcept;

/// The ranges of this process. Never destroyed, and available before CUDA: a program may use NVTX first. In a child of
/// fork() there are none.
NvtxRanges& ProcessNvtxRanges();

/// The range that the calling thread is in; 0: none.
NvtxRanges::Node CurrentNvtxRange() noexcept;

}  // namespace fa_profile::collect
