#include "attention_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "fa_profile/demangle.h"

namespace fa_profile::exporters {
namespace {

bool IsNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Without "cutlass::" and "(int)", and with "C<128>" and "tuple<...>" as the numbers and the list that they are.
std::string WithoutNamespaces(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size();) {
    if (name.substr(i).starts_with("::")) {
      while (!text.empty() && IsNameCharacter(text.back())) text.pop_back();
      i += 2;
    } else if (name.substr(i).starts_with("(anonymous namespace)") || name.substr(i).starts_with("(int)") ||
               name.substr(i).starts_with("(bool)")) {
      i = name.find(')', i) + 1;
    } else if (name[i] == ' ') {
      ++i;
    } else {
      text += name[i++];
    }
  }
  for (std::size_t at = text.find("C<"); at != std::string::npos; at = text.find("C<", at + 1)) {
    const std::size_t close = text.find('>', at);
    if (close == std::string::npos || (at > 0 && IsNameCharacter(text[at - 1]))) continue;
    const std::string number = text.substr(at + 2, close - at - 2);
    if (!std::ranges::all_of(number, [](char c) { return IsNameCharacter(c); })) continue;
    text.replace(at, close + 1 - at, number);
  }
  constexpr std::string_view kTuple = "tuple<";
  for (std::size_t at = text.find(kTuple); at != std::string::npos; at = text.find(kTuple, at)) {
    text.erase(at, kTuple.size() - 1);
  }
  return text;
}

/// Whether a template's name tells nothing: CUTLASS' and FlashAttention's shells around the kernel's own class.
bool IsWrapper(std::string_view name) {
  name = name.substr(0, name.find('<'));
  if (const std::size_t scope = name.rfind("::"); scope != std::string_view::npos) name.remove_prefix(scope + 2);
  return name == "device_kernel" || name == "Kernel" || name == "Kernel2" || name.starts_with("enable_sm");
}

/// The template argument of "wrapper<argument>" when it is the only one and a template itself.
std::string_view OnlyArgument(std::string_view name) {
  const std::size_t open = name.find('<');
  if (open == std::string_view::npos) return {};
  int depth = 0;
  for (std::size_t i = open; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>' && --depth == 0) {
      std::string_view argument = name.substr(open + 1, i - open - 1);
      while (argument.ends_with(' ')) argument.remove_suffix(1);
      return i + 1 == name.size() && argument.find('<') != std::string_view::npos ? argument : std::string_view();
    }
    if (name[i] == ',' && depth == 1) return {};
  }
  return {};
}

}  // namespace

std::string RatioText(double ratio) {
  constexpr int kLargest = 9;
  constexpr double kTolerance = 0.02;
  for (int sum = 2; sum <= 2 * kLargest; ++sum) {
    for (int pv = 1; pv < sum; ++pv) {
      const int qk = sum - pv;
      if (qk > kLargest || pv > kLargest) continue;
      const double exact = static_cast<double>(qk) / pv;
      if (std::abs(ratio - exact) <= kTolerance * exact) return fmt::format("{}:{}", qk, pv);
    }
  }
  return fmt::format("{:.2f}", ratio);
}

std::string AttentionText(const KernelLint& kernel) {
  if (!kernel.inference || !kernel.inference->tile) return {};
  const KeyTile& tile = *kernel.inference->tile;
  std::string text = fmt::format("softmax {}{} instructions, {:g} exponentials a tile; rescale {}",
                                 tile.rounds_known ? "" : "at least ", tile.softmax_instructions, tile.exponentials,
                                 tile.rescale == "never" ? tile.rescale : "in " + tile.rescale);
  if (kernel.inference->qk_to_pv_ratio) text += "; QK:PV " + RatioText(*kernel.inference->qk_to_pv_ratio);
  return text;
}

std::optional<double> StaticShare(const KernelLint& kernel, std::string_view phase) {
  double of_phase = 0.0;
  double all = 0.0;
  for (const PhaseCode& row : kernel.phases) {
    constexpr int kDeepest = 4;
    const double weight = row.instructions * std::pow(10.0, std::min(row.loop_depth, kDeepest));
    all += weight;
    if (row.phase == phase) of_phase += weight;
  }
  return of_phase > 0.0 ? std::optional(of_phase / all) : std::nullopt;
}

std::string ShortKernelName(std::string_view demangled) {
  const std::string name = FunctionName(std::string(demangled));
  std::string_view inner = name;
  while (IsWrapper(inner)) {
    const std::string_view next = OnlyArgument(inner);
    if (next.empty()) break;
    inner = next;
  }
  return WithoutNamespaces(inner);
}

}  // namespace fa_profile::exporters
