#include "divide_time.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "fa_profile/list_code.h"
#include "fa_profile/text.h"

namespace fa_profile::analyze {
namespace {

constexpr double kLeastLineRatio = 1e-3;

/// Whether the listing's part name ("qk + pv") contains `part`.
bool RunsIn(const InstructionListing& listing, const std::string& part) {
  if (part.empty() || listing.code.part == part) return true;
  const std::string joined = " + " + listing.code.part + " + ";
  return joined.find(" + " + part + " + ") != std::string::npos;
}

/// Samples of a phase: all, and by line.
struct PhaseSamples {
  double all = 0.0;
  std::map<std::pair<std::string, int>, double> by_line;
};

std::map<std::string, PhaseSamples> SumPhases(const std::vector<const InstructionListing*>& listings) {
  std::map<std::string, PhaseSamples> sums;
  for (const InstructionListing* const listing : listings) {
    for (const ListedInstruction& each : listing->instructions) {
      if (each.cost.samples <= 0.0) continue;
      PhaseSamples& sum = sums[each.phase];
      sum.all += each.cost.samples;
      if (each.place) sum.by_line[{each.place->file, each.place->line}] += each.cost.samples;
    }
  }
  return sums;
}

std::vector<LineRatio> LineRatios(const PhaseSamples& phase, double phase_ratio) {
  std::vector<LineRatio> lines;
  for (const auto& [place, samples] : phase.by_line) {
    const double ratio = samples / phase.all;
    if (ratio * phase_ratio < kLeastLineRatio) continue;
    const std::string_view file = std::string_view(place.first).substr(place.first.rfind('/') + 1);
    lines.push_back({SafeLine(file) + ':' + std::to_string(place.second), SafeLine(place.first), place.second, ratio});
  }
  std::ranges::stable_sort(lines, std::greater<>(), &LineRatio::ratio);
  return lines;
}

std::map<std::string, double> PhaseTimes(const ProfileEntry& entry) {
  std::map<std::string, double> times;
  if (!entry.phases) return times;
  for (const PhaseEntry& phase : entry.phases->phases) {
    const auto found = phase.metrics.find("phase_time_ratio");
    if (found != phase.metrics.end() && found->second > 0.0) times[phase.name] = found->second;
  }
  return times;
}

/// Phases by their time, which waits are charged to; otherwise by their samples.
std::vector<PhaseRatio> PhaseRatios(const std::map<std::string, double>& times,
                                    const std::map<std::string, PhaseSamples>& sums) {
  double all = 0.0;
  for (const auto& [name, sum] : sums) all += sum.all;
  std::map<std::string, double> ratios = times;
  if (ratios.empty()) {
    for (const auto& [name, sum] : sums) ratios[name] = sum.all / all;
  }
  std::vector<PhaseRatio> phases;
  for (const auto& [name, ratio] : ratios) {
    PhaseRatio phase{SafeLine(name), ratio, 0.0, {}};
    if (const auto found = sums.find(name); found != sums.end()) {
      phase.samples = found->second.all;
      phase.lines = LineRatios(found->second, ratio);
    }
    phases.push_back(std::move(phase));
  }
  std::ranges::stable_sort(phases, std::greater<>(), &PhaseRatio::ratio);
  return phases;
}

std::vector<GpuTimeNode> LineNodes(const PhaseRatio& phase, std::int64_t ns) {
  std::vector<double> ratios;
  for (const LineRatio& line : phase.lines) ratios.push_back(line.ratio);
  const std::vector<std::int64_t> portions = Portions(ns, ratios);
  std::vector<GpuTimeNode> nodes;
  for (std::size_t i = 0; i < portions.size(); ++i) {
    const LineRatio& line = phase.lines[i];
    if (portions[i] == 0) continue;
    nodes.push_back({GpuTimeKind::kLine, line.name, portions[i], line.file, line.line, {}});
  }
  return nodes;
}

}  // namespace

std::vector<std::int64_t> Portions(std::int64_t whole, const std::vector<double>& ratios) {
  std::vector<std::int64_t> portions;
  double sum = 0.0;
  std::int64_t before = 0;
  for (const double ratio : ratios) {
    sum += ratio;
    const double end = std::round(static_cast<double>(whole) * std::min(sum, 1.0));
    const std::int64_t at = end >= static_cast<double>(whole) ? whole : static_cast<std::int64_t>(end);
    portions.push_back(at - before);
    before = at;
  }
  return portions;
}

std::int64_t WholeNs(double ns) {
  if (!(ns > 0.0)) return 0;
  return static_cast<std::int64_t>(std::round(std::min(ns, static_cast<double>(kMostWholeNs))));
}

std::int64_t WholeNs(std::int64_t ns) { return std::clamp<std::int64_t>(ns, 0, kMostWholeNs); }

std::int64_t WholeNs(std::int64_t start_ns, std::int64_t end_ns) {
  if (ElapsedNs(start_ns, end_ns) > static_cast<double>(kMostWholeNs)) return kMostWholeNs;
  return end_ns > start_ns ? end_ns - start_ns : 0;
}

CodeShares::CodeShares(const Recording& recording, const Profile& profile, const std::optional<PhaseMap>& map,
                       PhaseSource source) {
  for (const ProfileEntry& entry : profile.entries) {
    if (!entry.phases) continue;
    Code code{ListInstructions(recording, entry, map, source), {}};
    if (code.listings.size() == 1) code.times = PhaseTimes(entry);
    codes_.try_emplace({entry.case_id, entry.part}, std::move(code));
  }
}

std::vector<PhaseRatio> CodeShares::Of(std::int64_t case_id, const std::string& part,
                                       const std::string& function) const {
  auto found = codes_.find({case_id, part});
  if (found == codes_.end() || found->second.listings.empty()) found = codes_.find({case_id, {}});
  if (found == codes_.end()) return {};
  std::vector<const InstructionListing*> listings;
  std::vector<const InstructionListing*> named;
  for (const InstructionListing& listing : found->second.listings) {
    if (!RunsIn(listing, part)) continue;
    listings.push_back(&listing);
    if (listing.code.function == function) named.push_back(&listing);
  }
  const std::map<std::string, PhaseSamples> sums = SumPhases(named.empty() ? listings : named);
  if (sums.empty()) return {};
  return PhaseRatios(found->second.times, sums);
}

std::vector<GpuTimeNode> PhaseNodes(const std::vector<PhaseRatio>& phases, std::int64_t ns, bool lines) {
  std::vector<double> ratios;
  for (const PhaseRatio& phase : phases) ratios.push_back(phase.ratio);
  const std::vector<std::int64_t> portions = Portions(ns, ratios);
  std::vector<GpuTimeNode> nodes;
  for (std::size_t i = 0; i < portions.size(); ++i) {
    if (portions[i] == 0) continue;
    nodes.push_back({GpuTimeKind::kPhase, phases[i].name, portions[i], {}, 0, {}});
    if (lines) nodes.back().nested = LineNodes(phases[i], portions[i]);
  }
  return nodes;
}

}  // namespace fa_profile::analyze
