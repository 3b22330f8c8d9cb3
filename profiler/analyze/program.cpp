#include "program.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "fa_profile/text.h"
#include "layers.h"

namespace fa_profile::analyze {
namespace {

/// How far busy time may exceed a window's watched time before a DataLoss reports it: work that runs over an edge.
constexpr double kEdgeRatio = 0.01;

/// Columns for the text that distinguishes two launch classes.
constexpr std::size_t kLongestVariant = 60;

/// Names in a path that are tried as the enclosing range: more than any program nests, and few enough for any text.
constexpr int kMostNested = 256;

constexpr std::string_view kNested = " / ";

std::optional<double> Ratio(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// Time of a window in which launches were seen. Times of day need more bits than a difference can have.
std::int64_t WatchedNs(const WatchWindow& window) {
  const double elapsed = ElapsedNs(window.start_ns, window.end_ns);
  if (elapsed <= 0.0) return 0;
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t length = elapsed >= static_cast<double>(kMost) ? kMost : window.end_ns - window.start_ns;
  return std::max<std::int64_t>(length - std::max<std::int64_t>(window.measuring_ns, 0), 0);
}

void AddWindows(const Recording& recording, ProgramUse& program, std::vector<DataLoss>& losses) {
  DataLoss disagree{"clocks_disagree", "watch window", "the GPU was busy for longer than it was watched", 0};
  for (const WatchWindow& window : recording.watch_windows) {
    const std::int64_t watched = WatchedNs(window);
    ++program.windows;
    AddTo(program.watched_ns, watched);
    AddTo(program.measuring_ns, window.measuring_ns);
    AddTo(program.unrecorded_ns, std::min(window.unrecorded_ns, watched));
    AddTo(program.busy_ns, std::min(window.busy_ns, watched));
    if (static_cast<double>(window.busy_ns) > static_cast<double>(watched) * (1.0 + kEdgeRatio)) ++disagree.count;
  }
  program.busy_ratio = Ratio(program.busy_ns, program.watched_ns);
  if (program.busy_ratio) program.idle_ratio = 1.0 - *program.busy_ratio;
  if (disagree.count > 0) losses.push_back(std::move(disagree));
}

void AddKernels(const Recording& recording, ProgramUse& program, std::vector<ProfileEntry>& entries) {
  std::map<std::int64_t, KernelUse> uses;
  for (const KernelWork& work : recording.kernel_work) {
    if (work.launches <= 0) continue;
    const auto [place, is_new] = uses.try_emplace(work.case_id);
    KernelUse& use = place->second;
    use.min_ns = is_new ? work.min_ns : std::min(use.min_ns, work.min_ns);
    use.max_ns = std::max(use.max_ns, work.max_ns);
    AddTo(use.launches, work.launches);
    AddTo(use.graph_launches, std::min(work.graph_launches, work.launches));
    AddTo(use.total_ns, work.total_ns);
  }
  for (const auto& [case_id, use] : uses) {
    ++program.classes;
    AddTo(program.launches, use.launches);
    AddTo(program.graph_launches, use.graph_launches);
    AddTo(program.kernel_ns, use.total_ns);
  }
  for (ProfileEntry& entry : entries) {
    const auto use = uses.find(entry.case_id);
    if (use == uses.end() || !entry.part.empty()) continue;
    entry.use = use->second;
    entry.use->share_ratio = Ratio(entry.use->total_ns, program.kernel_ns);
  }
}

void AddMemory(const Recording& recording, ProgramUse& program) {
  std::map<std::string, MemoryUse> kinds;
  for (const MemoryWork& work : recording.memory_work) {
    MemoryUse& use = kinds[work.kind];
    use.kind = work.kind;
    AddTo(use.operations, work.operations);
    AddTo(use.bytes, work.bytes);
    AddTo(use.total_ns, work.total_ns);
  }
  for (auto& [kind, use] : kinds) {
    AddTo(program.memory_ns, use.total_ns);
    program.memory.push_back(std::move(use));
  }
  std::int64_t all_ns = program.kernel_ns;
  AddTo(all_ns, program.memory_ns);
  for (MemoryUse& use : program.memory) use.share_ratio = Ratio(use.total_ns, all_ns);
  std::ranges::stable_sort(program.memory, std::greater<>(), &MemoryUse::total_ns);
}

// Ranges by path.

struct NvtxNode {
  NvtxUse use;
  NvtxNode* around = nullptr;
  std::vector<NvtxNode*> nested;
};
using NvtxNodes = std::map<std::string, NvtxNode, std::less<>>;

void AppendTree(std::vector<NvtxNode*> nodes, std::vector<NvtxUse>& list) {
  // Without recursion: ranges may be nested arbitrarily deep. The last of `open` comes next.
  std::vector<NvtxNode*> open;
  const auto add = [&open](std::vector<NvtxNode*>& neighbours) {
    std::ranges::stable_sort(neighbours, [](const NvtxNode* a, const NvtxNode* b) {
      return std::tie(b->use.gpu_ns, b->use.host_ns) < std::tie(a->use.gpu_ns, a->use.host_ns);
    });
    open.insert(open.end(), neighbours.rbegin(), neighbours.rend());
  };
  for (add(nodes); !open.empty();) {
    NvtxNode* const node = open.back();
    open.pop_back();
    list.push_back(std::move(node->use));
    add(node->nested);
  }
}

/// The nearest range around `path` that has a row, or null: an outer range that has not ended may have none, and a name
/// may contain the separator.
NvtxNode* Around(NvtxNodes& nodes, std::string_view path) {
  for (int tried = 0; tried < kMostNested; ++tried) {
    const std::size_t end = path.rfind(kNested);
    if (end == std::string_view::npos) break;
    path = path.substr(0, end);
    if (const auto found = nodes.find(path); found != nodes.end()) return &found->second;
  }
  return nullptr;
}

/// Adds each range's launch classes, including those of the ranges nested in it.
void AddNvtxKernels(const Recording& recording, const std::vector<ProfileEntry>& entries, NvtxNodes& nodes) {
  std::map<std::int64_t, const std::string*> names;
  for (const ProfileEntry& entry : entries) names.emplace(entry.case_id, &entry.kernel);
  std::map<std::pair<NvtxNode*, std::int64_t>, std::pair<std::int64_t, std::int64_t>> sums;
  for (const NvtxKernelWork& work : recording.nvtx_kernel_work) {
    const auto found = nodes.find(work.path);
    NvtxNode* node = found != nodes.end() ? &found->second : Around(nodes, work.path);
    for (int level = 0; node != nullptr && level < kMostNested; node = node->around, ++level) {
      auto& [launches, gpu_ns] = sums[{node, work.case_id}];
      AddTo(launches, work.launches);
      AddTo(gpu_ns, work.gpu_ns);
    }
  }
  for (const auto& [of, sum] : sums) {
    const auto name = names.find(of.second);
    if (name == names.end()) continue;
    NvtxUse& use = of.first->use;
    use.kernels.push_back({of.second, *name->second, sum.first, sum.second, Ratio(sum.second, use.gpu_ns)});
  }
  for (auto& [path, node] : nodes) {
    std::ranges::stable_sort(node.use.kernels, std::greater<>(), &NvtxKernelUse::gpu_ns);
  }
}

void AddNvtx(const Recording& recording, const std::vector<ProfileEntry>& entries, ProgramUse& program) {
  NvtxNodes nodes;
  for (const NvtxWork& work : recording.nvtx_work) {
    NvtxUse& use = nodes[work.path].use;
    AddTo(use.ranges, work.ranges);
    AddTo(use.host_ns, work.host_ns);
    AddTo(use.launches, work.launches);
    AddTo(use.gpu_ns, work.gpu_ns);
  }
  if (nodes.empty()) return;
  std::vector<NvtxNode*> outermost;
  std::int64_t inside_ns = 0;
  for (auto& [path, node] : nodes) {  // in path order: an outer range before those inside it
    NvtxNode* const around = Around(nodes, path);
    node.use.path = path;
    node.use.layer = LayerOf(path);
    node.use.name = around == nullptr ? path : path.substr(around->use.path.size() + kNested.size());
    node.use.level = around == nullptr ? 0 : around->use.level + 1;
    node.use.share_ratio = Ratio(node.use.gpu_ns, program.kernel_ns);
    node.around = around;
    (around == nullptr ? outermost : around->nested).push_back(&node);
    if (around == nullptr) AddTo(inside_ns, node.use.gpu_ns);
  }
  AddNvtxKernels(recording, entries, nodes);
  AppendTree(std::move(outermost), program.nvtx);
  program.nvtx_ratio = Ratio(std::min(inside_ns, program.kernel_ns), program.kernel_ns);
}

// Names of launch classes.

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }

/// Removes a name at the end, with its template arguments or parameters: leaves the scope before a "::".
void DropLastName(std::string& text) {
  std::size_t begin = text.size();
  while (begin > 0 && (text[begin - 1] == '>' || text[begin - 1] == ')')) {
    int depth = 0;
    std::size_t i = begin;
    do {
      --i;
      if (text[i] == '>' || text[i] == ')') ++depth;
      if (text[i] == '<' || text[i] == '(') --depth;
    } while (i > 0 && depth > 0);
    if (depth > 0) return;
    begin = i;
  }
  while (begin > 0 && IsWord(text[begin - 1])) --begin;
  text.resize(begin);
}

/// Removes the scopes of names: "at::native::Add<at::Half>" -> "Add<Half>".
std::string WithoutScopes(std::string_view text) {
  std::string short_text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("::")) {
      DropLastName(short_text);
      ++i;
    } else {
      short_text += text[i];
    }
  }
  return short_text;
}

