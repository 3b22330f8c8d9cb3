#include "fa_profile/load_profile.h"

#include "fa_profile/analyze.h"
#include "fa_profile/notice.h"
#include "fa_profile/phase_map_file.h"
#include "fa_profile/recording_file.h"

namespace fa_profile::load {

std::pair<Recording, Profile> LoadProfile(const std::string& path, const std::optional<PhaseMap>& map, bool cubins,
                                          PhaseSource source) {
  store::LoadOptions options;
  options.cubins = cubins;
  const std::vector<std::string> inputs = analyze::MetricsForAnalysis();
  options.metrics.emplace(inputs.begin(), inputs.end());
  Recording recording = store::RecordingReader(path).Load(options);
  if (map) {
    for (const std::string& what : RequirePhases(recording, *map)) {
      Notice(what + " of the " + map->name + " matches no instruction in " + path);
    }
  }
  Profile profile = analyze::Analyze(recording, map, source);
  return {std::move(recording), std::move(profile)};
}

}  // namespace fa_profile::load
