#include "fa_profile/lint_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "fa_profile/cubin.h"
#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/distinct_names.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/kernel_code.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/sha256.h"
#include "fa_profile/units.h"

namespace fa_profile::load {
namespace {

constexpr unsigned kMostThreads = 8;

class PackageLinter {
 public:
  PackageLinter(const LintRequest& request, const PackageWatch& watch, const PackageLimits& limits)
      : request_(request),
        watch_(watch),
        limits_(limits),
        pattern_(request.kernel_pattern),
        nvdisasm_(sass::RequireNvdisasm()) {}

  void LintFile(const std::string& name, const std::string& path) {
    try {
      const sass::MachineCode code(path);
      const sass::CodeSelection selection = sass::SelectCode(code, path, request_.architecture);
      ++package_.files;
      for (const sass::CodeImage& image : selection.unread) Skip(name + " (" + image.name + ")", image.unread);
      LintCubins(name, code, selection.cubins);
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

  /// A cubin of a file, and what its kernels gave.
  struct Part {
    const sass::CodeImage* image = nullptr;
    std::string hash;  // SHA-256 of the cubin; empty: it was not read
    sass::CubinInfo info;
    std::vector<std::string> symbols;  // of its kernels that are wanted
    std::uint64_t code_bytes = 0;      // of these
    bool is_again = false;             // an equal cubin came before
    bool is_done = false;

    std::vector<KernelLint> attention;
    std::map<std::string, int> refused;
    int kernels = 0;
    std::string error;
  };
  using Batch = std::vector<std::size_t>;  // parts that are disassembled together

  void LintCubins(const std::string& name, const sass::MachineCode& code, const std::vector<sass::CodeImage>& cubins) {
    std::vector<Part> parts(cubins.size());
    std::set<std::string> hashes;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < cubins.size(); ++i) {
      parts[i].image = &cubins[i];
      ReadHeaders(code, parts[i]);
      parts[i].is_again =
          !parts[i].hash.empty() && (known_.contains(parts[i].hash) || !hashes.insert(parts[i].hash).second);
      parts[i].is_done = parts[i].is_again || parts[i].symbols.empty();
      for (const std::string& symbol : parts[i].symbols) names.push_back(Demangle(symbol.c_str()));
    }
    labels_ = DistinctNames(names);
    std::size_t shown = 0;
    const auto show = [&] {
      while (shown < parts.size() && parts[shown].is_done) Add(name, parts[shown++]);
      const auto done = std::ranges::count(parts, true, &Part::is_done);
      if (watch_.progress) watch_.progress(name, static_cast<int>(done), static_cast<int>(parts.size()));
    };
    show();
    LintBatches(name, code, parts, show);
  }

  /// What the cubin's headers say: its kernels, and whether it came before.
  void ReadHeaders(const sass::MachineCode& code, Part& part) {
    if (part.image->bytes > limits_.cubin_bytes) {
      part.error = "it has more than " + FormatValue(static_cast<double>(limits_.cubin_bytes), "bytes");
      return;
    }
    try {
      const std::vector<std::uint8_t> bytes = code.Read(*part.image);
      part.info = sass::ReadCubin(bytes);
      part.symbols = WantedKernels(part.info, [&](const std::string& kernel) {
        if (pattern_.Finds(kernel)) return true;
        if (others_.size() < kMostOthers) others_.insert(FunctionName(kernel));
        return false;
      });
      // The image's architecture is part of the result, and may have a letter that the cubin lacks.
      part.hash = Sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) + part.image->architecture;
    } catch (const Error& error) {
      part.error = error.message();
    }
    for (const sass::CubinFunction& function : part.info.functions) {
      if (std::ranges::find(part.symbols, function.name) != part.symbols.end()) part.code_bytes += function.code_bytes;
    }
  }