/// The part of each full name that is not common to all, at word boundaries. May be empty.
std::vector<std::string> Differences(const std::vector<std::string_view>& names) {
  std::string_view shortest = *std::ranges::min_element(names, {}, &std::string_view::size);
  std::size_t before = 0;
  std::size_t behind = 0;
  const auto all = [&](auto same) { return std::ranges::all_of(names, same); };
  while (before < shortest.size() && all([&](std::string_view name) { return name[before] == shortest[before]; })) {
    ++before;
  }
  // Go back to the beginning of the word and its scopes.
  while (before > 0 && (IsWord(shortest[before - 1]) || shortest[before - 1] == ':')) --before;
  const auto from_end = [](std::string_view name, std::size_t place) { return name[name.size() - 1 - place]; };
  while (before + behind < shortest.size() &&
         all([&](std::string_view name) { return from_end(name, behind) == from_end(shortest, behind); })) {
    ++behind;
  }
  while (behind > 0 && IsWord(from_end(shortest, behind - 1))) --behind;
  std::vector<std::string> differences;
  for (const std::string_view name : names) {
    const std::string_view difference = name.substr(before, name.size() - before - behind);
    differences.push_back(Truncate(WithoutScopes(difference.substr(0, 16 * kLongestVariant)), kLongestVariant));
  }
  return differences;
}

