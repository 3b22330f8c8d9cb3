#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "fa_profile/error.h"
#include "fa_profile/gate_statistics.h"

namespace fa_profile::gate {
namespace {

/// Sums that differ by less than this share of the sum of all sizes are equal: only the order of addition differs.
constexpr double kTie = 1e-12;

void RequireBlocks(std::span<const ProcessBlock> blocks) {
  if (blocks.empty()) throw Error("no pair of processes was measured", "measure at least one pair");
  if (blocks.size() > kMostBlocks) {
    throw Error("too many pairs of processes: " + std::to_string(blocks.size()),
                "give at most " + std::to_string(kMostBlocks) + " pairs");
  }
  const auto finite = [](const ProcessBlock& block) {
    return std::isfinite(block.candidate) && std::isfinite(block.base) && std::isfinite(block.again.value_or(0.0));
  };
  if (!std::ranges::all_of(blocks, finite)) {
    throw Error("a permutation test needs finite values", "leave out pairs without a value");
  }
}

/// What each process of a block adds to the statistic if it is the candidate's: its value minus the mean of the others.
struct Choices {
  std::array<double, 3> gains{};
  std::size_t count = 0;
};

Choices ChoicesOf(const ProcessBlock& block) {
  if (!block.again) return {{block.candidate - block.base, block.base - block.candidate}, 2};
  const double half = (block.candidate + block.base + *block.again) / 2.0;
  return {{1.5 * block.candidate - half, 1.5 * block.base - half, 1.5 * *block.again - half}, 3};
}

double MeanOf(const ProcessBlock& block) {
  return block.again ? (block.candidate + block.base + *block.again) / 3.0 : std::midpoint(block.candidate, block.base);
}

/// The sums of all choices, one from each block, ascending. Each block merges two or three sorted lists, which is
/// cheaper than sorting. Without unpredictable branches: the trials run a million tests.
std::vector<double> AllSums(std::span<const Choices> blocks) {
  constexpr double kEnd = std::numeric_limits<double>::infinity();
  std::vector<double> sums{0.0, kEnd};
  std::vector<double> next;
  for (const Choices& choices : blocks) {
    const double third = choices.count == 3 ? choices.gains[2] : kEnd;
    next.resize((sums.size() - 1) * choices.count + 1);
    std::array<std::size_t, 3> at{};
    for (double& sum : next) {
      const double a = sums[at[0]] + choices.gains[0];
      const double b = sums[at[1]] + choices.gains[1];
      const double c = sums[at[2]] + third;
      const bool take_a = a <= b && a <= c;
      const bool take_b = !take_a && b <= c;
      sum = std::min(a, std::min(b, c));
      at[0] += take_a ? 1 : 0;
      at[1] += take_b ? 1 : 0;
      at[2] += take_a || take_b ? 0 : 1;
    }
    next.back() = kEnd;
    std::swap(sums, next);
  }
  sums.pop_back();
  return sums;
}

/// The most that a process may differ from the mean of its block, in medians of that difference over all processes. A
/// candidate that is slower in each block by the same amount differs by two such medians.
constexpr double kMostDeviations = 4.0;

/// PermutationP(), unchecked. Meet in the middle: for each sum of one half of the blocks, count how many of the other
/// half are large enough; 3^(n/2) steps, not 3^n.
double AssignmentP(std::span<const ProcessBlock> blocks, double shift) {
  std::array<Choices, kMostBlocks> choices;
  double observed = 0.0;
  double total = 0.0;
  const std::vector<ProcessBlock> clipped = Winsorized(blocks, shift);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    choices[i] = ChoicesOf(clipped[i]);
    observed += choices[i].gains[0];
    total += std::ranges::max(choices[i].gains) - std::ranges::min(choices[i].gains);
  }
  const double enough = observed - kTie * total;
  const std::span<const Choices> all = std::span(choices).first(blocks.size());
  const std::vector<double> left = AllSums(all.first(all.size() / 2));
  const std::vector<double> right = AllSums(all.subspan(all.size() / 2));
  std::size_t reached = 0;
  std::size_t first = right.size();  // the first in `right` that is enough for this left sum; falls as that grows
  for (const double sum : left) {
    while (first > 0 && sum + right[first - 1] >= enough) --first;
    reached += right.size() - first;
  }
  return static_cast<double>(reached) / (static_cast<double>(left.size()) * static_cast<double>(right.size()));
}

/// Least shift that the one-sided test does not reject at `level`. p grows with the shift, from LeastP() below the
/// least difference between the candidate and its process of the base, to 1 at the greatest.
double LeastShift(std::span<const ProcessBlock> blocks, double level) {
  if (LeastP(blocks) > level) return -std::numeric_limits<double>::infinity();
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const ProcessBlock& block : blocks) {
    for (const double base : {block.base, block.again.value_or(block.base)}) {
      low = std::min(low, block.candidate - base);
      high = std::max(high, block.candidate - base);
    }
  }
  if (AssignmentP(blocks, low) > level) return low;
  // To a hundred-thousandth of the range: far below what is printed. Never 0, or the search would end where p equals
  // the level: such a shift is rejected.
  const auto over_level = [&](double shift) { return std::log(AssignmentP(blocks, shift) / (level * (1.0 + 1e-12))); };
  const double enough = 1e-5 * (high - low);
  const auto close = [enough](double a, double b) { return b - a <= enough; };
  std::uintmax_t evaluations = 100;
  if (!(low < high)) return high;
  return boost::math::tools::toms748_solve(over_level, low, high, close, evaluations).second;
}

}  // namespace

