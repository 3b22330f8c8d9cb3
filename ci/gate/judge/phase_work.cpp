#include "phase_work.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "fa_profile/profile.h"
#include "fa_profile/units.h"

namespace fa_profile::gate {
namespace {

constexpr const char* kWarpTime = "phase_warp_time_ratio";
constexpr const char* kAsyncWait = "phase_async_wait_ratio";
constexpr const char* kLocalSectors = "phase_local_sectors";

/// Sectors of a local load or store of one word by each thread of a warp: 32 x 4 bytes in sectors of 32.
constexpr double kSectorsOfAWord = 4.0;

/// Least local loads and stores of words, as a share of the phase's instructions: fewer may lie outside its loop.
constexpr double kLeastSpills = 0.05;

/// Spills are the cause only if the phases that spill account for at least this share of the kernel's growth.
constexpr double kMostOfGrowth = 0.5;

bool IsMoreWork(const Comparison& comparison) {
  return comparison.tier == 1 && comparison.verdict == Verdict::kRegression && !comparison.phase.empty() &&
         comparison.base && comparison.candidate && AddsUp(comparison.unit);
}

std::optional<double> Before(const JudgeContext& context, const CaseWork& work, const MetricKey& key) {
  return MedianOf(Samples(context.input.base, work.base_index, "recording", key, true));
}
std::optional<double> After(const JudgeContext& context, const CaseWork& work, const MetricKey& key) {
  return MedianOf(Samples(context.input.candidate, work.candidate_index, "recording", key, true));
}

/// Growth of the time that the phase's own warps spend in it, waits included, as a share of the base kernel's; 0:
/// unknown.
double OwnGrowth(const JudgeContext& context, const CaseWork& work, const Shares& shares, const std::string& phase) {
  const MetricKey key{phase, kWarpTime};
  const auto before = Before(context, work, key);
  const auto after = After(context, work, key);
  return before && after ? *after * (1.0 + shares.total) - *before : 0.0;
}

/// Share of a phase's warp time spent waiting for copies and other roles.
struct WaitShares {
  double before = 0.0;
  double after = 0.0;
};

std::optional<WaitShares> WaitSharesOf(const JudgeContext& context, const CaseWork& work, const std::string& phase) {
  const MetricKey time{phase, kWarpTime};
  const MetricKey wait{phase, kAsyncWait};
  const auto time_before = Before(context, work, time);
  const auto wait_before = Before(context, work, wait);
  const auto time_after = After(context, work, time);
  const auto wait_after = After(context, work, wait);
  if (!time_before || !wait_before || !time_after || !wait_after) return std::nullopt;
  return WaitShares{*time_before * *wait_before, *time_after * *wait_after};
}

}  // namespace

double Distance(const Comparison& comparison) {
  const double base = comparison.base.value_or(0.0);
  const double candidate = comparison.candidate.value_or(0.0);
  if (base <= 0.0 || candidate <= 0.0) return std::numeric_limits<double>::infinity();
  return std::abs(std::log(candidate / base));
}

const Comparison* MoreWork(const CaseVerdict& verdict, const std::string& phase) {
  const Comparison* most = nullptr;
  for (const Comparison& comparison : verdict.comparisons) {
    if (comparison.phase != phase || !IsMoreWork(comparison)) continue;
    if (most == nullptr || Distance(comparison) > Distance(*most)) most = &comparison;
  }
  return most;
}

std::string OnlyPhaseWithMoreWork(const JudgeContext& context, const CaseWork& work, const Shares& shares) {
  std::set<std::string> phases;
  for (const Comparison& comparison : work.verdict.comparisons) {
    if (IsMoreWork(comparison)) phases.insert(comparison.phase);
  }
  if (phases.size() != 1 || phases.contains(kUnattributed)) return {};
  return OwnGrowth(context, work, shares, *phases.begin()) >= LeastGrowth(shares) ? *phases.begin() : std::string();
}

const Comparison* MostSpills(const JudgeContext& context, const CaseWork& work, const Shares& shares) {
  const auto added = [](const Comparison& comparison) { return *comparison.candidate - *comparison.base; };
  const Comparison* most = nullptr;
  bool most_is_many = false;
  double growth = 0.0;
  for (const Comparison& comparison : work.verdict.comparisons) {
    if (comparison.metric != kLocalSectors || !IsMoreWork(comparison)) continue;
    const auto instructions = After(context, work, {comparison.phase, "phase_instructions"});
    const bool many = instructions && added(comparison) / kSectorsOfAWord >= kLeastSpills * *instructions;
    if (many) growth += OwnGrowth(context, work, shares, comparison.phase);
    if (most != nullptr && added(comparison) <= added(*most)) continue;
    most = &comparison;
    most_is_many = many;
  }
  const bool explains = growth >= std::max(LeastGrowth(shares), kMostOfGrowth * shares.total);
  return most_is_many && most->phase != kUnattributed && explains ? most : nullptr;
}

std::string PhaseThatWaitsMore(const JudgeContext& context, const CaseWork& work, const Shares& shares) {
  std::string most;
  double grown = 0.0;
  for (const auto& [phase, growth] : shares.growth) {
    const auto waits = WaitSharesOf(context, work, phase);
    const double more = waits ? waits->after * (1.0 + shares.total) - waits->before : 0.0;
    if (more > grown) {
      most = phase;
      grown = more;
    }
  }
  if (grown < LeastGrowth(shares)) return {};
  for (const auto& [phase, growth] : shares.growth) {
    if (phase != most && OwnGrowth(context, work, shares, phase) > grown) return {};
  }
  return most;
}

std::string WaitLine(const JudgeContext& context, const CaseWork& work, const std::string& phase) {
  const WaitShares waits = WaitSharesOf(context, work, phase).value_or(WaitShares{});
  return fmt::format("{} waits {} of the warps' time (was {})", OneLine(phase, 40), Percent(waits.after, 1),
                     Percent(waits.before, 1));
}

std::string WorkLine(const Comparison& more) {
  const MetricFacts facts = FactsOf({more.phase, more.metric});
  const std::string who = OneLine(more.phase, 40) + (facts.unit == "instructions" ? " executes " : " has ");
  if (*more.base == 0.0) {
    return fmt::format("{}{} {} instead of none", who, Number(*more.candidate, facts.unit), facts.label);
  }
  const double grown = *more.change;
  return grown >= kFactorFrom ? fmt::format("{}{} the {}", who, MoreBy(grown), facts.label)
                              : fmt::format("{}{} more {}", who, Percent(grown, grown < 0.0995 ? 1 : 0), facts.label);
}

}  // namespace fa_profile::gate
