#include "fa_profile/lint_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "fa_profile/cubin.h"
#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/kernel_code.h"
#include "fa_profile/kernel_pattern.h"

namespace fa_profile {
namespace {

[[noreturn]] void RefuseAll(const std::string& pattern, const std::set<std::string>& others) {
  if (others.empty()) {
    throw Error("the GPU code has no kernel", "give a file that has a __global__ function");
  }
  const std::vector<std::string> names(others.begin(), others.end());
  const std::size_t shown = std::min<std::size_t>(names.size(), 12);
  std::string known = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (shown < names.size()) known += fmt::format(" and {} more", names.size() - shown);
  throw Error("no kernel matches '" + pattern + "'" + DidYouMean(pattern, names), "the kernels are " + known);
}

}  // namespace

std::vector<KernelLint> LintFiles(const LintRequest& request) {
  const KernelPattern pattern(request.kernel_pattern);
  const std::string nvdisasm = RequireNvdisasm();
  std::vector<KernelLint> lints;
  std::set<std::string> others;  // kernels that do not match
  for (const std::string& file : request.files) {
    for (const EmbeddedCubin& cubin : ReadGpuCode(file, request.architecture)) {
      const CubinInfo info = ReadCubin(cubin.bytes);
      std::vector<KernelCode> codes;
      std::vector<std::string> wanted;
      for (const CubinFunction& function : info.functions) {
        if (!function.is_kernel) continue;
        const std::string name = Demangle(function.name.c_str());
        if (pattern.Finds(name)) {
          codes.push_back(ToKernelCode(file, cubin.architecture, info, function));
          wanted.push_back(function.name);
        } else {
          others.insert(FunctionName(name));
        }
      }
      if (wanted.empty()) continue;
      std::vector<DeviceFunction> functions = Disassemble(cubin.bytes, 0, nvdisasm, wanted);
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const auto function = std::ranges::find(functions, wanted[i], &DeviceFunction::name);
        if (function == functions.end()) throw Error("nvdisasm did not list the kernel " + wanted[i]);
        codes[i].function = std::move(*function);
        lints.push_back(Lint(codes[i], request.options));
      }
    }
  }
  if (lints.empty()) RefuseAll(request.kernel_pattern, others);
  return lints;
}

std::vector<std::string> RequirePhases(const std::vector<KernelLint>& lints, const PhaseMap& map) {
  std::set<std::string> named;
  for (const KernelLint& lint : lints) {
    for (const PhaseCode& row : lint.phases) named.insert(row.phase);
  }
  std::vector<std::string> unused;
  for (const PhaseRule& rule : map.rules) {
    if (!named.contains(rule.phase)) unused.push_back(rule.phase);
  }
  if (unused.size() == map.rules.size()) {
    throw Error("no instruction of these kernels belongs to a phase of the " + map.name,
                "without --phase-map lint chooses the phases itself; functions and lines need nvcc -lineinfo");
  }
  return unused;
}

}  // namespace fa_profile
