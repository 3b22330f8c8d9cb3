#include "run_setup.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "fa_profile/disassembly.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/section_folder.h"
#include "fa_profile/utc_time.h"
#include "fa_profile/version.h"

namespace fa_profile {

MetricSet WantedMetrics(const RunOptions& options, const Device& device) {
  if (!options.metrics.empty()) return {"custom", "given with --metrics", options.metrics, {}};
  if (!options.section_folder.empty()) {
    return ReadSectionFolder(options.section_folder, options.metric_set,
                             10 * device.compute_capability_major + device.compute_capability_minor);
  }
  MetricSet set = BuiltinMetricSet(options.metric_set, device.chip);
  if (set.name == "full") {
    // What our own catalogue reads beyond Nsight Compute's set: twelve counters on GH100, which add no pass. Names of
    // other chips are left out, and so are the `TriageCompute` alternatives, which are for the single pass of set
    // phases and would add one.
    const std::set<std::string> known = CounterNames(device.chip);
    for (const std::string& input : CatalogueInputs()) {
      if (input.find("TriageCompute") == std::string::npos && known.contains(input.substr(0, input.find('.')))) {
        set.metrics.push_back(input);
      }
    }
    std::ranges::sort(set.metrics);
    const auto repeated = std::ranges::unique(set.metrics);
    set.metrics.erase(repeated.begin(), repeated.end());
  }
  return set;
}

Session NewSession(const RunOptions& options, const std::string& metric_set) {
  Session session;
  session.tool_version = Version();
  session.tool_commit = Commit();
  session.created_at = UtcNow("%Y-%m-%dT%H:%M:%SZ");
  session.command_line = options.command_line;
  session.metric_set = metric_set;
  session.replay_mode = options.kernel_replay ? "kernel" : "user";
  session.cache_policy = options.flush_cache ? "flush" : "warm";
  session.warmup_launches = options.warmup_launches;
  session.timed_launches = options.timed_launches;
  session.draws = options.draws;
  return session;
}

std::string OutputPath(const RunOptions& options) {
  return options.output.empty() ? "fa-profile-" + UtcNow("%Y%m%d-%H%M%S") + ".fap" : options.output;
}

std::optional<Disassembler> FindDisassembler() {
  const std::optional<std::string> nvdisasm = FindNvdisasm();
  if (!nvdisasm) return std::nullopt;
  return [nvdisasm = *nvdisasm](const Cubin& cubin, const std::vector<std::string>& functions) {
    return Disassemble(cubin.bytes, cubin.crc, nvdisasm, functions);
  };
}

std::string CacheDirectory() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/fa-profile";
  }
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::string(home) + "/.cache/fa-profile";
  }
  return {};
}

}  // namespace fa_profile
