#pragma once

#include <cuda.h>
#include <cupti_result.h>

#include <source_location>

namespace fa_profile {

/// The one place where a CUPTI result becomes an Error. `call` is the API's name ("cuptiRangeProfilerEnable"); the
/// hint names the cure for the results that users meet.
void CheckCupti(CUptiResult result, const char* call, std::source_location where = std::source_location::current());

}  // namespace fa_profile
