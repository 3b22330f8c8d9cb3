#include "layers.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "program.h"

namespace fa_profile::analyze {
namespace {

bool IsDecimalDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0; }

}  // namespace

std::string LayerOf(const std::string& path) {
  std::string layer;
  for (std::size_t begin = 0; begin < path.size();) {
    std::size_t end = begin;
    while (end < path.size() && IsWordCharacter(path[end])) ++end;
    const std::string word = path.substr(begin, end - begin);
    layer += !word.empty() && std::ranges::all_of(word, IsDecimalDigit) ? "*" : word;
    if (end < path.size()) layer += path[end];
    begin = end + 1;
  }
  return layer;
}

std::vector<LayerUse> Layers(const Recording& recording, const std::vector<ProfileEntry>& entries,
                             std::int64_t kernel_ns) {
  std::map<std::int64_t, const std::string*> names;
  for (const ProfileEntry& entry : entries) {
    if (entry.part.empty()) names.emplace(entry.case_id, &entry.kernel);
  }
  std::map<std::pair<std::string, std::int64_t>, LayerUse> uses;
  for (const NvtxKernelWork& work : recording.nvtx_kernel_work) {
    const auto name = names.find(work.case_id);
    if (name == names.end() || work.launches <= 0 || work.gpu_ns < 0) continue;
    const auto [place, is_new] = uses.try_emplace({LayerOf(work.path), work.case_id});
    LayerUse& use = place->second;
    if (is_new) use = {place->first.first, work.case_id, *name->second, 0, 0, std::nullopt};
    AddTo(use.launches, work.launches);
    AddTo(use.gpu_ns, work.gpu_ns);
  }
  std::vector<LayerUse> layers;
  for (auto& [of, use] : uses) {
    if (kernel_ns > 0) use.share_ratio = static_cast<double>(use.gpu_ns) / static_cast<double>(kernel_ns);
    layers.push_back(std::move(use));
  }
  std::ranges::stable_sort(layers, std::greater<>(), &LayerUse::gpu_ns);
  return layers;
}

}  // namespace fa_profile::analyze
