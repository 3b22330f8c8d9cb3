#pragma once

#include <cstdint>

#include "fa_profile/nvtx_ranges.h"

/// NVTX's calls of a program, taken by the library that NVTX_INJECTION64_PATH names.
namespace fa_profile::collect {

/// NVTX's function that hands out tables, by id.
using NvtxTables = const void* (*)(std::uint32_t);

/// Takes the ranges of one NVTX in the process: each of the program's libraries may have one. False: this NVTX is too
/// old.
bool TakeNvtx(NvtxTables tables) noexcept;

/// Takes the ranges of NVTX's extension for data of ranges. Each of the program's libraries has a separate table.
/// `module`: an nvtxExtModuleInfo_t. False: it is another extension's.
bool TakeNvtxExtension(void* module) noexcept;

/// From here on a child of fork() records no ranges. By whichever library function is called first.
void PrepareNvtxForFork() noexcept;

/// The ranges of this process. Never destroyed, and there before CUDA is: a program may use NVTX first. In a child of
/// fork() there are none.
NvtxRanges& ProcessNvtxRanges();

/// The range that the calling thread is in; 0: none.
NvtxRanges::Node CurrentNvtxRange() noexcept;

}  // namespace fa_profile::collect