std::string_view FullName(const ProfileEntry& entry) {
  return entry.launches.empty() ? std::string_view(entry.kernel) : std::string_view(entry.launches.front().kernel_name);
}

/// Makes the names of launch classes unique.
void NameClasses(std::vector<ProfileEntry>& entries) {
  std::map<std::string, std::vector<ProfileEntry*>> by_name;
  for (ProfileEntry& entry : entries) {
    if (entry.part.empty() && !entry.shape) by_name[entry.kernel].push_back(&entry);
  }
  std::set<std::string> taken;
  for (const auto& [name, group] : by_name) taken.insert(name);
  std::map<std::string, int> last_number;
  for (const auto& [name, group] : by_name) {
    if (group.size() == 1) continue;
    std::vector<std::string_view> full_names;
    for (const ProfileEntry* entry : group) full_names.push_back(FullName(*entry));
    const std::vector<std::string> variants = Differences(full_names);
    taken.erase(name);
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::string kernel = variants[i].empty() ? name : name + " {" + variants[i] + "}";
      std::string unique = kernel;
      while (!taken.insert(unique).second) {
        int& number = last_number.try_emplace(kernel, 1).first->second;
        unique = kernel + " #" + std::to_string(++number);
      }
      group[i]->kernel = std::move(unique);
    }
  }
}

}  // namespace

void AddTo(std::int64_t& sum, std::int64_t value) {
  value = std::max<std::int64_t>(value, 0);
  sum = value > std::numeric_limits<std::int64_t>::max() - sum ? std::numeric_limits<std::int64_t>::max() : sum + value;
}

void AddProgram(const Recording& recording, Profile& profile) {
  if (recording.watch_windows.empty()) return;
  ProgramUse& program = profile.program.emplace();
  AddWindows(recording, program, profile.losses);
  AddKernels(recording, program, profile.entries);
  AddMemory(recording, program);
  NameClasses(profile.entries);
  AddNvtx(recording, profile.entries, program);
  program.layers = Layers(recording, profile.entries, program.kernel_ns);
}

}  // namespace fa_profile::analyze
