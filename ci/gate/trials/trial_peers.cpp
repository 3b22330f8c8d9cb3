#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "fa_profile/peer_rules.h"
#include "trial_pool.h"

namespace fa_profile::gate {
namespace {

/// Bencher's documentation shows 64 values of history.
constexpr std::size_t kHistory = 64;
/// google/benchmark's compare.py asks for at least 9 repetitions.
constexpr std::size_t kRepetitions = 9;
/// Perfherder's windows before and after a change.
constexpr std::size_t kWindow = 12;

/// The processes of one simulated pull request, as positions in the pool.
struct PeerDraw {
  std::size_t base = 0;       ///< first of its processes
  std::size_t candidate = 0;  ///< first of its processes
};

struct Peer {
  std::string rule;
  std::function<PeerDraw(TrialRandom&)> draw;
  /// Parameters: values of all processes, the draw, the factor of the candidate's values.
  std::function<bool(const std::vector<double>&, const PeerDraw&, double)> says_worse;
};

/// Some successive values, each times `factor`.
std::vector<double> Window(const std::vector<double>& values, std::size_t first, std::size_t count, double factor) {
  const std::span<const double> window = std::span(values).subspan(first, count);
  std::vector<double> scaled(count);
  std::ranges::transform(window, scaled.begin(), [factor](double value) { return factor * value; });
  return scaled;
}

std::vector<Peer> Peers(std::size_t processes) {
  const Peer fixed{"fixed 5 %",
                   [processes](TrialRandom& random) {
                     const std::vector<std::size_t> two = random.Sample(processes, 2);
                     return PeerDraw{two[0], two[1]};
                   },
                   [](const std::vector<double>& values, const PeerDraw& draw, double factor) {
                     return FixedThresholdSaysWorse(values[draw.base], factor * values[draw.candidate]);
                   }};
  const Peer history{"t-test 0.99 on history",
                     [processes](TrialRandom& random) {
                       const std::size_t newest = kHistory + random.Below(processes - kHistory);
                       return PeerDraw{newest - kHistory, newest};
                     },
                     [](const std::vector<double>& values, const PeerDraw& draw, double factor) {
                       return HistoryTTestSaysWorse(std::span(values).subspan(draw.base, kHistory),
                                                    factor * values[draw.candidate]);
                     }};
  // Two runs of 9 that do not overlap: the positions of two dividers among the rest.
  const auto two_jobs = [processes](TrialRandom& random) {
    const std::size_t gap = processes - 2 * kRepetitions + 1;
    std::size_t early = random.Below(gap);
    std::size_t late = random.Below(gap);
    if (early > late) std::swap(early, late);
    const PeerDraw draw{early, late + kRepetitions};
    return random.Coin() ? draw : PeerDraw{draw.candidate, draw.base};
  };
  const auto ranks = [](double margin) {
    return [margin](const std::vector<double>& values, const PeerDraw& draw, double factor) {
      return MannWhitneySaysWorse(Window(values, draw.base, kRepetitions, 1.0 + margin),
                                  Window(values, draw.candidate, kRepetitions, factor));
    };
  };
  const Peer windows{"Perfherder",
                     [processes](TrialRandom& random) {
                       const std::size_t change = kWindow + random.Below(processes - 2 * kWindow + 1);
                       return PeerDraw{change - kWindow, change};
                     },
                     [](const std::vector<double>& values, const PeerDraw& draw, double factor) {
                       std::vector<double> before = Window(values, draw.base, kWindow, 1.0);
                       std::ranges::reverse(before);
                       return PerfherderSaysWorse(before, Window(values, draw.candidate, kWindow, factor));
                     }};
  return {fixed,
          history,
          {"Mann-Whitney, two jobs", two_jobs, ranks(0.0)},
          {"Mann-Whitney beyond 2 %", two_jobs, ranks(0.02)},
          windows};
}

}  // namespace

std::vector<RuleRate> PeerRates(const TimingPool& pool, std::int64_t trials, TrialRandom& random) {
  std::vector<RuleRate> rates;
  for (const Peer& peer : Peers(pool.processes.size())) {
    std::int64_t alarms = 0;
    std::int64_t alarmed = 0;
    for (std::int64_t trial = 0; trial < trials; ++trial) {
      const std::int64_t before = alarms;
      std::size_t left = kRequestComparisons / 2;
      while (left > 0) {
        const PeerDraw draw = peer.draw(random);
        const std::size_t size = std::min(left, pool.cases.size());
        for (const std::size_t position : random.Sample(pool.cases.size(), size)) {
          for (const auto& values : pool.values) alarms += peer.says_worse(values[position], draw, 1.0) ? 1 : 0;
        }
        left -= size;
      }
      alarmed += alarms > before ? 1 : 0;
    }
    rates.push_back(Rate(peer.rule, "same code", alarms, trials * static_cast<std::int64_t>(kRequestComparisons)));
    rates.push_back(Rate(peer.rule, "same code, any of 60", alarmed, trials));
    for (const int percent : {3, 5}) {
      std::int64_t found = 0;
      for (std::int64_t trial = 0; trial < trials; ++trial) {
        const std::size_t position = random.Below(pool.cases.size());
        const PeerDraw draw = peer.draw(random);
        found += peer.says_worse(pool.values[0][position], draw, 1.0 + percent / 100.0) ? 1 : 0;
      }
      rates.push_back(Rate(peer.rule, fmt::format("+{} %", percent), found, trials));
    }
  }
  return rates;
}

}  // namespace fa_profile::gate
