#include "fa_profile/weigh_gpu_time.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "call_times.h"
#include "divide_time.h"
#include "fa_profile/call_name.h"
#include "fa_profile/demangle.h"
#include "fa_profile/text.h"

namespace fa_profile::analyze {
namespace {

constexpr const char* kOutsideRanges = "(outside NVTX ranges)";
constexpr const char* kCopiesAndSets = "(copies and sets)";
/// Ranges nested deeper are folded into the one at this depth: viewers and stacks have limits.
constexpr int kDeepestRange = 100;
/// If ranges contain this many kernels, those under a millionth of the time are not divided further.
constexpr std::size_t kManyKernels = 10000;
constexpr double kLeastDivided = 1e-6;

void SortByTime(std::vector<GpuTimeNode>& nodes) {
  std::ranges::stable_sort(nodes, std::greater<>(), &GpuTimeNode::ns);
}

/// Adds nodes as long as their sum is a time: a recording may hold any numbers.
void Append(std::vector<GpuTimeNode>& nodes, std::int64_t& sum_ns, GpuTimeNode node) {
  if (node.ns > kMostWholeNs - sum_ns) {
    node.ns = kMostWholeNs - sum_ns;
    node.nested.clear();
  }
  if (node.ns <= 0) return;
  sum_ns += node.ns;
  nodes.push_back(std::move(node));
}

// Calls.

std::vector<GpuTimeNode> KernelsOf(const std::vector<Launch>& launches, const std::string& part, std::int64_t ns,
                                   const CodeShares& shares) {
  const std::vector<std::int64_t> portions = Portions(ns, LaunchRatios(launches));
  std::vector<GpuTimeNode> kernels;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::vector<PhaseRatio> phases = shares.Of(launches[i].case_id, part, launches[i].kernel_name);
    kernels.push_back({GpuTimeKind::kKernel,
                       ShortName(launches[i].kernel_name),
                       portions[i],
                       {},
                       0,
                       PhaseNodes(phases, portions[i], true)});
  }
  SortByTime(kernels);
  return kernels;
}

/// A call whose launches were not recorded directly contains the phases of its kernels.
std::vector<GpuTimeNode> InsideOf(const ProfileEntry& entry, std::int64_t ns, const CodeShares& shares) {
  if (!entry.launches.empty()) return KernelsOf(entry.launches, entry.part, ns, shares);
  return PhaseNodes(shares.Of(entry.case_id, entry.part, {}), ns, true);
}

GpuTimeNode NodeOfCall(const CallTimes& call, const CodeShares& shares) {
  const ProfileEntry& first = *call.first;
  GpuTimeNode node{GpuTimeKind::kRange, CallName(first.kernel, first.shape), call.ns, {}, 0, {}};
  if (call.parts.empty()) {
    node.nested = InsideOf(first, node.ns, shares);
    return node;
  }
  for (const CallTimes::Part& part : call.parts) {
    node.nested.push_back(
        {GpuTimeKind::kPart, part.entry->part, part.ns, {}, 0, InsideOf(*part.entry, part.ns, shares)});
  }
  SortByTime(node.nested);
  return node;
}

// Programs.

/// Launches of one class in an NVTX range but in none nested in it.
struct RangeWork {
  const ProfileEntry* entry = nullptr;
  std::int64_t ns = 0;
};

/// A range of a program, in the order of ProgramUse: before those nested in it.
struct RangeNode {
  GpuTimeNode node;
  std::size_t around = 0;  ///< its place in the list; its own: outermost
};

class ProgramTime {
 public:
  ProgramTime(const Recording& recording, const Profile& profile, const CodeShares& shares,
              const std::set<std::string>& chosen)
      : profile_(profile), shares_(shares), chosen_(chosen) {
    for (const ProfileEntry& entry : profile.entries) {
      if (entry.use && entry.part.empty()) classes_.emplace(entry.case_id, &entry);
    }
    AddRanges();
    AddWork(recording);
  }

  GpuTime Take() {
    GpuTime time;
    for (GpuTimeNode& range : TakeRanges()) Append(time.nodes, time.total_ns, std::move(range));
    if (chosen_.empty()) {
      AddRest(time);
      AddMemoryTime(time);
    }
    SortByTime(time.nodes);
    return time;
  }

 private:
  bool IsChosen(const std::string& path) const {
    return chosen_.empty() || std::ranges::any_of(chosen_, [&](const std::string& one) {
             return path == one || path.starts_with(one + " / ");
           });
  }

  void AddRanges() {
    std::vector<std::size_t> open;  // by level
    for (const NvtxUse& use : profile_.program->nvtx) {
      const auto level = static_cast<std::size_t>(std::clamp(use.level, 0, static_cast<int>(open.size())));
      open.resize(level);
      if (level > kDeepestRange) {
        places_.emplace(use.path, open[kDeepestRange]);
        open.push_back(open[kDeepestRange]);
        continue;
      }
      const std::size_t place = ranges_.size();
      ranges_.push_back({{GpuTimeKind::kRange, use.name, 0, {}, 0, {}}, open.empty() ? place : open.back()});
      places_.emplace(use.path, place);
      open.push_back(place);
    }
  }

