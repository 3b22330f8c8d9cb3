// Honest: gathers eight short rows, in about 2 us: nearly all of the time is the launch.
#include "common.cuh"

LAUNCH {
  LaunchGather(GatherOf(call), Stream(call));
  return Done();
}
static const fa_profile_parameter kParameters[] = {{"count", 8}, {"dim", 64}};
GATHER_TENSORS()
EXPORT_WITH("tiny_call", kParameters, .reference = GatherReference, .work = GatherWork)
