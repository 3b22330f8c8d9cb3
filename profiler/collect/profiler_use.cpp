#include "fa_profile/profiler_use.h"

#include <cupti_profiler_target.h>

#include <mutex>

#include "check_cupti.h"

namespace fa_profile::collect {
namespace {

std::mutex uses_mutex;
int uses = 0;

}  // namespace

ProfilerUse::ProfilerUse() { Keep(); }

void ProfilerUse::Keep() {
  const std::lock_guard lock(uses_mutex);
  if (uses == 0) {
    CallCupti(cuptiProfilerInitialize, "cuptiProfilerInitialize",
              {.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE});
  }
  ++uses;
}

ProfilerUse::~ProfilerUse() {
  const std::lock_guard lock(uses_mutex);
  if (--uses > 0) return;
  CUpti_Profiler_DeInitialize_Params params = {};
  params.structSize = CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE;
  (void)cuptiProfilerDeInitialize(&params);
}

}  // namespace fa_profile::collect
