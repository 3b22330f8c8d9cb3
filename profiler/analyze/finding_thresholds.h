#pragma once

namespace fa_profile::analyze {

// The thresholds of the findings. Ratios are 0..1. The findings' texts name them (finding_texts.cpp).

inline constexpr double kSerialThreads = 4.0;    ///< of 32 a warp has
inline constexpr double kSerialTime = 0.20;      ///< a phase with less hurts little, whatever its threads do
inline constexpr double kTensorIdle = 0.10;      ///< tensor pipe active; the ladder's best kernel has 0.19 and more
inline constexpr double kMostTime = 0.50;        ///< what "most of the time" means
inline constexpr double kTensorWork = 1e8;       ///< FLOPs of a shape that are worth the tensor cores
inline constexpr double kConflicts = 0.10;       ///< of a phase's wavefronts
inline constexpr double kSmallPhase = 0.05;      ///< a phase with less of the time gets no finding about its memory
inline constexpr double kCoalescing = 0.50;      ///< ideal sectors over sectors
inline constexpr double kSectorsPerLoad = 20.0;  ///< a warp's 16-byte loads need 16, its scattered 4-byte loads 32
inline constexpr double kLocalTraffic = 0.01;    ///< local sectors of local and global ones
inline constexpr double kFewWarps = 0.25;        ///< achieved occupancy
inline constexpr double kLatencyStalls = 0.40;   ///< of warp-cycles
inline constexpr double kIdleIssueSlots = 0.70;  ///< idle, that is
inline constexpr double kBusyPipe = 0.60;        ///< Nsight Compute's rule of a kernel that is bound by a pipe
inline constexpr double kSmallGrid = 0.50;       ///< waves
inline constexpr double kExponentials = 0.60;    ///< of the special-function units' peak
inline constexpr double kReducedClock = 0.10;    ///< below the highest SM clock
inline constexpr double kGaps = 0.10;            ///< of the call
inline constexpr double kSoftmaxBound = 0.40;    ///< of the time, and more than both products
inline constexpr double kComputedAgain = 1.5;    ///< exponentials for each score; rescaling alone makes 1.1
inline constexpr double kLittleOverlap = 0.20;   ///< of the cycles from a product's issue to its result
inline constexpr double kSetup = 0.20;           ///< of the time
inline constexpr double kCopyWait = 0.50;        ///< of a phase's samples
inline constexpr double kLateCopy = 0.10;        ///< of the time of all warps, at one place

// Lint's.
inline constexpr double kLowTheoreticalOccupancy = 0.25;
inline constexpr int kRowLoopDepth = 2;  ///< a loop inside the loop over key blocks

}  // namespace fa_profile::analyze
