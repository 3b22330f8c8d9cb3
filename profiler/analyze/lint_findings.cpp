#include "lint_findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "fa_profile/demangle.h"
#include "fa_profile/edit_text.h"
#include "fa_profile/occupancy.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/units.h"
#include "finding_texts.h"
#include "finding_thresholds.h"
#include "machine_calls.h"

namespace fa_profile::analyze {
namespace {

using MaybeFinding = std::optional<Finding>;

/// A finding without its id and cure, which the table has.
Finding Evidence(std::string phase, std::string evidence) {
  return {{}, std::move(phase), std::move(evidence), {}, 0.0};
}

int Count(const LintSubject& subject, const char* what) {
  int sum = 0;
  for (const PhaseCode& row : subject.lint.phases) sum += row.counts.at(what);
  return sum;
}

std::string Plural(std::int64_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

/// " (kernel.cu:12, kernel.cu:20 and 3 more lines)": source lines of instructions, those with most of them first. Empty
/// without line information.
std::string PlacesOf(const LintSubject& subject, const std::vector<std::size_t>& instructions) {
  constexpr std::size_t kShown = 3;
  std::map<std::string, int> counts;
  for (const std::size_t i : instructions) {
    const Instruction& instruction = subject.kernel.function.instructions[i];
    if (!instruction.frames.empty()) ++counts[PlaceOf(instruction)];
  }
  if (counts.empty()) return {};
  std::vector<std::pair<int, std::string>> places;
  for (const auto& [place, count] : counts) places.emplace_back(-count, place);
  std::ranges::sort(places);
  std::vector<std::string> shown;
  for (const auto& [count, place] : places) {
    if (shown.size() < kShown) shown.push_back(place);
  }
  const std::size_t more = places.size() - shown.size();
  return fmt::format(" ({}{})", fmt::join(shown, ", "), more == 0 ? "" : " and " + Plural(more, "more line"));
}

/// Whether an unconditional instruction ends the path here.
bool EndsPath(const Instruction& instruction) {
  const sass::Form form = sass::FormOf(instruction.opcode);
  return instruction.predicate.empty() && (sass::IsEnd(form) || sass::IsBranch(form));
}

/// If the code after a branch was replaced by a trap: the trap's instruction. A trap in the source (__trap(), a failed
/// check) continues from or into other code, or has its own source line. One that the compiler put where it could not
/// go on has neither: it is after the end of a path, only padding follows, and its line is whatever the instruction
/// before happened to have.
std::optional<std::size_t> CompilersTrap(const std::vector<Instruction>& code) {
  const auto same_line = [](const Instruction& instruction, const Instruction& other) {
    return instruction.frames.front().line == other.frames.front().line;
  };
  // If all the code has one line, lines say nothing.
  if (std::ranges::any_of(code, [](const Instruction& i) { return i.frames.empty(); })) return std::nullopt;
  if (std::ranges::all_of(code, [&](const Instruction& i) { return same_line(i, code.front()); })) return std::nullopt;
  for (std::size_t i = 1; i < code.size(); ++i) {
    if (!sass::IsTrap(code[i].opcode) || !EndsPath(code[i - 1]) || !same_line(code[i], code[i - 1])) continue;
    const auto rest = code.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::all_of(rest, code.end(),
                    [](const Instruction& next) { return sass::IsTrap(next.opcode) || IsPadding(next); }))
      return i;
  }
  return std::nullopt;
}

MaybeFinding CodeIsATrap(const LintSubject& subject) {
  const auto& code = subject.kernel.function.instructions;
  const auto has = [&](sass::Form form) {
    return std::ranges::any_of(code, [&](const Instruction& i) { return sass::FormOf(i.opcode) == form; });
  };
  if (!has(sass::Form::kTrap)) return std::nullopt;
  if (!has(sass::Form::kExit)) return Evidence({}, "the code has a trap and no exit: every launch ends in an error");
  const auto trap = CompilersTrap(code);
  if (!trap) return std::nullopt;
  std::set<std::string> from;
  const ControlFlow& flow = subject.code.flow;
  for (const std::size_t block : flow.blocks[flow.block_of[*trap]].predecessors) {
    from.insert(PlaceOf(code[flow.blocks[block].end - 1]));
  }
  return Evidence({}, fmt::format("a trap replaces the target of the branch at {}; the trap has no source line",
                                  from.empty() ? "an unknown place" : fmt::format("{}", fmt::join(from, ", "))));
}

bool IsWmma(std::string_view function) {
  static constexpr std::string_view kNames[] = {"mma_sync", "bmma_sync", "load_matrix_sync", "store_matrix_sync"};
  if (function.find("nvcuda::wmma::") != std::string_view::npos) return true;
  return std::ranges::find(kNames, BaseName(std::string(function))) != std::end(kNames);
}

MaybeFinding WmmaWithoutTensor(const LintSubject& subject) {
  if (Count(subject, "tensor") > 0) return std::nullopt;
  for (std::size_t i = 0; i < subject.kernel.function.instructions.size(); ++i) {
    const Instruction& instruction = subject.kernel.function.instructions[i];
    for (const InlineFrame& frame : instruction.frames) {
      if (!IsWmma(frame.function)) continue;
      return Evidence(subject.code.phase_of[i], fmt::format("{} is inlined at {}, and no matrix instruction is there",
                                                            BaseName(frame.function), PlaceOf(instruction)));
    }
  }
  const std::string name = Lower(subject.lint.name);
  if (name.find("wmma") == std::string::npos && name.find("mma_sync") == std::string::npos) return std::nullopt;
  return Evidence({}, "the kernel's name says WMMA, and its code has no matrix instruction");
}

MaybeFinding Spills(const LintSubject& subject) {
  const LocalAccesses& spills = subject.lint.spills;
  if (spills.stores + spills.loads == 0) return std::nullopt;
  return Evidence({}, fmt::format("{} bytes of spill stores and {} of spill loads a thread, {} registers{}",
                                  spills.store_bytes, spills.load_bytes, subject.lint.registers_per_thread.value_or(0),
                                  PlacesOf(subject, subject.code.spill_instructions)));
}

MaybeFinding StackWithoutSpills(const LintSubject& subject) {
  const KernelLint& lint = subject.lint;
  if (lint.stack_frame_bytes.value_or(0) == 0 || lint.spills.stores + lint.spills.loads > 0) return std::nullopt;
  // printf's arguments are there too, and calls-printf reports them.
  if (!lint.externals.empty() && subject.code.register_addressed == 0) return std::nullopt;
  return Evidence(
      {}, fmt::format("{} bytes of stack a thread, accessed by {}, {} at an address computed at run time{}",
                      lint.stack_frame_bytes.value_or(0), Plural(lint.arrays.stores + lint.arrays.loads, "instruction"),
                      subject.code.register_addressed, PlacesOf(subject, subject.code.array_instructions)));
}

MaybeFinding LocalTrafficInLoop(const LintSubject& subject) {
  const PhaseCode* worst = nullptr;  // deepest, then most
  int in_loops = 0;
  const auto weight = [](const PhaseCode& row) { return std::pair(row.loop_depth, row.counts.at("local")); };
  for (const PhaseCode& row : subject.lint.phases) {
    if (row.loop_depth == 0 || row.counts.at("local") == 0) continue;
    in_loops += row.counts.at("local");
    if (worst == nullptr || weight(row) > weight(*worst)) worst = &row;
  }
  if (worst == nullptr) return std::nullopt;
  std::vector<std::size_t> here;
  for (std::size_t i = 0; i < subject.code.phase_of.size(); ++i) {
    if (subject.code.phase_of[i] == worst->phase && subject.code.flow.loop_depth[i] == worst->loop_depth &&
        IsCounted(subject.kernel.function.instructions[i], "local")) {
      here.push_back(i);
    }
  }
  return Evidence(worst->phase,
                  fmt::format("{} here at loop depth {}{}; in all {} of {} local loads and stores are in loops",
                              worst->counts.at("local"), worst->loop_depth, PlacesOf(subject, here), in_loops,
                              Count(subject, "local")));
}

/// Whether a round of a loop is one tile and not one row. It is if it uses matrix instructions, or waits at an mbarrier
/// for a tile that other warps copy. The warp's own loads and copies only show it in an outermost loop: inside a loop
/// over tiles they may be those of a row.
bool TurnIsATile(const LintSubject& subject, const std::vector<std::size_t>& loop, bool outermost) {
  const auto& code = subject.kernel.function.instructions;
  for (const std::size_t block : loop) {
    const BasicBlock& b = subject.code.flow.blocks[block];
    for (std::size_t i = b.first; i < b.end; ++i) {
      if (IsCounted(code[i], "tensor") || sass::AsksMbarrier(code[i].opcode)) return true;
      if (outermost && IsCounted(code[i], "global")) return true;
    }
  }
  return false;
}

MaybeFinding BarriersPerRow(const LintSubject& subject) {
  const auto& code = subject.kernel.function.instructions;
  int barriers = 0;
  int per_row = 0;
  std::optional<std::size_t> deepest;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!sass::WaitsAtBarrier(code[i].opcode)) continue;
    ++barriers;
    const int depth = subject.code.flow.loop_depth[i];
    if (depth == 0) continue;
    const std::vector<std::size_t> loop = LoopAround(subject.code.flow, i);
    const bool outermost = depth < kRowLoopDepth;
    if ((outermost && loop.empty()) || TurnIsATile(subject, loop, outermost)) continue;
    ++per_row;
    if (!deepest || subject.code.flow.loop_depth[*deepest] < depth) deepest = i;
  }
  if (!deepest) return std::nullopt;
  return Evidence(subject.code.phase_of[*deepest],
                  fmt::format("{} of {}, the deepest at loop depth {} ({})", per_row, Plural(barriers, "barrier"),
                              subject.code.flow.loop_depth[*deepest], PlaceOf(code[*deepest])));
}

