#include "fa_profile/compare_phases.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <string_view>

#include "fa_profile/demangle.h"
#include "fa_profile/measured_code.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/phases.h"
#include "measured_call.h"
#include "phase_sums.h"

namespace fa_profile::analyze {
namespace {

template <typename Is>
double SumWhere(const PhaseConfusion& confusion, const Is& is) {
  double sum = 0.0;
  for (const auto& [names, weight] : confusion.weight) sum += is(names) ? weight : 0.0;
  return sum;
}

double RatioOf(double part, double all) { return all > 0.0 ? part / all : 0.0; }

/// At a barrier no warp works, and padding is not executed.
bool IsCompared(const Instruction& instruction) {
  const sass::Form form = sass::FormOf(instruction.opcode);
  return form != sass::Form::kBarrier && form != sass::Form::kNop;
}

std::set<std::string> PhasesIn(const PhaseConfusion& confusion) {
  std::set<std::string> phases;
  for (const auto& [names, weight] : confusion.weight) phases.insert({names.first, names.second});
  return phases;
}

void SortByShare(std::vector<ComparedPhase>& phases) {
  std::ranges::stable_sort(phases, std::greater<>(), [](const ComparedPhase& row) {
    return row.named_ratio.value_or(row.inferred_ratio.value_or(0.0));
  });
}

void FillBoth(const PhaseConfusion& confusion, PhaseComparison& comparison) {
  for (const std::string& phase : PhasesIn(confusion)) {
    const double named = confusion.NamedRatio(phase);
    const double inferred = confusion.InferredRatio(phase);
    ComparedPhase row{phase, named, inferred, inferred - named, std::nullopt};
    if (named > 0.0) row.same_ratio = confusion.Ratio(phase, phase) / named;
    comparison.phases.push_back(std::move(row));
  }
  comparison.named_ratio = RatioOf(confusion.All(), confusion.All() + confusion.unnamed);
  comparison.same_ratio = confusion.SameRatio();
  const auto [phase, error] = confusion.LargestError();
  comparison.largest_error_phase = phase;
  comparison.largest_error_ratio = error;
  for (const auto& [names, weight] : confusion.weight) {
    if (names.first == names.second || weight <= 0.0) continue;
    comparison.swaps.push_back({names.first, names.second, RatioOf(weight, confusion.All())});
  }
  std::ranges::stable_sort(comparison.swaps, std::greater<>(), &PhaseSwap::ratio);
}

/// Shares of one way alone; `phase_of` gives the phase of an instruction by its index.
template <typename PhaseOf>
std::map<std::string, double> SharesOf(const DeviceFunction& function, const std::vector<double>& weights,
                                       const PhaseOf& phase_of) {
  std::map<std::string, double> shares;
  double all = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!IsCompared(function.instructions[i])) continue;
    shares[std::string(phase_of(i))] += weights[i];
    all += weights[i];
  }
  for (auto& [phase, share] : shares) share = RatioOf(share, all);
  return shares;
}

void CompareFunction(const DeviceFunction& function, const MeasuredCode& code, PhaseComparison& comparison) {
  const std::vector<double> executed = ExecutedOf(function, code.measured.counting);
  const bool sampled = code.samples.has_value();
  const std::vector<double> weights = sampled ? WorkingSamples(function, *code.samples) : executed;
  if (std::accumulate(weights.begin(), weights.end(), 0.0) <= 0.0) {
    comparison.missing = "no warp was sampled at work in it, and its instructions were not counted";
    return;
  }
  comparison.weighed_by = sampled ? "samples" : "executed instructions";
  const std::vector<std::string> named = PhasesOf(function, AttentionPhases());
  const InferredPhases inferred = InferPhases(function, executed);
  const bool has_names = std::ranges::any_of(named, [](const std::string& phase) { return phase != kUnattributed; });
  comparison.refusal = inferred.refusal;
  if (!has_names) {
    const bool has_lines = std::ranges::any_of(function.instructions, [](const auto& i) { return !i.frames.empty(); });
    comparison.unnamed = has_lines ? "no function of its code has the name of a phase"
                                   : "its code has no line information, so no phase functions are known";
  }
  if (has_names && inferred.refusal.empty()) {
    FillBoth(CompareWithNames(function, inferred, weights), comparison);
    return;
  }
  if (has_names) {
    for (const auto& [phase, share] : SharesOf(function, weights, [&](std::size_t i) { return named[i]; })) {
      comparison.phases.push_back({phase, share, std::nullopt, std::nullopt, std::nullopt});
    }
  } else if (inferred.refusal.empty()) {
    const auto phase_of = [&](std::size_t i) { return inferred.instructions[i].phase; };
    for (const auto& [phase, share] : SharesOf(function, weights, phase_of)) {
      comparison.phases.push_back({phase, std::nullopt, share, std::nullopt, std::nullopt});
    }
  }
}

}  // namespace