  /// The range with this path, or the nearest known one around it; null: there is none.
  const std::size_t* PlaceOf(std::string_view path) const {
    for (int tried = 0; tried <= kDeepestRange; ++tried) {
      if (const auto found = places_.find(path); found != places_.end()) return &found->second;
      const std::size_t end = path.rfind(" / ");
      if (end == std::string_view::npos) break;
      path = path.substr(0, end);
    }
    return nullptr;
  }

  void AddWork(const Recording& recording) {
    for (const NvtxKernelWork& work : recording.nvtx_kernel_work) {
      const auto of = classes_.find(work.case_id);
      const std::size_t* const place = PlaceOf(work.path);
      if (of == classes_.end() || place == nullptr || !IsChosen(work.path)) continue;
      // The windows of a class in a range add up to at most the class.
      std::int64_t& used = used_[work.case_id];
      const std::int64_t ns = std::clamp<std::int64_t>(work.gpu_ns, 0, WholeNs(of->second->use->total_ns) - used);
      used += ns;
      RangeWork& sum = work_[*place][work.case_id];
      sum.entry = of->second;
      sum.ns += ns;
    }
    for (const auto& [place, kernels] : work_) kernels_ += kernels.size();
  }

  GpuTimeNode NodeOfClass(const ProfileEntry& entry, std::int64_t ns) {
    GpuTimeNode node{GpuTimeKind::kKernel, SafeLine(entry.kernel), ns, {}, 0, {}};
    const auto total = static_cast<double>(profile_.program->kernel_ns);
    if (kernels_ > kManyKernels && static_cast<double>(ns) < total * kLeastDivided) return node;
    const auto [phases, is_new] = phases_.try_emplace(entry.case_id);
    if (is_new) phases->second = shares_.Of(entry.case_id, {}, {});
    node.nested = PhaseNodes(phases->second, ns, true);
    return node;
  }

  /// From the innermost range outwards.
  std::vector<GpuTimeNode> TakeRanges() {
    std::vector<GpuTimeNode> outermost;
    for (std::size_t i = ranges_.size(); i-- > 0;) {
      GpuTimeNode& node = ranges_[i].node;
      if (const auto own = work_.find(i); own != work_.end()) {
        for (const auto& [case_id, work] : own->second) Append(node.nested, node.ns, NodeOfClass(*work.entry, work.ns));
      }
      SortByTime(node.nested);
      if (ranges_[i].around == i) {
        outermost.push_back(std::move(node));
      } else {
        GpuTimeNode& around = ranges_[ranges_[i].around].node;
        Append(around.nested, around.ns, std::move(node));
      }
    }
    return outermost;
  }

  /// Adds everything outside of ranges.
  void AddRest(GpuTime& time) {
    GpuTimeNode rest{GpuTimeKind::kRange, kOutsideRanges, 0, {}, 0, {}};
    std::vector<GpuTimeNode>& nodes = ranges_.empty() ? time.nodes : rest.nested;
    std::int64_t& sum_ns = ranges_.empty() ? time.total_ns : rest.ns;
    for (const auto& [case_id, entry] : classes_) {
      Append(nodes, sum_ns, NodeOfClass(*entry, WholeNs(entry->use->total_ns) - used_[case_id]));
    }
    if (ranges_.empty()) return;
    SortByTime(rest.nested);
    Append(time.nodes, time.total_ns, std::move(rest));
  }

  void AddMemoryTime(GpuTime& time) const {
    GpuTimeNode all{GpuTimeKind::kMemory, kCopiesAndSets, 0, {}, 0, {}};
    for (const MemoryUse& use : profile_.program->memory) {
      Append(all.nested, all.ns, {GpuTimeKind::kMemory, use.kind, WholeNs(use.total_ns), {}, 0, {}});
    }
    Append(time.nodes, time.total_ns, std::move(all));
  }

  const Profile& profile_;
  const CodeShares& shares_;
  const std::set<std::string>& chosen_;
  std::map<std::int64_t, const ProfileEntry*> classes_;  // by case
  std::vector<RangeNode> ranges_;
  std::map<std::string, std::size_t, std::less<>> places_;  // ranges, by path
  std::map<std::size_t, std::map<std::int64_t, RangeWork>> work_;
  std::map<std::int64_t, std::int64_t> used_;  // time of a class, in ranges
  std::map<std::int64_t, std::vector<PhaseRatio>> phases_;
  std::size_t kernels_ = 0;
};

}  // namespace

GpuTime WeighGpuTime(const Recording& recording, const Profile& profile, const std::optional<PhaseMap>& map,
                     PhaseSource source, const std::set<std::string>& ranges) {
  const CodeShares shares(recording, profile, map, source);
  if (profile.program) return ProgramTime(recording, profile, shares, ranges).Take();
  GpuTime time;
  for (const CallTimes& call : TimesOfCalls(profile)) Append(time.nodes, time.total_ns, NodeOfCall(call, shares));
  SortByTime(time.nodes);
  return time;
}

}  // namespace fa_profile::analyze