  /// Cubins of one architecture, each batch with so much code that starting nvdisasm costs little.
  static std::vector<Batch> MakeBatches(const std::vector<Part>& parts) {
    constexpr std::uint64_t kEnoughBytes = std::uint64_t{1} << 19U;
    struct Open {
      Batch batch;
      std::uint64_t bytes = 0;
    };
    std::map<std::string, Open> open;
    std::vector<Batch> batches;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].is_done) continue;
      Open& now = open[parts[i].image->architecture];
      now.batch.push_back(i);
      now.bytes += parts[i].code_bytes;
      if (now.bytes >= kEnoughBytes) batches.push_back(std::move(std::exchange(now, {}).batch));
    }
    for (auto& [architecture, rest] : open) {
      if (!rest.batch.empty()) batches.push_back(std::move(rest.batch));
    }
    std::ranges::sort(batches);  // by the first: rows come in the order of the file
    return batches;
  }

  void LintBatches(const std::string& name, const sass::MachineCode& code, std::vector<Part>& parts,
                   const std::function<void()>& show) {
    const std::vector<Batch> batches = MakeBatches(parts);
    std::atomic<std::size_t> next = 0;
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
      for (std::size_t i = next++; i < batches.size(); i = next++) {
        try {
          LintBatch(name, code, batches[i], parts);
          const std::lock_guard lock(mutex);
          for (const std::size_t part : batches[i]) parts[part].is_done = true;
          show();
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
          next = batches.size();
        }
      }
    };
    const auto threads =
        std::min<std::size_t>(std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads), batches.size());
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < threads; ++i) workers.emplace_back(work);
    work();
    workers.clear();  // joins
    if (failure) std::rethrow_exception(failure);
  }

  void LintBatch(const std::string& name, const sass::MachineCode& code, const Batch& batch,
                 std::vector<Part>& parts) const {
    std::vector<std::vector<std::uint8_t>> cubins;
    std::vector<sass::CubinPart> wanted;
    for (const std::size_t i : batch) cubins.push_back(code.Read(*parts[i].image));
    for (std::size_t k = 0; k < batch.size(); ++k) wanted.push_back({cubins[k], parts[batch[k]].symbols});
    std::vector<std::vector<DeviceFunction>> functions(batch.size());
    try {
      functions = sass::DisassembleTogether(wanted, nvdisasm_);
    } catch (const Error&) {  // of one of them: then each by itself
      for (std::size_t k = 0; k < batch.size(); ++k) {
        Try(parts[batch[k]], [&] { functions[k] = sass::Disassemble(cubins[k], 0, nvdisasm_, wanted[k].wanted); });
      }
    }
    for (std::size_t k = 0; k < batch.size(); ++k) {
      Part& part = parts[batch[k]];
      if (part.error.empty()) Try(part, [&] { LintKernels(name, part, std::move(functions[k])); });
    }
  }

  template <typename Work>
  static void Try(Part& part, const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      part.error = error.message();
    }
  }

  void LintKernels(const std::string& name, Part& part, std::vector<DeviceFunction> functions) const {
    for (const analyze::KernelCode& kernel :
         ToKernelCodes(name, part.image->architecture, part.info, part.symbols, std::move(functions))) {
      KernelLint lint = analyze::Lint(kernel, request_.options);
      ++part.kernels;
      const std::string word = lint.inference ? lint.inference->refusal_word : "other";
      if (IsAttention(lint, word)) {
        if (const auto label = labels_.find(lint.name); label != labels_.end()) lint.label = label->second;
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

  /// What a cubin gave, kept for equal ones.
  struct Known {
    std::size_t first = 0;  // of its kernels in package_.attention
    std::size_t attention = 0;
    std::map<std::string, int> refused;
    int kernels = 0;
    std::string error;
  };

  void Add(const std::string& name, Part& part) {
    if (part.is_again) {
      const Known& before = known_.at(part.hash);
      part.kernels = before.kernels;
      part.refused = before.refused;
      part.error = before.error;
      for (std::size_t i = 0; i < before.attention; ++i) {
        part.attention.push_back(package_.attention[before.first + i]);
        part.attention.back().file = name;
        const auto label = labels_.find(part.attention.back().name);
        if (label != labels_.end()) part.attention.back().label = label->second;
      }
    } else if (!part.hash.empty()) {
      known_[part.hash] = {package_.attention.size(), part.attention.size(), part.refused, part.kernels, part.error};
    }
    package_.kernels += part.kernels;
    for (const auto& [word, count] : part.refused) package_.refused[word] += count;
    if (!part.error.empty()) Skip(name + " (" + part.image->name + ")", part.error);
    for (KernelLint& lint : part.attention) {
      if (watch_.kernel) watch_.kernel(lint);
      package_.attention.push_back(std::move(lint));
    }
    part.attention.clear();
  }

  static constexpr std::size_t kMostOthers = 10'000;  // names to suggest where none matches

  const LintRequest& request_;
  const PackageWatch& watch_;
  const PackageLimits& limits_;
  const KernelPattern pattern_;
  const std::string nvdisasm_;
  PackageLint package_;
  std::set<std::string> others_;
  std::map<std::string, std::string> labels_;  // of the file's kernels, by name
  std::map<std::string, Known> known_;         // by hash
};

}  // namespace

PackageLint LintPackage(const std::string& package, const LintRequest& request, const PackageWatch& watch,
                        const PackageLimits& limits) {
  PackageLinter linter(request, watch, limits);
  ForEachCodeFile(
      package, [&](const std::string& name, const std::string& path) { linter.LintFile(name, path); },
      [&](const std::string& name, const std::string& why) { linter.Skip(name, why); }, limits);
  PackageLint result = linter.Take(package);
  result.package = package;
  return result;
}

}  // namespace fa_profile::load
