#include <algorithm>
#include <map>
#include <string_view>

#include "fa_profile/demangle.h"
#include "fa_profile/inline_stacks.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/phases.h"
#include "phase_sums.h"

namespace fa_profile::analyze {
namespace {

// Many libraries have functions of this name, as CUTLASS's barriers: alone it names no phases.
constexpr std::string_view kGenericPhase = "sync";

/// A rule, and the part of an instruction that it names. No rule: null.
struct FoundRule {
  const PhaseRule* rule = nullptr;
  std::string_view by;
};

/// Finds rules. Names and files repeat for thousands of instructions, so each is checked once.
class RuleFinder {
 public:
  explicit RuleFinder(const PhaseMap& map) : map_(map) {}

  FoundRule Find(const std::vector<InlineFrame>& frames, const std::string& opcode) {
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      if (const PhaseRule* rule = ByFunction(frame->function)) return {rule, "function"};
    }
    for (const InlineFrame& frame : frames) {
      if (const PhaseRule* rule = ByLine(frame)) return {rule, "line"};
    }
    return {ByOpcode(opcode), "opcode"};
  }

  const PhaseRule* ByFunction(const std::string& function) {
    const auto [place, added] = by_function_.try_emplace(function, nullptr);
    if (added) {
      const std::string name = BaseName(function);
      const auto names = [&](const PhaseRule& rule) {
        return std::ranges::find(rule.functions, name) != rule.functions.end();
      };
      place->second = First(names);
    }
    return place->second;
  }

 private:
  template <typename Fits>
  const PhaseRule* First(const Fits& fits) const {
    const auto found = std::ranges::find_if(map_.rules, fits);
    return found == map_.rules.end() ? nullptr : &*found;
  }

  const PhaseRule* ByLine(const InlineFrame& frame) const {
    return First([&](const PhaseRule& rule) {
      return std::ranges::any_of(rule.lines, [&](const PhaseRule::Lines& lines) {
        return lines.first <= frame.line && frame.line <= lines.last &&
               (IsEndOf(lines.file, frame.file) || (lines.file.starts_with('/') && IsEndOf(frame.file, lines.file)));
      });
    });
  }

  /// Whether `end` is a path, or its last components.
  static bool IsEndOf(std::string_view end, std::string_view path) {
    if (end.empty() || !path.ends_with(end)) return false;
    return path.size() == end.size() || end.front() == '/' || path[path.size() - end.size() - 1] == '/';
  }

  const PhaseRule* ByOpcode(const std::string& opcode) {
    const auto [place, added] = by_opcode_.try_emplace(opcode, nullptr);
    if (added) {
      place->second = First([&](const PhaseRule& rule) {
        return std::ranges::any_of(rule.opcodes, [&](const std::string& prefix) { return opcode.starts_with(prefix); });
      });
    }
    return place->second;
  }

  const PhaseMap& map_;
  std::map<std::string, const PhaseRule*> by_function_;
  std::map<std::string, const PhaseRule*> by_opcode_;
};

bool Overlap(const PhaseRule::Lines& a, const PhaseRule::Lines& b) {
  return a.file == b.file && a.first <= b.last && b.first <= a.last;
}

/// What both rules claim, in words; empty if nothing.
std::string SharedClaim(const PhaseRule& a, const PhaseRule& b) {
  for (const std::string& function : a.functions) {
    if (std::ranges::find(b.functions, function) != b.functions.end()) return "function " + function;
  }
  for (const PhaseRule::Lines& lines : a.lines) {
    const auto found = std::ranges::find_if(b.lines, [&](const auto& other) { return Overlap(lines, other); });
    if (found == b.lines.end()) continue;
    return lines.file + " lines " + std::to_string(std::max(lines.first, found->first)) + " to " +
           std::to_string(std::min(lines.last, found->last));
  }
  return {};
}

}  // namespace

LabelledFunction LabelByRules(const DeviceFunction& function, const PhaseMap& map, std::string_view grade) {
  RuleFinder finder(map);
  LabelledFunction labelled{&function, kUnattributed, {}};
  labelled.phases.reserve(function.instructions.size());
  labelled.grounds.reserve(function.instructions.size());
  const auto stacks = InlineStacks(function);
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    const auto [rule, by] = finder.Find(*stacks[i], function.instructions[i].opcode);
    labelled.phases.push_back(rule == nullptr ? kUnattributed : rule->phase);
    labelled.grounds.push_back(rule == nullptr ? PhaseGround{} : PhaseGround{grade, by});
  }
  return labelled;
}

std::vector<std::string> PhasesOf(const DeviceFunction& function, const PhaseMap& map) {
  return LabelByRules(function, map, {}).phases;
}

PhaseMap ChoosePhaseMap(const std::vector<const DeviceFunction*>& functions) {
  PhaseMap attention = AttentionPhases();
  RuleFinder finder(attention);
  for (const DeviceFunction* function : functions) {
    for (const Instruction& instruction : function->instructions) {
      for (const InlineFrame& frame : instruction.frames) {
        const PhaseRule* const rule = finder.ByFunction(frame.function);
        if (rule != nullptr && rule->phase != kGenericPhase) return attention;
      }
    }
  }
  return sass::OpcodePhases();
}

std::vector<DataLoss> OverlapsOf(const PhaseMap& map) {
  std::vector<DataLoss> overlaps;
  for (std::size_t a = 0; a < map.rules.size(); ++a) {
    for (std::size_t b = a + 1; b < map.rules.size(); ++b) {
      if (map.rules[a].phase == map.rules[b].phase) continue;
      const std::string claim = SharedClaim(map.rules[a], map.rules[b]);
      if (claim.empty()) continue;
      overlaps.push_back({"phase_map_overlap", map.name,
                          "phases " + map.rules[a].phase + " and " + map.rules[b].phase + " both name " + claim +
                              "; it counts for " + map.rules[a].phase,
                          1});
    }
  }
  return overlaps;
}

}  // namespace fa_profile::analyze
