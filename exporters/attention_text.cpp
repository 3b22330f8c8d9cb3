#include "attention_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fa_profile::exporters {
std::string RatioText(double ratio) {
  constexpr int kLargest = 9;
  constexpr double kTolerance = 0.02;
  for (int sum = 2; sum <= 2 * kLargest; ++sum) {
    for (int pv = 1; pv < sum; ++pv) {
      const int qk = sum - pv;
      if (qk > kLargest || pv > kLargest) continue;
      const double exact = static_cast<double>(qk) / pv;
      if (std::abs(ratio - exact) <= kTolerance * exact) return fmt::format("{}:{}", qk, pv);
    }
  }
  return fmt::format("{:.2f}", ratio);
}

std::string AttentionText(const KernelLint& kernel) {
  if (!kernel.inference || !kernel.inference->tile) return {};
  const KeyTile& tile = *kernel.inference->tile;
  std::string text = fmt::format("softmax {}{} instructions, {:g} exponentials a tile; rescale {}",
                                 tile.rounds_known ? "" : "at least ", tile.softmax_instructions, tile.exponentials,
                                 tile.rescale == "never" ? tile.rescale : "in " + tile.rescale);
  if (kernel.inference->qk_to_pv_ratio) text += "; QK:PV " + RatioText(*kernel.inference->qk_to_pv_ratio);
  return text;
}

std::optional<double> StaticShare(const KernelLint& kernel, std::string_view phase) {
  double of_phase = 0.0;
  double all = 0.0;
  for (const PhaseCode& row : kernel.phases) {
    constexpr int kDeepest = 4;
    const double weight = row.instructions * std::pow(10.0, std::min(row.loop_depth, kDeepest));
    all += weight;
    if (row.phase == phase) of_phase += weight;
  }
  return of_phase > 0.0 ? std::optional(of_phase / all) : std::nullopt;
}

}  // namespace fa_profile::exporters
