#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "fa_profile/report.h"
#include "fa_profile/text_page.h"
#include "fa_profile/units.h"

namespace fa_profile::exporters {
namespace {

constexpr std::size_t kMostRows = 40;
constexpr int kDeepestLevel = 12;
/// Rows with a smaller share of all kernels' time are left out.
constexpr double kLeastShare = 0.001;

std::string Seconds(double ns) { return ns == 0.0 ? "0" : FormatValue(ns * 1e-9, "seconds"); }

/// Times that are all zero have no spread.
std::string SpreadText(const RankTimes& times) { return times.mean_ns > 0.0 ? Percent(times.spread_ratio) : "n/a"; }

std::string Gpu(const TextPage& page, const Device& device) {
  // The end of a UUID distinguishes GPUs in one host.
  constexpr std::size_t kEnd = 4;
  const std::string end = device.uuid.size() > kEnd ? " ..." + device.uuid.substr(device.uuid.size() - kEnd) : "";
  return page.Safe(fmt::format("{}{}", device.name, end));
}

void WriteRanks(TextPage& page, const RankReport& report) {
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    const Rank& rank = report.ranks[i];
    const std::string end = !rank.next.empty() ? fmt::format(" (restarted: {})", rank.next)
                            : rank.complete    ? ""
                                               : " (killed)";
    rows.push_back({{page.Safe(rank.recording + end)},
                    {Gpu(page, rank.device)},
                    {Seconds(static_cast<double>(rank.use.watched_ns))},
                    {rank.use.busy_ratio ? Percent(*rank.use.busy_ratio) : "n/a"},
                    {FormatCount(static_cast<double>(rank.use.launches))},
                    {Seconds(static_cast<double>(report.all_kernels.total_ns[i]))}});
  }
  page.Table({{"recording", true}, {"GPU", true}, {"watched"}, {"busy"}, {"launches"}, {"kernels"}}, rows);
}

void WriteTimes(TextPage& page, const RankReport& report, const std::vector<RankTimes>& times, const char* title,
                const char* what) {
  std::vector<std::vector<Cell>> rows;
  for (const RankTimes& row : times) {
    if (rows.size() == kMostRows) break;
    const double share = report.all_kernels.mean_ns > 0.0 ? row.mean_ns / report.all_kernels.mean_ns : 0.0;
    if (share < kLeastShare) continue;
    rows.push_back({{Percent(share)},
                    {Seconds(row.mean_ns)},
                    {Seconds(static_cast<double>(row.total_ns[row.least]))},
                    {Seconds(static_cast<double>(row.total_ns[row.most]))},
                    {SpreadText(row)},
                    {row.spread_ratio > 0.0 ? page.Safe(report.ranks[row.most].recording) : ""},
                    {std::string(2 * static_cast<std::size_t>(std::clamp(row.level, 0, kDeepestLevel)), ' ') +
                     page.Safe(row.name)}});
  }
  if (rows.empty()) return;
  const std::size_t folded = times.size() - rows.size();
  if (folded > 0)
    rows.push_back({{""}, {""}, {""}, {""}, {""}, {""}, {fmt::format("and {} more", folded), Style::kDim}});
  page.Line();
  page.Rule(title);
  page.Table({{"share"}, {"mean"}, {"least"}, {"most"}, {"spread"}, {"most in", true}, {what, true}}, rows);
}

}  // namespace

void WriteTextRanks(std::ostream& out, const RankReport& report, const ReportOptions& options) {
  TextPage page(out, options);
  page.Rule(fmt::format("fa-profile report of {} recordings", report.ranks.size()));
  const RankTimes& all = report.all_kernels;
  page.Paragraph("", fmt::format("All kernels took {} to {}, a spread of {}; the most in {}.",
                                 Seconds(static_cast<double>(all.total_ns[all.least])),
                                 Seconds(static_cast<double>(all.total_ns[all.most])), SpreadText(all),
                                 page.Safe(report.ranks[all.most].recording)));
  WriteRanks(page, report);
  WriteTimes(page, report, report.kernels, "Kernels", "kernel");
  WriteTimes(page, report, report.ranges, "NVTX ranges", "range");
  page.Line();
  page.Paragraph("",
                 "Times are on the GPU; share is of the time of all kernels, both means over the recordings. spread: "
                 "most minus least, over the mean. A kernel that waits for other ranks, as NCCL's do, takes the most "
                 "time where the other kernels take the least.");
}

}  // namespace fa_profile::exporters