MaybeFinding CallsPrintf(const LintSubject& subject) {
  const std::vector<std::string>& externals = subject.lint.externals;
  if (std::ranges::find(externals, "vprintf") == externals.end()) return std::nullopt;
  std::string evidence = "the kernel calls printf";
  if (externals.size() == 1) {  // then every call of the device runtime is this one
    std::set<std::string> places;
    for (const MachineCall& call : RuntimeCalls(subject.kernel.function)) places.insert(call.where);
    if (!places.empty()) evidence += fmt::format(" ({})", fmt::join(places, ", "));
  }
  return Evidence({}, evidence);
}

MaybeFinding NoLineInformation(const LintSubject& subject) {
  if (subject.lint.has_line_information) return std::nullopt;
  return Evidence({}, "the cubin was built without line information: nothing ties its code to functions and lines");
}

MaybeFinding NoBlockFits(const LintSubject& subject) {
  if (!subject.limits || subject.launch.block[0] == 0) return std::nullopt;
  const Device& sm = *subject.limits;
  const std::int64_t shared = subject.launch.static_shared_memory_bytes + subject.launch.dynamic_shared_memory_bytes;
  if (shared > sm.shared_memory_per_block_optin_bytes) {
    return Evidence({}, fmt::format("a block needs {} bytes of shared memory; {} allows {}", shared,
                                    subject.lint.architecture, sm.shared_memory_per_block_optin_bytes));
  }
  const OccupancyLimits limits = BlocksPerSm(sm, subject.launch);
  if (limits.registers && *limits.registers == 0) {
    return Evidence({}, fmt::format("{} threads of {} registers are more than the 65536 of an SM",
                                    subject.launch.block[0], subject.launch.registers_per_thread));
  }
  return std::nullopt;
}

