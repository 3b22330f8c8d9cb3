#include "fa_profile/lint_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/kernel_code.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/units.h"

namespace fa_profile::load {
namespace {

constexpr unsigned kMostThreads = 8;

/// cuobjdump reads some 100 MB a second; ten times that, and never less than for a small file.
double ExtractionLimit(std::uint64_t bytes) { return 120.0 + static_cast<double>(bytes) / 10e6; }

class PackageLinter {
 public:
  PackageLinter(const LintRequest& request, const PackageProgress& progress, const PackageLimits& limits)
      : request_(request),
        progress_(progress),
        limits_(limits),
        pattern_(request.kernel_pattern),
        nvdisasm_(sass::RequireNvdisasm()) {
    if (!sass::FindCuobjdump()) {
      throw Error("cuobjdump is missing: it extracts the GPU code of libraries",
                  "install the CUDA toolkit's binary utilities (or `pip install nvidia-cuda-cuobjdump`), or set "
                  "FA_PROFILE_CUOBJDUMP=/path/to/cuobjdump");
    }
  }

  void LintFile(const std::string& name, const std::string& path) {
    try {
      const sass::CubinSet cubins(path, request_.architecture, ExtractionLimit(std::filesystem::file_size(path)));
      ++package_.files;
      LintCubins(name, cubins);
    } catch (const Error& error) {  // the path of an unpacked file tells a user nothing
      std::string why = error.message();
      if (const std::size_t at = why.find(path); at != std::string::npos) why.replace(at, path.size(), "it");
      Skip(name, why);
    }
  }

  void Skip(const std::string& name, const std::string& why) {
    constexpr std::size_t kMostListed = 1000;
    ++package_.skipped_files;
    if (package_.skipped.size() < kMostListed) package_.skipped.push_back({name, why});
  }

  PackageLint Take(const std::string& package) {
    if (package_.files == 0) RefuseWithoutCode(package);
    if (!request_.kernel_pattern.empty() && package_.kernels == 0 && !others_.empty()) {
      RefusePattern(request_.kernel_pattern, {others_.begin(), others_.end()});
    }
    return std::move(package_);
  }

 private:
  [[noreturn]] void RefuseWithoutCode(const std::string& package) const {
    const std::string of = request_.architecture.empty() ? "" : " for " + request_.architecture;
    std::string skipped;
    if (!package_.skipped.empty()) {
      const auto& [file, why] = package_.skipped.front();
      skipped =
          fmt::format("; {} skipped, the first: {}{}", package_.skipped_files, file.empty() ? "" : file + ": ", why);
    }
    throw Error("no GPU code" + of + " in " + package + skipped,
                std::string("give a wheel, or the folder of an installed package; a source folder has none") +
                    (of.empty() ? "" : "; or choose another --arch"));
  }

  /// What one cubin gave.
  struct Part {
    std::vector<KernelLint> attention;
    std::map<std::string, int> refused;
    std::set<std::string> others;
    int kernels = 0;
    std::string error;
  };

  void LintCubins(const std::string& name, const sass::CubinSet& cubins) {
    std::vector<Part> parts(cubins.size());
    std::atomic<std::size_t> next = 0;
    int done = 0;
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
      for (std::size_t i = next++; i < cubins.size(); i = next++) {
        try {
          LintCubin(name, cubins, i, parts[i]);
        } catch (const Error& error) {
          parts[i].error = error.message();
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
          next = cubins.size();
        }
        const std::lock_guard lock(mutex);
        if (progress_) progress_(name, ++done, static_cast<int>(cubins.size()));
      }
    };
    const auto threads =
        std::min<std::size_t>(std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads), cubins.size());
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < threads; ++i) workers.emplace_back(work);
    work();
    workers.clear();  // joins
    if (failure) std::rethrow_exception(failure);
    for (std::size_t i = 0; i < parts.size(); ++i) Add(name, cubins.name(i), std::move(parts[i]));
  }

  void LintCubin(const std::string& name, const sass::CubinSet& cubins, std::size_t i, Part& part) const {
    if (cubins.bytes(i) > limits_.cubin_bytes) {
      part.error = "it has more than " + FormatValue(static_cast<double>(limits_.cubin_bytes), "bytes");
      return;
    }
    const sass::EmbeddedCubin cubin = cubins.Read(i);
    const auto is_wanted = [&](const std::string& kernel) {
      if (pattern_.Finds(kernel)) return true;
      if (part.others.size() < kMostOthers) part.others.insert(FunctionName(kernel));
      return false;
    };
    for (const analyze::KernelCode& code : DisassembleWanted(name, cubin, is_wanted, nvdisasm_)) {
      KernelLint lint = analyze::Lint(code, request_.options);
      ++part.kernels;
      const std::string word = lint.inference ? lint.inference->refusal_word : "other";
      if (IsAttention(lint, word)) {
        part.attention.push_back(std::move(lint));
      } else {
        ++part.refused[word];
      }
    }
  }

  /// Inferred, or refused by a check that only attention comes to, or both of its products are named: by the code's
  /// own functions, or by a phase map.
  static bool IsAttention(const KernelLint& lint, std::string_view word) {
    if (lint.inference) return word != "gemm" && word != "other" && word != "code" && word != "branches";
    const auto has = [&lint](std::string_view phase) {
      return std::ranges::any_of(lint.phases, [phase](const PhaseCode& row) { return row.phase == phase; });
    };
    return has("qk") && has("pv");
  }

  void Add(const std::string& name, const std::string& cubin, Part part) {
    package_.kernels += part.kernels;
    for (KernelLint& lint : part.attention) package_.attention.push_back(std::move(lint));
    for (const auto& [word, count] : part.refused) package_.refused[word] += count;
    if (others_.size() < kMostOthers) others_.merge(part.others);
    if (!part.error.empty()) Skip(name + " (" + cubin + ")", part.error);
  }

  static constexpr std::size_t kMostOthers = 10'000;  // names to suggest where none matches

  const LintRequest& request_;
  const PackageProgress& progress_;
  const PackageLimits& limits_;
  const KernelPattern pattern_;
  const std::string nvdisasm_;
  PackageLint package_;
  std::set<std::string> others_;
};

}  // namespace

PackageLint LintPackage(const std::string& package, const LintRequest& request, const PackageProgress& progress,
                        const PackageLimits& limits) {
  PackageLinter linter(request, progress, limits);
  ForEachCodeFile(
      package, [&](const std::string& name, const std::string& path) { linter.LintFile(name, path); },
      [&](const std::string& name, const std::string& why) { linter.Skip(name, why); }, limits);
  PackageLint result = linter.Take(package);
  result.package = package;
  return result;
}

}  // namespace fa_profile::load
