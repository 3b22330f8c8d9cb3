#include "fa_profile/section_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "section.h"

namespace fa_profile::collect {
namespace {

namespace fs = std::filesystem;

std::vector<Section> ReadSections(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".section") paths.push_back(entry->path());
  }
  if (error || paths.empty()) {
    throw Error(error ? "the section folder " + folder + " cannot be read: " + error.message()
                      : "no .section file in " + folder,
                "Nsight Compute keeps its files in <installation>/sections, or ~/Documents/NVIDIA Nsight Compute/");
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Section> sections;
  constexpr std::size_t kMostBytes = std::size_t{64} << 20U;  // Nsight Compute's largest has 1.4 MB
  for (const fs::path& path : paths) sections.emplace_back(ReadFile(path.string(), kMostBytes), path.string());
  return sections;
}

std::set<std::string> AllSets(const std::vector<Section>& sections) {
  std::set<std::string> sets;
  for (const Section& section : sections) sets.merge(section.Sets());
  return sets;
}

// The chip whose names a compute capability gets.
std::string_view ChipOf(int cc) {
  if (cc >= 100) return "GB100";
  if (cc >= 90) return "GH100";
  return cc >= 89 ? "AD104" : "GA100";
}

}  // namespace

MetricSet ReadSectionFolder(const std::string& folder, std::string_view set, int cc) {
  const std::vector<Section> sections = ReadSections(folder);
  const std::set<std::string> known = AllSets(sections);
  if (!known.contains(std::string(set))) {
    std::string hint = "its sections belong to the sets";
    for (const std::string& name : known) hint += " " + name;
    throw Error("no section in " + folder + " belongs to set '" + std::string(set) + "'" +
                    DidYouMean(set, {known.begin(), known.end()}),
                hint);
  }
  std::set<std::string> metrics;
  std::set<std::string> omitted;
  for (const Section& section : sections) {
    if (!section.Sets().contains(std::string(set))) continue;
    for (const std::string& name : section.Metrics(cc)) {
      const std::vector<std::string> expanded = ExpandMetricGroup(name, ChipOf(cc));
      metrics.insert(expanded.begin(), expanded.end());
      if (!expanded.empty()) continue;
      const bool group = name.find(':') != std::string::npos;
      (group || !OmissionReason(name).empty() ? omitted : metrics).insert(name);
    }
  }
  MetricSet result;
  result.name = set;
  result.description = "set " + std::string(set) + " of the section files in " + folder;
  result.metrics.assign(metrics.begin(), metrics.end());
  for (const std::string& name : omitted) {
    const std::string_view reason = OmissionReason(name);
    result.omitted.push_back(
        {name, reason.empty() ? "Nsight Compute expands it; the result is not known" : std::string(reason)});
  }
  return result;
}

}  // namespace fa_profile::collect