MaybeFinding LowOccupancy(const LintSubject& subject) {
  const auto& occupancy = subject.lint.occupancy;
  if (!occupancy || occupancy->theoretical_ratio >= kLowTheoreticalOccupancy) return std::nullopt;
  const auto limits = [&](const char* resource) { return std::ranges::count(occupancy->limiters, resource) > 0; };
  if (!limits("registers") && !limits("shared memory")) return std::nullopt;
  return Evidence(
      {}, fmt::format("{} of an SM's warps: {} of {} threads, limited by {}",
                      FormatValue(occupancy->theoretical_ratio, "ratio"), Plural(occupancy->blocks_per_sm, "block"),
                      subject.lint.threads_per_block.value_or(0), fmt::join(occupancy->limiters, " and ")));
}

struct LintRule {
  const char* id;
  MaybeFinding (*find)(const LintSubject&);
  bool needs_loops = false;  ///< left out if control flow is not known
};

// Lint's findings, in the order in which a kernel's are listed. To add one: its rule above and a row here, its text in
// findings/lint/<id>.md, a case in tests/lint_test.cpp, and one on real code in tests/cli_lint_test.cpp.
constexpr LintRule kLintRules[] = {
    {"code-is-a-trap", CodeIsATrap},
    {"wmma-without-tensor", WmmaWithoutTensor},
    {"spills", Spills},
    {"stack-without-spills", StackWithoutSpills},
    {"local-traffic-in-loop", LocalTrafficInLoop, /*needs_loops=*/true},
    {"barrier-per-row", BarriersPerRow, /*needs_loops=*/true},
    {"calls-printf", CallsPrintf},
    {"no-line-information", NoLineInformation},
    {"no-block-fits", NoBlockFits},
    {"low-theoretical-occupancy", LowOccupancy},
};

}  // namespace

const std::vector<FindingRule>& LintRules() {
  static const std::vector<FindingRule> rules = [] {
    std::vector<FindingRule> all;
    for (const LintRule& rule : kLintRules) all.push_back(ReadFindingText(rule.id));
    return all;
  }();
  return rules;
}

std::vector<Finding> FindInCode(const LintSubject& subject) {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < std::size(kLintRules); ++i) {
    if (kLintRules[i].needs_loops && subject.lint.unknown_branches > 0) continue;
    MaybeFinding found = kLintRules[i].find(subject);
    if (!found) continue;
    found->id = kLintRules[i].id;
    found->cure = LintRules()[i].cure;
    findings.push_back(std::move(*found));
  }
  return findings;
}

}  // namespace fa_profile::analyze
