#include "fa_profile/lint_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "fa_profile/demangle.h"
#include "fa_profile/descriptor.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/kernel_code.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/text.h"

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

class FileLinter {
 public:
  explicit FileLinter(const LintRequest& request) : request_(request), pattern_(request.kernel_pattern) {}

  void LintFile(const std::string& file) {
    RefusePackage(file);
    const sass::MachineCode code(file);
    const sass::CodeSelection selection = sass::SelectCode(code, file, request_.architecture);
    lint_.found += static_cast<int>(selection.cubins.size() + selection.unread.size());
    for (const sass::CodeImage& image : selection.unread) Skip(file, image, image.unread);
    std::optional<Error> failure;
    std::size_t failures = 0;
    std::set<std::pair<std::size_t, std::uint64_t>> seen;
    for (const sass::CodeImage& image : selection.cubins) {
      try {
        const sass::EmbeddedCubin cubin{image.name, image.architecture, code.Read(image)};
        const std::string_view bytes(reinterpret_cast<const char*>(cubin.bytes.data()), cubin.bytes.size());
        if (seen.emplace(bytes.size(), Fnv1a(bytes)).second) LintCubin(file, cubin);
      } catch (const Error& error) {
        if (!failure) failure = error;
        ++failures;
        Skip(file, image, error.message());
      }
    }
    if (failures == selection.cubins.size()) throw Error(*failure);
  }

  FileLint Take() {
    if (lint_.kernels.empty() && others_.empty()) {
      throw Error(fmt::format("no kernel in the GPU code of {}", fmt::join(request_.files, ", ")),
                  "give a file that has a __global__ function");
    }
    if (lint_.kernels.empty()) RefusePattern(request_.kernel_pattern, {others_.begin(), others_.end()});
    return std::move(lint_);
  }

 private:
  void LintCubin(const std::string& file, const sass::EmbeddedCubin& cubin) {
    const auto is_wanted = [&](const std::string& name) {
      if (pattern_.Finds(name)) return true;
      others_.insert(FunctionName(name));
      return false;
    };
    for (const analyze::KernelCode& code : DisassembleWanted(file, cubin, is_wanted, nvdisasm_)) {
      lint_.kernels.push_back(analyze::Lint(code, request_.options));
    }
  }

  void Skip(const std::string& file, const sass::CodeImage& image, const std::string& why) {
    lint_.skipped.push_back({file + " (" + image.name + ")", why});
  }

  const LintRequest& request_;
  const KernelPattern pattern_;
  const std::string nvdisasm_ = sass::RequireNvdisasm();
  FileLint lint_;
  std::set<std::string> others_;  // kernels that do not match
};

}  // namespace

FileLint LintFiles(const LintRequest& request) {
  FileLinter linter(request);
  for (const std::string& file : request.files) {
    sass::InFile(file, [&] { linter.LintFile(file); });
  }
  return linter.Take();
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
