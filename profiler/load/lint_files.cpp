#include "fa_profile/lint_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "fa_profile/code_linter.h"
#include "fa_profile/descriptor.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/machine_code.h"

namespace fa_profile::load {

namespace {

// A package contains files with GPU code, and has its own option.
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

FileLint ToFileLint(PackageLint lint) {
  return {std::move(lint.attention), lint.found,      lint.read, lint.skipped_files,
          std::move(lint.skipped),   lint.is_complete};
}

}  // namespace

FileLint LintFiles(const LintRequest& request, const std::function<void(const Error& why)>& refuse,
                   const StopLint& stop) {
  std::size_t refused = 0;
  const LintWatch watch{.unread_file =
                            [&](const std::string& file, const Error& why) {
                              ++refused;
                              refuse(sass::InFile(file, why));
                            },
                        .stop = stop.descriptor,
                        .stopped = [&](const PackageLint& so_far) { stop.stopped(ToFileLint(so_far)); }};
  LintLimits limits;
  limits.cubin_bytes = sass::kLargestImage;
  limits.run_code_bytes = std::uint64_t{1} << 20U;              // all cores have some of one file
  limits.row_wait_s = std::numeric_limits<double>::infinity();  // rows are returned together
  CodeLinter linter(request, CodeLinter::Rows::kAll, watch, limits);
  for (const std::string& file : request.files) {
    try {
      RefusePackage(file);
    } catch (const Error& error) {
      linter.SkipFile(file, error);
      continue;
    }
    linter.LintFile(file, file);
  }
  PackageLint lint = linter.Take();
  if (lint.attention.empty() && refused < request.files.size()) {
    throw Error(fmt::format("no kernel in the GPU code of {}", fmt::join(request.files, ", ")),
                "give a file that has a __global__ function");
  }
  return ToFileLint(std::move(lint));
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
