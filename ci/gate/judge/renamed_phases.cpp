#include <fmt/core.h>

#include <algorithm>

#include "judge.h"

namespace fa_profile::gate {
namespace {

/// Instructions of a phase by kind, for each function that has the phase, in an order that names do not affect.
using OpcodeCounts = std::vector<std::map<std::string, int>>;

std::map<std::string, OpcodeCounts> PhasesOf(const CaseFacts& facts) {
  std::map<std::string, OpcodeCounts> phases;
  for (const CodeFacts& code : facts.code) {
    for (const auto& [phase, counts] : code.counts) {
      if (!phase.empty() && phase != kUnattributed) phases[phase].push_back(counts);
    }
  }
  for (auto& [phase, code] : phases) std::ranges::sort(code);
  return phases;
}

/// The only phase of `phases` with this code that `others` does not have; empty: none, or several.
std::string OnlyWith(const OpcodeCounts& code, const std::map<std::string, OpcodeCounts>& phases,
                     const std::map<std::string, OpcodeCounts>& others) {
  std::string only;
  for (const auto& [phase, its] : phases) {
    if (its != code || others.contains(phase)) continue;
    if (!only.empty()) return {};
    only = phase;
  }
  return only;
}

bool HasNewPhase(const CaseFacts& base, const CaseFacts& candidate) {
  const auto known = [&](const std::string& phase) {
    return std::ranges::any_of(base.code, [&](const CodeFacts& code) { return code.counts.contains(phase); });
  };
  return std::ranges::any_of(candidate.code, [&](const CodeFacts& code) {
    return std::ranges::any_of(code.counts, [&](const auto& one) { return !known(one.first); });
  });
}

/// Names in the candidate, and in the base.
std::map<std::string, std::string> Renamed(const CaseFacts& base, const CaseFacts& candidate) {
  std::map<std::string, std::string> renamed;
  if (PhaseModelsDiffer(base, candidate) || !HasNewPhase(base, candidate)) return renamed;
  const std::map<std::string, OpcodeCounts> before = PhasesOf(base);
  const std::map<std::string, OpcodeCounts> after = PhasesOf(candidate);
  for (const auto& [phase, code] : after) {
    if (before.contains(phase)) continue;
    const std::string old = OnlyWith(code, before, after);
    if (!old.empty() && OnlyWith(code, after, before) == phase) renamed[phase] = old;
  }
  return renamed;
}

template <typename Value>
void RenameKey(std::map<std::string, Value>& map, const std::string& from, const std::string& to) {
  auto node = map.extract(from);
  if (node.empty()) return;
  node.key() = to;
  map.insert(std::move(node));
}

void Rename(Evidence& evidence, std::size_t index, const std::string& from, const std::string& to) {
  for (CodeFacts& code : evidence.cases[index].code) RenameKey(code.counts, from, to);
  RenameKey(evidence.cases[index].places, from, to);
  for (ProcessSample& process : evidence.processes) {
    if (index >= process.values.size()) continue;
    std::map<MetricKey, double> values;
    for (const auto& [key, value] : process.values[index]) {
      values.emplace(MetricKey{key.phase == from ? to : key.phase, key.metric}, value);
    }
    process.values[index] = std::move(values);
  }
}

}  // namespace

std::optional<GateInput> WithRenamedPhases(const GateInput& input, std::vector<std::string>& notes) {
  std::optional<GateInput> renamed;
  for (const CaseFacts& base : input.base.cases) {
    const auto index = FindCase(input.candidate, base.kernel, base.shape);
    if (!index) continue;
    for (const auto& [now, before] : Renamed(base, input.candidate.cases[*index])) {
      if (!renamed) renamed = input;
      Rename(renamed->candidate, *index, now, before);
      notes.push_back(fmt::format("{}: the phase {} is named {} in the candidate: equal code",
                                  OneLine(CaseName(base), 80), OneLine(before, 40), OneLine(now, 40)));
    }
  }
  return renamed;
}

}  // namespace fa_profile::gate
