#include "fa_profile/lint_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "fa_profile/demangle.h"
#include "fa_profile/descriptor.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/kernel_code.h"
#include "fa_profile/kernel_pattern.h"

namespace fa_profile::load {

namespace {

// A package has files with GPU code in it, and is read by another option.
void RefusePackage(const std::string& file) {
  const std::string cure = "read the kernels of a Python package with: fa-profile lint --from-wheel " + file;
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown)) throw Error(file + " is a directory", "give a file; " + cure);
  std::array<char, 4> head{};
  const Descriptor open = OpenFile(file);
  if (std::string_view(head.data(), ReadSome(open.get(), file, head)) == "PK\x03\x04") {
    throw Error(file + " is a zip archive", cure);
  }
}

// The kernels of one file that match. `others` gets the names of those that do not.
void LintFile(const std::string& file, const LintRequest& request, const KernelPattern& pattern,
              const std::string& nvdisasm, std::vector<KernelLint>& lints, std::set<std::string>& others) {
  RefusePackage(file);
  for (const sass::EmbeddedCubin& cubin : sass::ReadGpuCode(file, request.architecture)) {
    const auto is_wanted = [&](const std::string& name) {
      if (pattern.Finds(name)) return true;
      others.insert(FunctionName(name));
      return false;
    };
    for (const analyze::KernelCode& code : DisassembleWanted(file, cubin, is_wanted, nvdisasm)) {
      lints.push_back(analyze::Lint(code, request.options));
    }
  }
}

}  // namespace

std::vector<KernelLint> LintFiles(const LintRequest& request) {
  const KernelPattern pattern(request.kernel_pattern);
  const std::string nvdisasm = sass::RequireNvdisasm();
  std::vector<KernelLint> lints;
  std::set<std::string> others;  // kernels that do not match
  for (const std::string& file : request.files) {
    sass::InFile(file, [&] { LintFile(file, request, pattern, nvdisasm, lints, others); });
  }
  if (lints.empty() && others.empty()) {
    throw Error(fmt::format("no kernel in the GPU code of {}", fmt::join(request.files, ", ")),
                "give a file that has a __global__ function");
  }
  if (lints.empty()) RefusePattern(request.kernel_pattern, {others.begin(), others.end()});
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

}  // namespace fa_profile::load
