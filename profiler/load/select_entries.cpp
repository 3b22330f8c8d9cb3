#include "fa_profile/select_entries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/kernel_pattern.h"

namespace fa_profile::load {
namespace {

constexpr std::string_view kNested = " / ";

/// Whether a loss concerns a call that the report does not show: "mma@1,8,512,64/pv" for another kernel or shape. A
/// subject without '@' concerns all calls.
bool IsOfAnotherCall(const DataLoss& loss, const std::set<std::string>& kernels, const std::set<Shape>& shapes) {
  const std::size_t at = loss.subject.find('@');
  if (at == std::string::npos) return false;
  const std::string shape = loss.subject.substr(at + 1, loss.subject.find('/', at) - at - 1);
  return !kernels.contains(loss.subject.substr(0, at)) ||
         (!shapes.empty() && std::ranges::none_of(shapes, [&](const auto& s) { return s.ToString() == shape; }));
}

/// Whether a path or layer is the same as another, or nested in it.
bool IsIn(const std::string& layer, const std::string& around) {
  return layer.starts_with(around) &&
         (layer.size() == around.size() || layer.compare(around.size(), kNested.size(), kNested) == 0);
}

/// Leaves the ranges with these paths, those nested in them, and those around them.
void KeepRanges(const std::set<std::string>& paths, std::vector<NvtxUse>& ranges) {
  std::erase_if(ranges, [&](const NvtxUse& use) {
    return std::ranges::none_of(paths,
                                [&](const std::string& path) { return IsIn(use.path, path) || IsIn(path, use.path); });
  });
}

/// The ranges that match selection.nvtx_pattern. Leaves only them and their kernels in the profile, unless all are
/// wanted. Throws Error: none match.
std::set<std::string> FindRanges(const std::string& path, const EntrySelection& selection, Profile& profile) {
  const KernelPattern pattern(selection.nvtx_pattern, "--nvtx");
  std::set<std::string> paths;
  std::set<std::int64_t> cases;
  std::set<std::string> layers;
  for (const NvtxUse& use : profile.program ? profile.program->nvtx : std::vector<NvtxUse>()) {
    if (!pattern.Finds(use.path)) continue;
    paths.insert(use.path);
    layers.insert(use.layer);
    for (const NvtxKernelUse& kernel : use.kernels) cases.insert(kernel.case_id);
  }
  if (selection.all_kernels) return paths;
  if (paths.empty()) {
    throw Error(path + " has no NVTX range that matches '" + selection.nvtx_pattern + "'",
                profile.program && !profile.program->nvtx.empty() ? "the report without --nvtx lists its ranges"
                                                                  : "it has no NVTX ranges: leave --nvtx out");
  }
  if (cases.empty()) {
    throw Error(path + " holds no kernels of the NVTX ranges that match '" + selection.nvtx_pattern + "'",
                "they launched none, or the recording is of an older version: measure again");
  }
  std::erase_if(profile.entries, [&](const ProfileEntry& entry) { return !cases.contains(entry.case_id); });
  KeepRanges(paths, profile.program->nvtx);
  std::erase_if(profile.program->layers, [&](const LayerUse& use) {
    return std::ranges::none_of(layers, [&](const std::string& layer) { return IsIn(use.layer, layer); });
  });
  return paths;
}

}  // namespace

std::set<std::string> SelectEntries(const std::string& path, const EntrySelection& selection, Profile& profile) {
  std::set<std::string> ranges;
  if (!selection.nvtx_pattern.empty()) ranges = FindRanges(path, selection, profile);
  std::vector<std::string> ids;
  for (const ProfileEntry& entry : profile.entries) {
    if (std::ranges::find(ids, entry.kernel) == ids.end()) ids.push_back(entry.kernel);
  }
  const std::vector<std::string> matches = MatchKernels(selection.kernel_pattern, ids);
  const std::set<std::string> wanted(matches.begin(), matches.end());
  const std::set<Shape> shapes(selection.shapes.begin(), selection.shapes.end());
  for (const Shape& shape : shapes) {
    if (std::ranges::none_of(profile.entries, [&](const ProfileEntry& entry) { return entry.shape == shape; })) {
      std::set<std::string> recorded;
      for (const ProfileEntry& entry : profile.entries) {
        if (entry.shape) recorded.insert(entry.shape->ToString());
      }
      throw Error(
          path + " has no shape " + shape.ToString(),
          recorded.empty() ? "its kernels have no shapes" : fmt::format("it has {}", fmt::join(recorded, "; ")));
    }
  }
  std::erase_if(profile.entries, [&](const ProfileEntry& entry) {
    return wanted.count(entry.kernel) == 0 || (!shapes.empty() && (!entry.shape || shapes.count(*entry.shape) == 0));
  });
  if (profile.program) {
    std::set<std::int64_t> kept;
    for (const ProfileEntry& entry : profile.entries) kept.insert(entry.case_id);
    std::erase_if(profile.program->layers, [&](const LayerUse& use) { return !kept.contains(use.case_id); });
  }
  if (!selection.kernel_pattern.empty() || !shapes.empty()) {
    std::erase_if(profile.losses, [&](const DataLoss& loss) { return IsOfAnotherCall(loss, wanted, shapes); });
  }
  return ranges;
}

}  // namespace fa_profile::load
