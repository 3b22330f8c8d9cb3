#include "fa_profile/list_code.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "choose_phases.h"
#include "fa_profile/demangle.h"
#include "fa_profile/inline_stacks.h"
#include "fa_profile/measured_code.h"
#include "measured_call.h"
#include "phase_sums.h"

namespace fa_profile::analyze {
namespace {

using SamplesByReason = std::map<std::string, double>;

double SumOf(const SamplesByReason& samples) {
  double sum = 0.0;
  for (const auto& [reason, count] : samples) sum += count;
  return sum;
}

std::vector<StallShare> StallsOfSamples(const SamplesByReason& samples) {
  const double all = SumOf(samples);
  std::vector<StallShare> stalls;
  for (const auto& [reason, count] : samples) {
    if (reason != "selected" && count > 0.0) stalls.push_back({reason, count / all});
  }
  std::ranges::stable_sort(stalls, std::greater<>(), &StallShare::ratio);
  return stalls;
}

/// Samples in a function: all, and by reason for each of its instructions.
struct SampledFunction {
  double all = 0.0;
  std::vector<SamplesByReason> of;
};

SampledFunction SamplesOfFunction(const DeviceFunction& function, const PcSampling& sampling) {
  SampledFunction sampled;
  sampled.of.resize(function.instructions.size());
  for (const PcSample& pc : sampling.samples) {
    if (pc.function_id != function.id) continue;
    const auto index = IndexOf(function, pc.offset);
    for (const auto& [reason, count] : pc.samples) {
      if (IsTwin(reason)) continue;
      const auto samples = static_cast<double>(count);
      sampled.all += samples;
      if (!index) continue;
      sampled.of[*index][std::string(ReasonAt(reason, &function.instructions[*index]))] += samples;
    }
  }
  return sampled;
}

/// Counts of a function's instructions by metric; empty if it was not counted.
using CountedFunction = std::vector<std::map<std::string, double>>;

CountedFunction CountsOfFunction(const DeviceFunction& function, const SassCounting* counting) {
  CountedFunction counted;
  if (counting == nullptr) return counted;
  for (const SassCount& count : counting->counts) {
    const auto index = count.function_id == function.id ? IndexOf(function, count.offset) : std::nullopt;
    if (!index) continue;
    counted.resize(function.instructions.size());
    for (const auto& [metric, value] : count.values) counted[*index][metric] += static_cast<double>(value);
  }
  return counted;
}

void AddCountsTo(CodeCost& cost, const std::map<std::string, double>& counts,
                 const std::set<std::string>& unavailable) {
  const auto count_of = [&](const char* metric) -> std::optional<double> {
    if (unavailable.contains(metric)) return std::nullopt;
    const auto found = counts.find(metric);
    return found == counts.end() ? 0.0 : found->second;
  };
  cost.executed = count_of(kExecuted);
  const auto threads = count_of(kThreadsExecuted);
  if (threads && cost.executed.value_or(0.0) > 0.0) cost.threads_per_instruction = *threads / *cost.executed;
  const auto taken = [&](const char* metric, const char* ideal_metric, auto& all, auto& excess) {
    const auto ideal = count_of(ideal_metric);
    all = count_of(metric);
    if (all.value_or(0.0) <= 0.0) all.reset();
    if (all && ideal) excess = std::max(0.0, *all - *ideal);
  };
  taken(kWavefronts, kWavefrontsIdeal, cost.shared_wavefronts, cost.excess_wavefronts);
  taken(kSectors, kSectorsIdeal, cost.global_sectors, cost.excess_sectors);
}

std::string TextOf(const Instruction& instruction) {
  std::string text = instruction.predicate;
  for (const std::string* part : {&instruction.opcode, &instruction.operands}) {
    if (!text.empty() && !part->empty()) text += ' ';
    text += *part;
  }
  return text;
}

std::vector<ListedInstruction> InstructionsOf(const LabelledFunction& labelled, const SampledFunction& sampled,
                                              const CountedFunction& counted,
                                              const std::set<std::string>& unavailable) {
  const std::vector<Instruction>& instructions = labelled.function->instructions;
  const auto stacks = InlineStacks(*labelled.function);
  std::vector<ListedInstruction> listed;
  listed.reserve(instructions.size());
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    ListedInstruction each;
    each.index = i;
    each.offset = instructions[i].offset;
    each.phase = i < labelled.phases.size() ? labelled.phases[i] : labelled.otherwise;
    if (i < labelled.grounds.size()) {
      each.grade = labelled.grounds[i].grade;
      each.reason = labelled.grounds[i].reason;
    }
    if (i < sampled.of.size()) {
      each.cost.samples = SumOf(sampled.of[i]);
      each.cost.stalls = StallsOfSamples(sampled.of[i]);
    }
    if (i < counted.size()) AddCountsTo(each.cost, counted[i], unavailable);
    if (!stacks[i]->empty()) each.place = stacks[i]->front();
    each.text = TextOf(instructions[i]);
    listed.push_back(std::move(each));
  }
  return listed;
}

/// Computes shares; a listing neither sampled nor counted has none.
void Weigh(InstructionListing& listing) {
  double executed = 0.0;
  for (const ListedInstruction& each : listing.instructions) executed += each.cost.executed.value_or(0.0);
  const bool sampled = listing.code.samples > 0.0;
  const double all = sampled ? listing.code.samples : executed;
  if (all <= 0.0) return;
  listing.code.weighed_by = sampled ? "samples" : "executed instructions";
  for (ListedInstruction& each : listing.instructions) {
    each.cost.share_ratio = (sampled ? each.cost.samples : each.cost.executed.value_or(0.0)) / all;
  }
}

InstructionListing ListFunction(const LabelledFunction& labelled, const MeasuredCode& code, ListedCode head,
                                const std::set<std::string>& unavailable) {
  const DeviceFunction& function = *labelled.function;
  InstructionListing listing{std::move(head), {}, function.instructions.size()};
  listing.code.function = Demangle(function.name.c_str());
  if (function.instructions.empty()) listing.code.missing = "its machine code was not disassembled";
  const SampledFunction sampled = code.samples ? SamplesOfFunction(function, *code.samples) : SampledFunction();
  const CountedFunction counted = CountsOfFunction(function, code.measured.counting);
  listing.code.samples = sampled.all;
  listing.code.counted = !counted.empty();
  listing.instructions = InstructionsOf(labelled, sampled, counted, unavailable);
  Weigh(listing);
  return listing;
}

/// By the name of the part that launches them; all under "" if the call has one kernel.
std::map<std::string, std::vector<const DeviceFunction*>> ByPart(const MeasuredCode& code, const std::string& part) {
  std::map<std::string, std::vector<const DeviceFunction*>> groups;
  const bool several = part.empty() && code.parts.several();
  for (const DeviceFunction* function : code.functions) {
    groups[several ? code.parts.NameOf(*function) : part].push_back(function);
  }
  return groups;
}

}  // namespace

