#include "async_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include "control_flow.h"
#include "fa_profile/demangle.h"
#include "fa_profile/inline_stacks.h"
#include "fa_profile/measured_code.h"
#include "fa_profile/opcodes.h"
#include "mbarrier_copies.h"
#include "mbarrier_waits.h"

namespace fa_profile::analyze {
namespace {

/// A function's instructions, with the time that warps spent at them.
struct TimedCode {
  const LabelledFunction& labelled;
  std::vector<bool> async_wait;  // AsyncWaits()
  std::vector<double> executed;
  std::vector<double> warp_cycles;  // for all executions
  std::vector<double> work_cycles;  // the part of these spent working
  // By wait for copies or stores: cycles of warps found at the next instruction. DEPBAR holds a warp there.
  std::vector<double> cycles_behind;

  const std::vector<Instruction>& instructions() const { return labelled.function->instructions; }
  const std::string& PhaseAt(std::size_t i) const {
    return i < labelled.phases.size() ? labelled.phases[i] : labelled.otherwise;
  }
  double Mean(const std::vector<double>& cycles, std::size_t i) const {
    return executed[i] > 0.0 ? cycles[i] / executed[i] : 0.0;
  }
};

/// Where the phase's function is called; for code without inline functions, its own line.
std::string CallPlaceOf(const std::vector<InlineFrame>& stack, const std::string& phase, std::uint32_t offset) {
  if (stack.empty()) return fmt::format("0x{:04x}", offset);
  std::size_t at = 0;
  for (std::size_t i = 0; i + 1 < stack.size(); ++i) {
    if (BaseName(stack[i].function) == phase) at = i + 1;
  }
  return fmt::format("{}:{}", stack[at].file.substr(stack[at].file.rfind('/') + 1), stack[at].line);
}

/// How many newer groups a wait lets run on: N in "gsb0, 0x1" and in "SB0, 0x1".
std::size_t NewerGroups(const Instruction& wait) {
  const std::size_t start = wait.operands.find("0x");
  std::size_t newer = 0;
  if (start != std::string::npos) {
    std::from_chars(wait.operands.data() + start + 2, wait.operands.data() + wait.operands.size(), newer, 16);
  }
  return newer;
}

using EndsGroup = bool (*)(const Instruction&);

bool EndsMatrixGroup(const Instruction& instruction) {
  return sass::ClassOf(instruction.opcode) == sass::OpcodeClass::kTensor &&
         instruction.operands.find("gsb0") != std::string::npos;
}
bool EndsStoreGroup(const Instruction& instruction) {
  return sass::FormOf(instruction.opcode) == sass::Form::kStoreGroupEnd;
}
bool EndsCopyGroup(const Instruction& instruction) {
  return sass::FormOf(instruction.opcode) == sass::Form::kCopyGroupEnd || EndsStoreGroup(instruction);
}

/// How often warps went from one block to a successor, as far as the blocks' counts show.
double TimesTaken(const TimedCode& code, const ControlFlow& flow, std::size_t from, std::size_t to) {
  const auto begun = [&](std::size_t block) { return code.executed[flow.blocks[block].first]; };
  double times = code.executed[flow.blocks[from].end - 1];
  for (const std::size_t other : flow.blocks[from].successors) {
    if (other != to) times -= begun(other);
  }
  return std::clamp(times, 0.0, begun(to));
}

/// From a wait back to and including the last instruction of the group that it waits for, along the most executed path.
/// Nothing if no such group is on that path, or if it is further away than any compiler puts it.
std::optional<std::vector<std::size_t>> WayToGroup(const TimedCode& code, const ControlFlow& flow, std::size_t wait,
                                                   EndsGroup ends_group) {
  constexpr std::size_t kMostNewer = 64;
  constexpr std::size_t kLongestWay = 8192;
  const std::size_t newer = NewerGroups(code.instructions()[wait]);
  if (newer > kMostNewer) return std::nullopt;
  std::vector<std::size_t> way;
  std::set<std::size_t> entered;  // blocks, from their end
  std::size_t groups = 0;
  std::size_t block = flow.block_of[wait];
  std::size_t end = wait;
  while (true) {
    for (std::size_t i = end; i > flow.blocks[block].first; --i) {
      way.push_back(i - 1);
      if (ends_group(code.instructions()[i - 1]) && groups++ == newer) return way;
    }
    std::optional<std::size_t> before;
    double most = 0.0;
    for (const std::size_t candidate : flow.blocks[block].predecessors) {
      const double times = TimesTaken(code, flow, candidate, block);
      if (entered.contains(candidate) || (before && times <= most)) continue;
      before = candidate;
      most = times;
    }
    if (!before || way.size() > kLongestWay) return std::nullopt;
    block = *before;
    end = flow.blocks[block].end;
    entered.insert(block);
  }
}

/// Waits in one function, with the sums over all their executions instead of means.
class FunctionWaits {
 public:
  explicit FunctionWaits(const TimedCode& code)
      : code_(code), flow_(ReadControlFlow(*code.labelled.function)), stacks_(InlineStacks(*code.labelled.function)) {}

