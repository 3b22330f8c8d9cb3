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

template <auto original>
Redirection Guard() {
  return {reinterpret_cast<void*>(original), reinterpret_cast<void*>(&Guarded<original>::Call)};
}

}  // namespace

void GuardCupti(MayUseCupti may_use) noexcept {
  the_guard = may_use;
  const Redirection redirections[] = {
      // What takes the subscriber or the hardware's counters.
      Guard<&cuptiSubscribe>(), Guard<&cuptiSubscribe_v2>(), Guard<&cuptiPCSamplingEnable>(),
      Guard<&cuptiRangeProfilerEnable>(), Guard<&cuptiProfilerBeginSession>(), Guard<&cuptiPmSamplingEnable>(),
      Guard<&cuptiSassMetricsEnable>(),
      // What takes the activity buffers, and what a profiler goes on to call that was refused: CUPTI may keep it
      // waiting.
      Guard<&cuptiActivityRegisterCallbacks>(), Guard<&cuptiActivityRegisterTimestampCallback>(),
      Guard<&cuptiActivityEnable>(), Guard<&cuptiActivityDisable>(), Guard<&cuptiActivityFlushAll>(),
      Guard<&cuptiActivityPushExternalCorrelationId>(), Guard<&cuptiActivityPopExternalCorrelationId>()};
  (void)RedirectFunctions(redirections);
}

std::vector<std::string> OtherCuptis() {
  struct Found {
    std::filesystem::path ours;
    std::vector<std::string> others;
  } found;
  Dl_info info{};
  // GuardCupti() may have redirected our own pointers, but not this function.
  if (dladdr(reinterpret_cast<const void*>(&cuptiGetVersion), &info) != 0 && info.dli_fname != nullptr) {
    found.ours = info.dli_fname;
  }
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
