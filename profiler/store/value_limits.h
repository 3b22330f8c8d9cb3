#pragma once

#include <cstddef>
#include <cstdint>

namespace fa_profile::store {

/// Limits for one value; docs/recording.md states them. Rows have no limit but the size of the file.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxNameBytes = 512;  ///< for a metric or a stall reason
inline constexpr std::size_t kMaxImageBytes = std::size_t{512} << 20;
inline constexpr std::size_t kMaxCubinBytes = std::size_t{256} << 20;
/// Memory that all cubins, functions, samplings and countings together may take, as counted by CodeBytes().
inline constexpr std::int64_t kMaxCodeBytes = std::int64_t{1} << 30;

/// Instructions in a run in `pc_sample` and `sass_count` are this many bytes apart: their size since Volta. Others are
/// runs of one.
inline constexpr std::uint32_t kRunStride = 16;
/// Samples in one row of `pc_sample`: short enough for a page to hold several.
inline constexpr std::size_t kMaxRunSamples = 128;
/// Instructions in one row of `sass_count`: limits what a row can claim.
inline constexpr std::int64_t kMaxRunInstructions = 1024;

}  // namespace fa_profile::store
