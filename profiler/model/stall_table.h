#pragma once

#include <array>

#include "fa_profile/stall_reasons.h"

namespace fa_profile {

inline constexpr std::array kStallGroups = {
    StallGroup{"memory", "global memory", "waiting for global or local memory, or its queue"},
    StallGroup{"shared_memory", "shared memory, MUFU",
               "waiting for shared memory or special functions, or their queue"},
    StallGroup{"barrier", "synchronisation", "waiting for other warps"},
    StallGroup{"tensor", "warpgroup MMA", "waiting for warpgroup matrix instructions (Hopper)"},
    StallGroup{"math_pipe", "busy pipe", "the pipe that the next instruction needs, or the dispatcher, was busy"},
    StallGroup{"dependency", "dependent instruction", "a fixed latency between dependent instructions"},
    StallGroup{"fetch", "instruction supply", "waiting for an instruction, a constant or a branch"},
    StallGroup{"ready", "ready, another warp issued", "not a loss: the scheduler had more than one warp"},
    StallGroup{"other", "other", "any other reason"},
    StallGroup{"issuing", "issuing", "issued an instruction"},
};

using enum StallCounters;

// In report order; rows with counters come first.
inline constexpr std::array kStallReasons = {
    StallReason{"long_scoreboard", "memory", kNamedAndTriage,
                "Waiting for a value from global, local or texture memory, or for an asynchronous copy."},
    StallReason{"short_scoreboard", "shared_memory", kNamedAndTriage,
                "Waiting for a value from shared memory or a special function (ex2, rcp)."},
    StallReason{"barrier", "barrier", kNamed,
                "Waiting for other warps of the block at a barrier; PC samples at WARPGROUP.DEPBAR count as gmma."},
    StallReason{"mio_throttle", "shared_memory", kNamed,
                "Waiting for room in the queue to shared memory and special functions."},
    StallReason{"lg_throttle", "memory", kNamed, "Waiting for room in the queue to global and local memory."},
    StallReason{"tex_throttle", "memory", kNamed, "Waiting for room in the queue to the texture pipe."},
    StallReason{"wait", "dependency", kNamed, "Waiting the fixed latency of the instruction before."},
    StallReason{"math_pipe_throttle", "math_pipe", kNamed,
                "Waiting for a pipe (FMA, ALU, tensor) that is taking other instructions."},
    StallReason{"gmma", "tensor", kNamed, "Waiting for warpgroup matrix instructions (Hopper)."},
    StallReason{"not_selected", "ready", kNamed, "Ready, but the scheduler issued another warp."},
    StallReason{"no_instruction", "fetch", kNamed,
                "Waiting for the next instruction: a fetch that missed its cache, or the target of a jump."},
    StallReason{"imc_miss", "fetch", kNamed, "Waiting for a constant that missed its cache."},
    StallReason{"branch_resolving", "fetch", kNamed, "Waiting for the target of a branch."},
    StallReason{"dispatch_stall", "math_pipe", kNamed, "Chosen, but the dispatcher held the instruction back."},
    StallReason{"drain", "memory", kNamed, "Ended, and waiting for its stores."},
    StallReason{"membar", "memory", kNamed, "Waiting at a memory fence for its own accesses."},
    StallReason{"sleeping", "barrier", kNamed, "Asleep (nanosleep), or has yielded."},
    StallReason{"misc", "other", kNamed, "Any other reason."},
    StallReason{"no_instructions", "fetch", kNone, "PC samples' name of no_instruction."},
    StallReason{"warpgroup_arrive", "tensor", kNone, "At WARPGROUP.ARRIVE or WARPGROUP.WAIT (Hopper)."},
    StallReason{"selected", "issuing", kNone, "Issues an instruction: work, not waiting."},
};

}  // namespace fa_profile
