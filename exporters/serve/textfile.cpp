#include "fa_profile/textfile.h"

#include <map>
#include <optional>

#include "about_file.h"
#include "fa_profile/contribution.h"
#include "fa_profile/error.h"
#include "fa_profile/exporter.h"
#include "fa_profile/files.h"
#include "fa_profile/load_profile.h"
#include "fa_profile/notice.h"
#include "fa_profile/page.h"
#include "fa_profile/sha256.h"

namespace fa_profile::serve {

MetricsText MetricsOf(const std::vector<std::string>& recordings, const std::string& baseline) {
  Totals totals;
  std::map<std::string, std::string> counted;  // SHA-256 -> path
  for (const std::string& path : recordings) {
    const auto [recording, profile] = load::LoadProfile(path);
    const auto [first, is_new] = counted.emplace(Sha256OfFile(path), path);
    if (is_new) {
      Merge(totals, AboutFile(path, [&, &recording = recording, &profile = profile] {
              return prom::Contribution(recording, profile);
            }));
    } else {
      Notice(path + " is the same recording as " + first->second + " and counts once");
    }
  }
  std::optional<prom::Baseline> loaded;
  if (!baseline.empty()) loaded = LoadBaseline(baseline);
  prom::PageInput input;
  input.totals = &totals;
  input.baseline = loaded ? &*loaded : nullptr;
  const prom::Families families = prom::MakeFamilies(input);
  return {prom::ToText(families), families.series};
}

void WriteTextfile(const std::string& path, const MetricsText& metrics) {
  if (!path.ends_with(".prom")) {
    throw Error(path + " does not end in .prom: node_exporter reads only files that do", "write -o NAME.prom");
  }
  WriteWholeFile(path, metrics.text);
}

}  // namespace fa_profile::serve
