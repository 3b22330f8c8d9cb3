#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "fa_profile/text.h"
#include "fa_profile/units.h"
#include "text_phases.h"
#include "text_program.h"

namespace fa_profile::exporters {
namespace {

constexpr std::size_t kMostKernelsOfARange = 10;
constexpr std::size_t kMostBlocks = 20;
// Share of the range's time: findings about kernels with less say little about the range.
constexpr double kLeastShareOfARange = 0.02;

using EntriesByCase = std::map<std::int64_t, const ProfileEntry*>;

void WriteKernelsOfARange(TextPage& page, const NvtxUse& use, const EntriesByCase& entries) {
  std::vector<std::vector<Cell>> rows;
  const std::size_t shown = std::min(use.kernels.size(), kMostKernelsOfARange);
  for (std::size_t i = 0; i < shown; ++i) {
    const NvtxKernelUse& kernel = use.kernels[i];
    const auto entry = entries.find(kernel.case_id);
    rows.push_back({{UseShare(kernel.share_ratio)},
                    {UseTime(kernel.gpu_ns)},
                    {UseCount(kernel.launches)},
                    {Truncate(page.Safe(kernel.kernel), kLongestWrappedKernel)},
                    {entry == entries.end() ? "" : WhyText(page, *entry->second)}});
  }
  if (use.kernels.size() > shown) {
    rows.push_back({{""}, {""}, {""}, {fmt::format("and {} more", use.kernels.size() - shown), Style::kDim}, {""}});
  }
  if (rows.empty()) {
    if (use.launches > 0) page.Line("  Its kernels are not known: the recording is of an older version.");
    return;
  }
  page.Table({{"share"}, {"GPU time"}, {"launches"}, {"kernel", true, /*wraps=*/true}, {"why", true, /*wraps=*/true}},
             rows);
}

void WriteFindingsOfARange(TextPage& page, const NvtxUse& use, const EntriesByCase& entries) {
  for (const NvtxKernelUse& kernel : use.kernels) {
    const auto entry = entries.find(kernel.case_id);
    if (entry == entries.end() || kernel.share_ratio.value_or(0.0) < kLeastShareOfARange) continue;
    for (const Finding& finding : entry->second->findings) {
      WriteFinding(page, finding,
                   fmt::format(" in {}, {} of the range", page.Safe(kernel.kernel), UseShare(kernel.share_ratio)));
    }
  }
}

}  // namespace

void WriteNvtxBlocks(TextPage& page, const Profile& profile, const std::set<std::string>& paths) {
  EntriesByCase entries;
  for (const ProfileEntry& entry : profile.entries) {
    if (entry.part.empty()) entries.emplace(entry.case_id, &entry);
  }
  std::size_t blocks = 0;
  for (const NvtxUse& use : profile.program->nvtx) {
    if (!paths.contains(use.path)) continue;
    page.Line();
    if (++blocks > kMostBlocks) {
      page.Line(fmt::format("and {} more ranges", paths.size() - kMostBlocks), Style::kDim);
      return;
    }
    page.Rule("NVTX range " + page.Safe(use.path));
    std::string time = fmt::format("{} on the host in {} {}", UseTime(use.host_ns), UseCount(use.ranges),
                                   use.ranges == 1 ? "range" : "ranges");
    if (use.launches > 0) {
      time = fmt::format("{} in {} {}, {} of the time of all kernels; {}", UseTime(use.gpu_ns), UseCount(use.launches),
                         use.launches == 1 ? "launch" : "launches", UseShare(use.share_ratio), time);
    }
    page.Paragraph("  time       ", time);
    WriteKernelsOfARange(page, use, entries);
    WriteFindingsOfARange(page, use, entries);
  }
}

}  // namespace fa_profile::exporters
