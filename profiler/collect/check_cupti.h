#pragma once

#include <cuda.h>
#include <cupti_result.h>

#include <source_location>

namespace fa_profile::collect {

/// The one place where a CUPTI result becomes an Error. `call` is the API's name ("cuptiRangeProfilerEnable"); the hint
/// gives the cure for the results that users run into.
void CheckCupti(CUptiResult result, const char* call, std::source_location where = std::source_location::current());

/// Loads libnvperf_host from CUPTI's folder; CUPTI itself searches only the system's folders. Once; without it CUPTI's
/// host functions fail as not initialised.
void LoadNvperf() noexcept;

/// Calls a CUPTI function and returns its parameters as CUPTI left them. Unnamed parameters are 0: CallCupti(cuptiX,
/// "cuptiX", {.structSize = CUpti_X_Params_STRUCT_SIZE, .ctx = context}).
template <typename Params>
Params CallCupti(CUptiResult (*function)(Params*), const char* call, Params params,
                 std::source_location where = std::source_location::current()) {
  LoadNvperf();
  CheckCupti(function(&params), call, where);
  return params;
}

}  // namespace fa_profile::collect
