#include "fa_profile/lint_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/machine_code.h"

namespace fa_profile::load {
namespace {

/// Counts the package's contents, cubins and what is skipped, while it is linted: reading a large wheel takes a while.
class FoundCounter {
 public:
  FoundCounter(const std::string& package, const std::string& architecture, const PackageLimits& limits)
      : counting_(std::async(std::launch::async, [=, this] { Count(package, architecture, limits); })) {}
  ~FoundCounter() { stopped_ = true; }
  FoundCounter(const FoundCounter&) = delete;
  FoundCounter& operator=(const FoundCounter&) = delete;

  /// 0: not known yet.
  int total() const { return total_; }

 private:
  struct Stopped {};

  void Count(const std::string& package, const std::string& architecture, const PackageLimits& limits) {
    int found = 0;
    const auto count = [&](std::size_t more) {
      if (stopped_) throw Stopped();
      found += static_cast<int>(more);
    };
    try {
      ForEachCodeFile(
          package,
          [&](const std::string&, const std::string& path) {
            std::size_t more = 1;
            try {
              const sass::CodeSelection selection = sass::SelectCode(sass::MachineCode(path), architecture);
              more = std::max<std::size_t>(1, selection.cubins.size() + selection.unread.size());
            } catch (const Error&) {  // the file is skipped
            }
            count(more);
          },
          [&](const std::string&, const std::string&) { count(1); }, limits);
      total_ = found;
    } catch (const Stopped&) {
    } catch (const Error&) {  // the linter meets it too
    }
  }

  std::atomic<int> total_ = 0;
  std::atomic<bool> stopped_ = false;
  std::future<void> counting_;  // the last member: its destructor waits
};

[[noreturn]] void RefusePackage(const PackageLint& lint, const std::string& architecture) {
  const std::string of = architecture.empty() ? "" : " for " + architecture;
  if (lint.skipped.empty()) {
    throw Error("no GPU code in " + lint.package,
                "give a wheel, or the folder of an installed package; a source folder has none");
  }
  const auto& [file, why] = lint.skipped.front();
  throw Error(fmt::format("no machine code{} was read in {}; {} skipped, the first: {}{}", of, lint.package,
                          lint.skipped_files, file.empty() ? "" : file + ": ", why),
              of.empty() ? "give a package with machine code that can be read" : "choose another --arch");
}

}  // namespace

PackageLint LintPackage(const std::string& package, const LintRequest& request, const LintWatch& watch,
                        const PackageLimits& limits) {
  std::optional<FoundCounter> counter;
  if (watch.progress) counter.emplace(package, request.architecture, limits);
  LintWatch named = watch;
  named.stopped = [&](PackageLint so_far) {
    so_far.package = package;
    watch.stopped(so_far);
  };
  CodeLinter linter(request, CodeLinter::Rows::kAttention, named, limits.lint,
                    [&counter] { return counter ? counter->total() : 0; });
  ForEachCodeFile(
      package, [&](const std::string& name, const std::string& path) { linter.LintFile(name, path); },
      [&](const std::string& name, const std::string& why) { linter.Skip(name, why); }, limits);
  PackageLint lint = linter.Take();
  lint.package = package;
  if (lint.files == 0) RefusePackage(lint, request.architecture);
  return lint;
}

}  // namespace fa_profile::load