  void AddMbarriers(std::vector<AsyncWait>& waits) const {
    const DeviceFunction& function = *code_.labelled.function;
    const std::vector<MbarrierWait> found = MbarrierWaits(function);
    const MbarrierCopies copies = CopiesWaitedFor(function, found);
    std::vector<std::vector<PhasePlace>> places;
    for (const CopyGroup& group : copies.groups) places.push_back(PlacesOf(group));
    for (std::size_t k = 0; k < found.size(); ++k) {
      const MbarrierWait& wait = found[k];
      std::set<std::size_t> parts{wait.question, wait.branch};
      for (std::size_t i = wait.loop_first; i <= wait.loop_last; ++i) parts.insert(i);
      double cycles = 0.0;
      for (const std::size_t i : parts) cycles += code_.warp_cycles[i];
      const double times = wait.early() ? code_.executed[wait.branch] : TimesLeft(wait);
      if (times <= 0.0) continue;
      AsyncWait& added = Add("mbarrier", wait.branch, times, cycles, waits);
      if (copies.group_of_wait[k]) AddCopies(places[*copies.group_of_wait[k]], added.copies);
    }
  }

  void AddGroups(std::vector<AsyncWait>& waits) const {
    for (std::size_t i = 0; i < code_.instructions().size(); ++i) {
      const std::string_view opcode = code_.instructions()[i].opcode;
      if (sass::WaitsForProducts(opcode)) AddGroup(i, EndsMatrixGroup, waits);
      if (sass::FormOf(opcode) == sass::Form::kGroupWait) AddGroup(i, EndsCopyGroup, waits);
    }
  }

 private:
  /// A loop that asks until the answer is yes is left once per wait.
  double TimesLeft(const MbarrierWait& wait) const {
    const double behind = wait.branch + 1 < code_.executed.size() ? code_.executed[wait.branch + 1] : 0.0;
    if (wait.leaves_by_branch) return std::max(0.0, code_.executed[wait.branch] - behind);
    // Others may arrive at the place after it, but no more leave than came in.
    const std::size_t block = flow_.block_of[wait.loop_first];
    const bool falls_in = wait.loop_first > 0 && flow_.blocks[block].first == wait.loop_first &&
                          std::ranges::find(flow_.blocks[block].predecessors, flow_.block_of[wait.loop_first - 1]) !=
                              flow_.blocks[block].predecessors.end();
    return falls_in ? std::min(behind, code_.executed[wait.loop_first - 1]) : behind;
  }

  void AddGroup(std::size_t wait, EndsGroup ends_group, std::vector<AsyncWait>& waits) const {
    if (code_.executed[wait] <= 0.0) return;
    auto way = WayToGroup(code_, flow_, wait, ends_group);
    if (!way) return;
    const Instruction& last = code_.instructions()[way->back()];
    const char* const kind = EndsMatrixGroup(last) ? "matrix" : EndsStoreGroup(last) ? "store" : "copy";
    way->pop_back();
    const double times = code_.executed[wait];
    AsyncWait& added = Add(kind, wait, times, code_.warp_cycles[wait] + code_.cycles_behind[wait], waits);
    double issued_before = added.issued_before_cycles.value_or(0.0);
    for (const std::size_t i : *way) {
      // A loop that asks runs several times for one wait.
      const bool asks = code_.async_wait[i] && code_.executed[i] > times;
      issued_before += asks ? code_.warp_cycles[i] : times * code_.Mean(code_.warp_cycles, i);
      const double work = times * code_.Mean(code_.work_cycles, i);
      if (work > 0.0) added.beside_cycles[code_.PhaseAt(i)] += work;
    }
    added.issued_before_cycles = issued_before;
  }

  /// Places of the copies that ran, sorted; the first ones.
  std::vector<PhasePlace> PlacesOf(const CopyGroup& copies) const {
    std::vector<PhasePlace> places;
    for (const std::size_t copy : copies) {
      if (code_.executed[copy] > 0.0) places.push_back({code_.PhaseAt(copy), PlaceOf(copy)});
    }
    return KeepFirst(std::move(places));
  }

  static std::vector<PhasePlace> KeepFirst(std::vector<PhasePlace> places) {
    constexpr std::size_t kMostPlaces = 16;
    const auto order = [](const PhasePlace& place) { return std::pair(place.phase, OrderOfPlace(place.place)); };
    std::ranges::sort(places, {}, order);
    const auto repeated = std::ranges::unique(places);
    places.erase(repeated.begin(), repeated.end());
    places.resize(std::min(places.size(), kMostPlaces));
    return places;
  }

  static void AddCopies(const std::vector<PhasePlace>& more, std::vector<PhasePlace>& copies) {
    if (copies == more) return;
    copies.insert(copies.end(), more.begin(), more.end());
    copies = KeepFirst(std::move(copies));
  }