std::vector<InstructionListing> ListInstructions(const Recording& recording, const ProfileEntry& entry,
                                                 const std::optional<PhaseMap>& map, PhaseSource source) {
  const MeasuredCode code = FindMeasuredCode(recording, entry);
  if (!code.measured.own) return {};
  ListedCode head;
  head.kernel = entry.kernel;
  head.shape = entry.shape;
  head.part = entry.part;
  if (code.functions.empty()) {
    head.missing = WhyNoCode(recording);
    return {{head, {}, 0}};
  }
  const std::set<std::string> unavailable = UnavailableMetrics(recording);
  std::vector<InstructionListing> listings;
  double samples = 0.0;
  for (const auto& [part, functions] : ByPart(code, entry.part)) {
    const ChosenPhases chosen = ChoosePhases(functions, map, source, code.measured.sampling, code.measured.counting);
    for (const LabelledFunction& labelled : chosen.functions) {
      head.part = part;
      head.attribution = chosen.attribution;
      head.inference = chosen.inference;
      listings.push_back(ListFunction(labelled, code, head, unavailable));
      samples += listings.back().code.samples;
    }
  }
  for (InstructionListing& listing : listings) {
    if (samples > 0.0) listing.code.call_share_ratio = listing.code.samples / samples;
  }
  return listings;
}

void KeepHottest(InstructionListing& listing, std::size_t limit) {
  const auto heat = [](const ListedInstruction& each) { return each.cost.share_ratio.value_or(0.0); };
  if (listing.instructions.size() <= limit) return;
  std::ranges::stable_sort(listing.instructions, std::greater<>(), heat);
  listing.instructions.resize(limit);
  std::ranges::sort(listing.instructions, {}, &ListedInstruction::index);
}

}  // namespace fa_profile::analyze