double PhaseConfusion::All() const {
  return SumWhere(*this, [](const auto&) { return true; });
}

double PhaseConfusion::SameRatio() const {
  return RatioOf(SumWhere(*this, [](const auto& names) { return names.first == names.second; }), All());
}

double PhaseConfusion::Ratio(const std::string& named, const std::string& inferred) const {
  const auto found = weight.find({named, inferred});
  return found == weight.end() ? 0.0 : RatioOf(found->second, All());
}

double PhaseConfusion::NamedRatio(const std::string& phase) const {
  return RatioOf(SumWhere(*this, [&](const auto& names) { return names.first == phase; }), All());
}

double PhaseConfusion::InferredRatio(const std::string& phase) const {
  return RatioOf(SumWhere(*this, [&](const auto& names) { return names.second == phase; }), All());
}

std::pair<std::string, double> PhaseConfusion::LargestError() const {
  std::pair<std::string, double> largest{"", 0.0};
  for (const std::string& phase : PhasesIn(*this)) {
    const double error = std::abs(InferredRatio(phase) - NamedRatio(phase));
    if (error > largest.second) largest = {phase, error};
  }
  return largest;
}

std::vector<double> WorkingSamples(const DeviceFunction& function, const PcSampling& sampling) {
  std::vector<double> samples(function.instructions.size(), 0.0);
  for (const PcSample& pc : sampling.samples) {
    const auto index = pc.function_id == function.id ? IndexOf(function, pc.offset) : std::nullopt;
    if (!index) continue;
    for (const auto& [reason, count] : pc.samples) {
      const std::string_view at = ReasonAt(reason, &function.instructions[*index]);
      if (at != "barrier" && !IsTwin(reason)) samples[*index] += static_cast<double>(count);
    }
  }
  return samples;
}

PhaseConfusion CompareWithNames(const DeviceFunction& function, const InferredPhases& inferred,
                                const std::vector<double>& weights) {
  PhaseConfusion confusion;
  if (!inferred.refusal.empty()) return confusion;
  const std::vector<std::string> named = PhasesOf(function, AttentionPhases());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!IsCompared(function.instructions[i])) continue;
    if (named[i] == kUnattributed) {
      confusion.unnamed += weights[i];
    } else {
      confusion.weight[{named[i], std::string(inferred.instructions[i].phase)}] += weights[i];
    }
  }
  return confusion;
}

std::vector<PhaseComparison> ComparePhases(const Recording& recording, const ProfileEntry& entry) {
  const MeasuredCode code = FindMeasuredCode(recording, entry);
  if (!code.measured.own) return {};
  PhaseComparison head;
  head.kernel = entry.kernel;
  head.shape = entry.shape;
  head.part = entry.part;
  if (code.functions.empty()) {
    head.missing = WhyNoCode(recording);
    return {head};
  }
  std::vector<PhaseComparison> comparisons;
  for (const DeviceFunction* function : code.functions) {
    PhaseComparison& comparison = comparisons.emplace_back(head);
    if (entry.part.empty() && code.parts.several()) comparison.part = code.parts.NameOf(*function);
    comparison.function = Demangle(function->name.c_str());
    if (function->instructions.empty()) {
      comparison.missing = "its machine code was not disassembled";
    } else {
      CompareFunction(*function, code, comparison);
    }
    SortByShare(comparison.phases);
  }
  return comparisons;
}

}  // namespace fa_profile::analyze