ProcessBlock Mirrored(const ProcessBlock& block) {
  return {-block.candidate, -block.base, block.again ? std::optional(-*block.again) : std::nullopt};
}

double WorseBy(const ProcessBlock& block) {
  return block.candidate - (block.again ? std::midpoint(block.base, *block.again) : block.base);
}

std::vector<ProcessBlock> Winsorized(std::span<const ProcessBlock> blocks, double shift) {
  std::vector<ProcessBlock> moved(blocks.begin(), blocks.end());
  std::vector<double> deviations;
  for (ProcessBlock& block : moved) {
    block.candidate -= shift;
    const double mean = MeanOf(block);
    deviations.insert(deviations.end(), {std::abs(block.candidate - mean), std::abs(block.base - mean)});
    if (block.again) deviations.push_back(std::abs(*block.again - mean));
  }
  const double most = kMostDeviations * Median(std::move(deviations));
  if (most == 0.0) return moved;  // most processes are equal, so no distance is far
  for (ProcessBlock& block : moved) {
    const double low = MeanOf(block) - most;
    const double high = MeanOf(block) + most;
    block.candidate = std::clamp(block.candidate, low, high);
    block.base = std::clamp(block.base, low, high);
    if (block.again) block.again = std::clamp(*block.again, low, high);
  }
  return moved;
}

double Median(std::vector<double> values) {
  if (values.empty()) throw Error("a median needs values", "measure at least one process");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

double PermutationP(std::span<const ProcessBlock> blocks, double shift) {
  RequireBlocks(blocks);
  return AssignmentP(blocks, shift);
}

double LeastP(std::span<const ProcessBlock> blocks) {
  double assignments = 1.0;
  for (const ProcessBlock& block : blocks) assignments *= block.again ? 3.0 : 2.0;
  return 1.0 / assignments;
}

double UpperEnd(std::span<const ProcessBlock> blocks, double confidence) {
  RequireBlocks(blocks);
  std::vector<ProcessBlock> mirrored(blocks.size());
  std::ranges::transform(blocks, mirrored.begin(), Mirrored);
  return -LeastShift(mirrored, (1.0 - confidence) / 2.0);
}

std::pair<double, double> PermutationInterval(std::span<const ProcessBlock> blocks, double confidence) {
  const double high = UpperEnd(blocks, confidence);
  return {LeastShift(blocks, (1.0 - confidence) / 2.0), high};
}

SlowProcesses CountSlow(std::span<const ProcessBlock> blocks, double above) {
  SlowProcesses slow;
  if (blocks.empty()) return slow;
  std::vector<double> all;
  for (const ProcessBlock& block : blocks) {
    all.insert(all.end(), {block.candidate, block.base});
    if (block.again) all.push_back(*block.again);
  }
  const double limit = Median(std::move(all)) + above;
  std::vector<double> chances{1.0};  // for 0, 1, 2, ... slow processes of the candidate
  for (const ProcessBlock& block : blocks) {
    const int of_candidate = block.candidate > limit ? 1 : 0;
    const int of_base = (block.base > limit ? 1 : 0) + (block.again && *block.again > limit ? 1 : 0);
    slow.of_candidate += of_candidate;
    slow.of_base += of_base;
    slow.candidates += 1;
    slow.bases += block.again ? 2 : 1;
    if (of_candidate + of_base == 0) continue;
    const double chance = (of_candidate + of_base) / (block.again ? 3.0 : 2.0);
    slow.least_p *= chance;
    chances.push_back(0.0);
    for (std::size_t i = chances.size() - 1; i > 0; --i) chances[i] += chance * (chances[i - 1] - chances[i]);
    chances[0] *= 1.0 - chance;
  }
  slow.p = std::min(1.0, std::accumulate(chances.begin() + slow.of_candidate, chances.end(), 0.0));
  return slow;
}

std::vector<double> HolmAdjust(const std::vector<double>& p, const std::vector<double>& caps) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&p](std::size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size());
  double largest = 0.0;  // a larger p is never adjusted to less than a smaller one
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::size_t i = order[rank];
    const auto holm = static_cast<double>(p.size() - rank);
    largest = std::max(largest, std::min(1.0, (caps.empty() ? holm : std::min(holm, caps[i])) * p[i]));
    adjusted[i] = largest;
  }
  return adjusted;
}

double ProportionUpperBound(std::int64_t hits, std::int64_t trials, double confidence) {
  if (hits < 0 || hits > trials) {
    throw Error("a proportion cannot be " + std::to_string(hits) + " of " + std::to_string(trials), "check the counts");
  }
  if (hits == trials) return 1.0;  // also without trials
  // The p for which `hits` or fewer have probability 1 - confidence: I_p(hits + 1, trials - hits) = confidence.
  return boost::math::ibeta_inv(static_cast<double>(hits + 1), static_cast<double>(trials - hits), confidence);
}

double ProportionLowerBound(std::int64_t hits, std::int64_t trials, double confidence) {
  return 1.0 - ProportionUpperBound(trials - hits, trials, confidence);
}

}  // namespace fa_profile::gate
