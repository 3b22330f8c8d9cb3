#include "phase_story.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "fa_profile/profile.h"
#include "fa_profile/units.h"

namespace fa_profile::gate {
namespace {

constexpr std::size_t kMostPhases = 3;

/// Every phase is slower if each grew by at least half as much as the kernel, and if the phases' total growth beyond
/// the kernel is at most a quarter of its growth, or half a point, by which shares scatter.
constexpr double kOwnGrowth = 0.5;
constexpr double kUneven = 0.25;
constexpr double kScatter = 0.005;

/// A cause grew beyond the kernel by this part of the kernel's growth: a large phase that merely grows along is not
/// one.
constexpr double kCause = 0.1;

/// From this multiple of the kernel's growth on, a phase does not grow like the kernel.
constexpr double kUnlike = 1.5;

/// Least part of the kernel's growth that gets a line: anything less explains nothing.
constexpr double kPartOfTotal = 0.05;

/// Least share of a phase whose own growth counts and is quoted.
constexpr double kLargePhase = 0.05;

double In(const std::map<std::string, double>& values, const std::string& phase) {
  const auto found = values.find(phase);
  return found == values.end() ? 0.0 : found->second;
}

/// A share in per cent as it is printed: to a tenth.
std::string PrintedShare(double share) { return fmt::format("{:.1f}", 100.0 * share); }

/// "costs 93 % more", "costs 54 times as much", "costs 12 % less"; empty: the same, as printed.
std::string Cost(double grown) {
  const std::string percent = Percent(std::abs(grown), std::abs(grown) < 0.0995 ? 1 : 0);
  if (percent == "0.0 %") return {};
  return grown >= kFactorFrom ? fmt::format("costs {} as much", MoreBy(grown))
                              : fmt::format("costs {} {}", percent, grown > 0.0 ? "more" : "less");
}

/// What a line says about one phase.
struct PhaseChange {
  std::string name;
  std::string cost;           ///< empty: no change of its cost that can be printed
  std::string before, after;  ///< shares, as printed
  bool is_new = false;
  bool against = false;  ///< the share and the cost move in opposite directions
};

PhaseChange ChangeOf(const Shares& shares, const std::string& phase) {
  const double base = In(shares.before, phase);
  const double grown = In(shares.growth, phase);
  PhaseChange change{OneLine(phase, 40), {}, PrintedShare(base), PrintedShare(In(shares.after, phase)), false, false};
  change.is_new = change.before == "0.0";
  if (base > 0.0 && !change.is_new) change.cost = Cost(grown / base);
  const double moved = std::stod(change.after) - std::stod(change.before);
  change.against = !change.cost.empty() && moved * grown < 0.0;
  return change;
}

std::string Against(const PhaseChange& change) {
  const bool falls = std::stod(change.after) < std::stod(change.before);
  return fmt::format("{} {} and its share {} from {} to {} %", change.name, change.cost, falls ? "falls" : "rises",
                     change.before, change.after);
}

/// A phase's growth beyond the kernel's, as a share of the base kernel's time.
double Excess(const Shares& shares, const std::string& phase) {
  return In(shares.growth, phase) - In(shares.before, phase) * shares.total;
}

std::string EveryPhaseLine(const Shares& shares) {
  double least = 0.0;
  double most = 0.0;
  bool any = false;
  for (const auto& [phase, grown] : shares.growth) {
    const double base = In(shares.before, phase);
    if (base < kLargePhase) continue;
    least = any ? std::min(least, grown / base) : grown / base;
    most = any ? std::max(most, grown / base) : grown / base;
    any = true;
  }
  if (!any) return "every phase is slower";
  const char* const text = most < kUnlike * shares.total ? "every large phase is slower by about the same factor:"
                                                         : "every large phase is slower, by";
  const bool same = Percent(least) == Percent(most);
  return same ? fmt::format("{} {}", text, Percent(most))
              : fmt::format("{} {:.1f} to {}", text, 100.0 * least, Percent(most));
}

}  // namespace

std::string MoreBy(double ratio) {
  return ratio < kFactorFrom ? Percent(ratio) : fmt::format("{:.3g} times", 1.0 + ratio);
}

Shares SharesOf(const JudgeContext& context, const CaseWork& work) {
  Shares shares{work.base_shares, work.candidate_shares, PhaseGrowth(context, work), 0.0};
  if (const std::optional<double> ratio = DurationRatio(context, work)) shares.total = *ratio - 1.0;
  return shares;
}

double LeastGrowth(const Shares& shares) { return std::max(kPhaseLine, kPartOfTotal * std::abs(shares.total)); }

std::string PhaseLine(const Shares& shares, const std::string& phase) {
  const PhaseChange change = ChangeOf(shares, phase);
  if (change.is_new && change.after == "0.0") return {};
  if (change.is_new) return fmt::format("{} is new: {} % of the time", change.name, change.after);
  if (change.against) return Against(change);
  if (change.before == change.after) {
    return change.cost.empty() ? ""
                               : fmt::format("{} {}: still {} % of the time", change.name, change.cost, change.after);
  }
  const std::string share = fmt::format("{} -> {} % of the time", change.before, change.after);
  return change.cost.empty() ? change.name + " " + share : fmt::format("{} {}: {}", change.name, change.cost, share);
}

std::string PhaseCost(const Shares& shares, const std::string& phase) {
  const PhaseChange change = ChangeOf(shares, phase);
  return change.cost.empty() || change.against ? PhaseLine(shares, phase) : change.name + " " + change.cost;
}

bool EveryPhaseIsSlower(const Shares& shares) {
  if (shares.total < kPhaseLine || shares.growth.empty()) return false;
  double uneven = 0.0;
  int large = 0;
  for (const auto& [phase, grown] : shares.growth) {
    const double base = In(shares.before, phase);
    if (base >= kLargePhase && grown / base < kOwnGrowth * shares.total) return false;
    large += base >= kLargePhase ? 1 : 0;
    uneven += std::max(Excess(shares, phase), 0.0);
  }
  return large > 1 && uneven <= std::max(kUneven * shares.total, kScatter);
}

std::string CauseOf(const Shares& shares) {
  std::string cause;
  std::string most;
  for (const auto& [phase, grown] : shares.growth) {
    if (phase == kUnattributed) continue;
    if (most.empty() || grown > shares.growth.at(most)) most = phase;
    const bool beyond = Excess(shares, phase) >= kCause * shares.total;
    if (beyond && (cause.empty() || grown > shares.growth.at(cause))) cause = phase;
  }
  return cause.empty() || shares.total <= 0.0 ? most : cause;
}

std::vector<std::string> PhaseLines(const Shares& shares, bool better) {
  const bool everywhere = !better && EveryPhaseIsSlower(shares);
  const double least = LeastGrowth(shares);
  std::vector<std::pair<double, std::string>> changed;
  for (const auto& [phase, growth] : shares.growth) {
    // If every phase is slower, those slower than the others.
    const double worse = better ? -growth : everywhere ? Excess(shares, phase) : growth;
    if (worse >= least) changed.emplace_back(worse, PhaseLine(shares, phase));
  }
  std::ranges::stable_sort(changed, [](const auto& a, const auto& b) { return a.first > b.first; });
  changed.resize(std::min(changed.size(), kMostPhases));
  std::vector<std::string> lines;
  if (everywhere) lines.push_back(EveryPhaseLine(shares));
  for (auto& [growth, line] : changed) lines.push_back(std::move(line));
  return lines;
}

}  // namespace fa_profile::gate
