#include "fa_profile/other_profiler.h"

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_sass_metrics.h>
#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "cupti_library.h"
#include "function_redirect.h"

namespace fa_profile::collect {
namespace {

MayUseCupti the_guard = nullptr;

template <auto original>
struct Guarded;
template <typename... Arguments, CUptiResult (*original)(Arguments...)>
struct Guarded<original> {
  static __attribute__((noinline)) CUptiResult Call(Arguments... arguments) noexcept {
    if (!the_guard(__builtin_return_address(0))) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    return original(arguments...);
  }
};

// `name` belongs to `original`, which is our path to the function, not the function itself.
template <auto original>
Redirection Guard(const char* name) {
  return {CuptiFunction(name), reinterpret_cast<void*>(&Guarded<original>::Call)};
}
#define FA_PROFILE_GUARD(function) Guard<&function>(#function)

}  // namespace

void GuardCupti(MayUseCupti may_use) noexcept {
  if (!CuptiIsThere()) return;
  the_guard = may_use;
  const Redirection redirections[] = {
      // Functions that take the subscriber or the hardware's counters.
      FA_PROFILE_GUARD(cuptiSubscribe), FA_PROFILE_GUARD(cuptiSubscribe_v2), FA_PROFILE_GUARD(cuptiPCSamplingEnable),
      FA_PROFILE_GUARD(cuptiRangeProfilerEnable), FA_PROFILE_GUARD(cuptiProfilerBeginSession),
      FA_PROFILE_GUARD(cuptiPmSamplingEnable), FA_PROFILE_GUARD(cuptiSassMetricsEnable),
      // Functions that take the activity buffers, and those that a refused profiler goes on to call: CUPTI may block
      // it.
      FA_PROFILE_GUARD(cuptiActivityRegisterCallbacks), FA_PROFILE_GUARD(cuptiActivityRegisterTimestampCallback),
      FA_PROFILE_GUARD(cuptiActivityEnable), FA_PROFILE_GUARD(cuptiActivityDisable),
      FA_PROFILE_GUARD(cuptiActivityFlushAll), FA_PROFILE_GUARD(cuptiActivityPushExternalCorrelationId),
      FA_PROFILE_GUARD(cuptiActivityPopExternalCorrelationId)};
  (void)RedirectFunctions(redirections);
}

std::vector<std::string> OtherCuptis() {
  struct Found {
    std::filesystem::path ours;
    std::vector<std::string> others;
  } found;
  found.ours = CuptiPath();
  (void)dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* to) {
        auto& all = *static_cast<Found*>(to);
        const std::filesystem::path path = library->dlpi_name;
        std::error_code error;
        if (path.filename().string().starts_with("libcupti.so") &&
            !std::filesystem::equivalent(path, all.ours, error)) {
          all.others.push_back(path.string());
        }
        return 0;
      },
      &found);
  return std::move(found.others);
}

std::string LibraryAt(const void* address) {
  Dl_info info{};
  const std::string path = dladdr(address, &info) == 0 || info.dli_fname == nullptr ? "" : info.dli_fname;
  return path.empty() ? "the program" : path.substr(path.rfind('/') + 1);
}

}  // namespace fa_profile::collect
