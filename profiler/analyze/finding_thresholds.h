#pragma once

namespace fa_profile::analyze {

// The thresholds of the findings. Ratios are 0..1. The findings' texts name them (finding_texts.cpp).

inline constexpr double kSerialThreads = 4.0;    ///< of a warp's 32
inline constexpr double kSerialTime = 0.20;      ///< a phase with less hardly matters, whatever its threads do
inline constexpr double kTensorIdle = 0.10;      ///< tensor pipe active; the ladder's best kernel has 0.19 and more
inline constexpr double kMostTime = 0.50;        ///< what "most of the time" means
inline constexpr double kTensorWork = 1e8;       ///< FLOPs from which a shape is worth the tensor cores
inline constexpr double kConflicts = 0.10;       ///< share of a phase's wavefronts
inline constexpr double kSmallPhase = 0.05;      ///< a phase with less of the time gets no memory findings
inline constexpr double kCoalescing = 0.50;      ///< ideal sectors over sectors
inline constexpr double kSectorsPerLoad = 20.0;  ///< a warp's 16-byte loads need 16, its scattered 4-byte loads 32
inline constexpr double kLocalTraffic = 0.01;    ///< share of local sectors in local and global ones
inline constexpr double kFewWarps = 0.25;        ///< achieved occupancy
inline constexpr double kLatencyStalls = 0.40;   ///< share of warp-cycles
inline constexpr double kIdleIssueSlots = 0.70;  ///< share of issue slots
inline constexpr double kBusyPipe = 0.60;        ///< from Nsight Compute's rule for a kernel bound by a pipe
inline constexpr double kSmallGrid = 0.50;       ///< waves
inline constexpr double kExponentials = 0.60;    ///< share of the special-function units' peak
inline constexpr double kReducedClock = 0.10;    ///< below the highest SM clock
inline constexpr double kGaps = 0.10;            ///< share of the call
inline constexpr double kSoftmaxBound = 0.40;    ///< share of the time, and more than both products
inline constexpr double kComputedAgain = 1.5;    ///< exponentials per score; rescaling alone gives 1.1
inline constexpr double kLittleOverlap = 0.20;   ///< share of the cycles from a product's issue to its result
inline constexpr double kSetup = 0.20;           ///< share of the time
inline constexpr double kCopyWait = 0.50;        ///< share of a phase's samples
inline constexpr double kLateCopy = 0.10;        ///< share of all warps' time, at one place

// Used by lint.
inline constexpr double kLowTheoreticalOccupancy = 0.25;
inline constexpr int kRowLoopDepth = 2;  ///< a loop inside the loop over key blocks

}  // namespace fa_profile::analyze