  std::string PlaceOf(std::size_t i) const {
    return CallPlaceOf(*stacks_[i], code_.PhaseAt(i), code_.instructions()[i].offset);
  }

  AsyncWait& Add(const char* kind, std::size_t at, double times, double cycles, std::vector<AsyncWait>& waits) const {
    const std::string& phase = code_.PhaseAt(at);
    const std::string place = PlaceOf(at);
    auto found = std::ranges::find_if(
        waits, [&](const AsyncWait& each) { return each.kind == kind && each.phase == phase && each.place == place; });
    if (found == waits.end()) found = waits.insert(found, AsyncWait{kind, phase, place, 0.0, 0.0, {}, {}, {}});
    found->waits += times;
    found->waited_cycles += cycles;
    return *found;
  }

  const TimedCode& code_;
  ControlFlow flow_;
  std::vector<const std::vector<InlineFrame>*> stacks_;
};

/// The function with samples instead of cycles.
TimedCode SampledCode(const LabelledFunction& labelled, const PcSampling& sampling, const SassCounting& counting) {
  const DeviceFunction& function = *labelled.function;
  const std::vector<double> none(function.instructions.size(), 0.0);
  TimedCode code{labelled, AsyncWaits(function), ExecutedOf(function, &counting), none, none, none};
  for (const PcSample& pc : sampling.samples) {
    const auto index = pc.function_id == function.id ? IndexOf(function, pc.offset) : std::nullopt;
    if (!index) continue;
    const auto waits_for_groups = [&](std::size_t i) {
      return sass::FormOf(function.instructions[i].opcode) == sass::Form::kGroupWait;
    };
    const bool waits = code.async_wait[*index] || waits_for_groups(*index) ||
                       sass::WaitsForProducts(function.instructions[*index].opcode);
    const bool behind_depbar = *index > 0 && waits_for_groups(*index - 1);
    for (const auto& [reason, count] : pc.samples) {
      if (IsTwin(reason)) continue;
      const auto samples = static_cast<double>(count);
      code.warp_cycles[*index] += samples;
      if (behind_depbar && reason == "long_scoreboard") {
        code.cycles_behind[*index - 1] += samples;
        code.warp_cycles[*index] -= samples;
      } else if (!waits && reason != "barrier" && reason != "sleeping") {
        code.work_cycles[*index] += samples;
      }
    }
  }
  return code;
}

}  // namespace

std::pair<std::string, long> OrderOfPlace(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  const bool line = colon != std::string::npos;
  const std::size_t begin = line ? colon + 1 : place.starts_with("0x") ? 2 : 0;
  long number = 0;
  std::from_chars(place.data() + begin, place.data() + place.size(), number, line ? 10 : 16);
  return {line ? place.substr(0, colon) : std::string(), number};
}

std::vector<AsyncWait> AsyncWaitsOf(const std::vector<LabelledFunction>& functions, const PcSampling& sampling,
                                    const SassCounting& counting, double warp_cycles) {
  std::vector<TimedCode> codes;
  double all = 0.0;
  for (const LabelledFunction& labelled : functions) {
    TimedCode code = SampledCode(labelled, sampling, counting);
    for (const double count : code.warp_cycles) all += count;
    for (const double count : code.cycles_behind) all += count;
    if (!code.executed.empty()) codes.push_back(std::move(code));
  }
  std::vector<AsyncWait> waits;
  if (all <= 0.0) return waits;
  for (TimedCode& code : codes) {
    for (std::vector<double>* const cycles : {&code.warp_cycles, &code.work_cycles, &code.cycles_behind}) {
      for (double& each : *cycles) each *= warp_cycles / all;
    }
    const FunctionWaits of_function(code);
    of_function.AddMbarriers(waits);
    of_function.AddGroups(waits);
  }
  std::ranges::stable_sort(waits, std::greater<>(), &AsyncWait::waited_cycles);
  for (AsyncWait& wait : waits) {
    wait.waited_cycles /= wait.waits;
    if (wait.issued_before_cycles) *wait.issued_before_cycles /= wait.waits;
    for (auto& [phase, cycles] : wait.beside_cycles) cycles /= wait.waits;
  }
  return waits;
}

std::optional<ProductOverlap> OverlapOf(const std::vector<AsyncWait>& waits) {
  ProductOverlap overlap;
  double all = 0.0;
  for (const AsyncWait& wait : waits) {
    if (wait.kind != "matrix") continue;
    all += wait.waits * (wait.issued_before_cycles.value_or(0.0) + wait.waited_cycles);
    for (const auto& [phase, cycles] : wait.beside_cycles) overlap.phase_ratio[phase] += wait.waits * cycles;
  }
  if (all <= 0.0) return std::nullopt;
  for (auto& [phase, ratio] : overlap.phase_ratio) {
    ratio /= all;
    overlap.work_ratio += ratio;
  }
  return overlap;
}

}  // namespace fa_profile::analyze
