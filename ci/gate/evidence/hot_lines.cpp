#include "hot_lines.h"

#include <algorithm>
#include <ranges>

#include "fa_profile/demangle.h"
#include "fa_profile/inline_stacks.h"
#include "fa_profile/measured_code.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/phases.h"
#include "fa_profile/repository.h"

namespace fa_profile::gate {
namespace {

std::uint64_t Samples(const PcSample& sample) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : sample.samples) {
    if (!reason.ends_with("_not_issued")) sum += count;  // the same samples, counted in another way
  }
  return sum;
}

// The phase's frame: the outermost one that a rule names, as in PhasesOf(); else the kernel's.
const InlineFrame* PhaseFrame(const std::vector<InlineFrame>& frames, const PhaseMap& map) {
  for (const InlineFrame& frame : frames | std::views::reverse) {
    const std::string name = BaseName(frame.function);
    for (const PhaseRule& rule : map.rules) {
      if (std::ranges::find(rule.functions, name) != rule.functions.end()) return &frame;
    }
  }
  return frames.empty() ? nullptr : &frames.back();
}

// The part of a call that runs a kernel, named as in AnalyzePhases().
std::string PartOf(const ProfileEntry& entry, const DeviceFunction& function) {
  const std::string name = Demangle(function.name.c_str());
  std::vector<std::string> parts;
  for (const Launch& launch : entry.launches) {
    if (launch.kernel_name != name || launch.part.empty()) continue;
    if (std::ranges::find(parts, launch.part) == parts.end()) parts.push_back(launch.part);
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " + ") + part;
  return text.empty() ? kUnattributed : text;
}

}  // namespace

HotLines::HotLines(const Recording& recording, std::string repository)
    : recording_(recording), repository_(std::move(repository)) {
  for (const DeviceFunction& function : recording.functions) functions_.emplace(function.id, &function);
}

std::map<std::string, SourcePlace> HotLines::Of(const ProfileEntry& entry) {
  std::vector<const PcSampling*> samplings;
  for (const PcSampling& sampling : recording_.samplings) {
    if (sampling.case_id == entry.case_id && sampling.part == entry.part) samplings.push_back(&sampling);
  }
  const bool by_kernels = entry.phases && entry.phases->attribution == "kernels";
  const bool attention =
      analyze::ChoosePhaseMap(analyze::MeasuredFunctions(recording_, samplings, {})).name == AttentionPhases().name;

  std::map<std::string, std::map<Line, std::uint64_t>> samples;
  for (const PcSampling* sampling : samplings) {
    for (const PcSample& sample : sampling->samples) {
      const auto found = functions_.find(sample.function_id);
      if (found == functions_.end()) continue;
      const DeviceFunction& function = *found->second;
      const auto index = analyze::IndexOf(function, sample.offset);
      if (!index) continue;
      const Located& at = Locate(function, attention)[*index];
      if (at.line.second <= 0) continue;
      const std::uint64_t count = Samples(sample);
      samples[{}][at.line] += count;
      samples[by_kernels ? PartOf(entry, function) : at.phase][at.line] += count;
    }
  }
  std::map<std::string, SourcePlace> places;
  for (const auto& [phase, lines] : samples) {
    const auto hottest = std::ranges::max_element(lines, {}, [](const auto& line) { return line.second; });
    if (hottest->second > 0) places[phase] = {Relative(hottest->first.first), hottest->first.second};
  }
  return places;
}

const std::vector<HotLines::Located>& HotLines::Locate(const DeviceFunction& function, bool attention) {
  const auto [found, is_new] = located_.try_emplace({function.id, attention});
  if (!is_new) return found->second;
  const PhaseMap map = attention ? AttentionPhases() : sass::OpcodePhases();
  std::vector<std::string> phases = analyze::PhasesOf(function, map);
  const auto stacks = analyze::InlineStacks(function);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const InlineFrame* frame = PhaseFrame(*stacks[i], map);
    found->second.push_back({std::move(phases[i]), frame == nullptr ? Line() : Line(frame->file, frame->line)});
  }
  return found->second;
}

const std::string& HotLines::Relative(const std::string& path) {
  const auto [found, is_new] = relative_.try_emplace(path);
  if (is_new) found->second = RelativeSource(path, repository_);
  return found->second;
}

}  // namespace fa_profile::gate
