#include "fa_profile/lint_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <set>
#include <span>
#include <string>
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
#include "fa_profile/phases.h"
#include "fa_profile/sha256.h"
#include "fa_profile/units.h"

namespace fa_profile::load {
namespace {

constexpr unsigned kMostThreads = 8;

unsigned Threads() { return std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads); }

struct ReleaseSlot {
  void operator()(std::counting_semaphore<>* slots) const { slots->release(); }
};

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
              const sass::CodeSelection selection = sass::SelectCode(sass::MachineCode(path), path, architecture);
              more = selection.cubins.size() + selection.unread.size();
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

class PackageLinter {
 public:
  PackageLinter(const LintRequest& request, const PackageWatch& watch, const PackageLimits& limits,
                const FoundCounter* counter)
      : request_(request),
        watch_(watch),
        limits_(limits),
        counter_(counter),
        pattern_(request.kernel_pattern),
        nvdisasm_(sass::RequireNvdisasm()) {}

  /// The file may be gone after the call: what remains to be disassembled is kept in memory.
  void LintFile(const std::string& name, const std::string& path) {
    try {
      const sass::MachineCode code(path);
      const sass::CodeSelection selection = sass::SelectCode(code, path, request_.architecture);
      ++package_.files;
      for (const sass::CodeImage& image : selection.unread) Skip(name + " (" + image.name + ")", image.unread);
      LintCubins(name, code, selection.cubins);
    } catch (const Error& error) {  // the path of an unpacked file means nothing to a user
      std::string why = error.message();
      if (const std::size_t at = why.find(path); at != std::string::npos) why.replace(at, path.size(), "it");
      Skip(name, why);
    }
  }

  void Skip(const std::string& name, const std::string& why) {
    const std::lock_guard lock(mutex_);
    Part& part = parts_.emplace_back();
    part.name = name;
    part.error = why;
    SetDone(part);
    ShowDone();
  }

  PackageLint Take(const std::string& package) {
    while (!open_.empty()) Start(open_.extract(open_.begin()).mapped());
    for (std::future<void>& batch : running_) batch.get();
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

  /// A file with GPU code.
  struct File {
    std::string name;
    std::map<std::string, std::string> labels;  // labels of its kernels, by name
  };

  struct Part;

  /// A cubin's kernels that are disassembled in one run, and the results.
  struct Piece {
    Part* part = nullptr;
    std::vector<std::string> symbols;
    std::uint64_t code_bytes = 0;

    std::vector<KernelLint> attention;
    std::map<std::string, int> refused;
    std::string error;
  };

  /// A cubin of a file, and the results for its kernels; or, without a file, what was skipped.
  struct Part {
    std::shared_ptr<File> file;
    std::string name;  // "FILE (CUBIN)"
    std::string architecture;
    std::vector<std::uint8_t> cubin;  // from queueing until it is disassembled
    std::string hash;                 // SHA-256 of the cubin; empty: it was not read
    sass::CubinInfo info;
    std::vector<std::string> symbols;  // those of its kernels that are to be disassembled
    std::vector<Piece> pieces;         // for these, from queueing until all are done
    std::size_t pieces_left = 0;
    bool is_again = false;  // an equal cubin came before
    bool is_done = false;

    std::vector<KernelLint> attention;
    std::map<std::string, int> refused;
    int kernels = 0;
    std::string error;
  };

  /// Pieces for one architecture that are disassembled together, from any files.
  struct Batch {
    std::vector<Piece*> pieces;
    std::uint64_t code_bytes = 0;
    std::uint64_t cubin_bytes = 0;
  };

  void LintCubins(const std::string& name, const sass::MachineCode& code, const std::vector<sass::CodeImage>& cubins) {
    const auto file = std::make_shared<File>();
    file->name = name;
    std::vector<Part> parts(cubins.size());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < cubins.size(); ++i) {
      Part& part = parts[i];
      part.file = file;
      part.name = name + " (" + cubins[i].name + ")";
      part.architecture = cubins[i].architecture;
      ReadHeaders(code, cubins[i], part, names);
      part.is_again = !part.hash.empty() && !hashes_.insert(part.hash).second;
    }
    file->labels = DistinctNames(names);
    for (std::size_t i = 0; i < cubins.size(); ++i) {
      if (!parts[i].is_again && !parts[i].symbols.empty()) {
        Try(parts[i].error, [&] { parts[i].cubin = code.Read(cubins[i]); });
      }
      Queue(std::move(parts[i]));
    }
  }

  /// What the cubin shows without nvdisasm. Adds the names of its kernels that match.
  void ReadHeaders(const sass::MachineCode& code, const sass::CodeImage& image, Part& part,
                   std::vector<std::string>& names) {
    if (image.bytes > limits_.cubin_bytes) {
      part.error = "it has more than " + FormatValue(static_cast<double>(limits_.cubin_bytes), "bytes");
      return;
    }
    Try(part.error, [&] {
      const std::vector<std::uint8_t> bytes = code.Read(image);
      part.info = sass::ReadCubin(bytes);
      part.symbols = WantedKernels(part.info, [&](const std::string& kernel) {
        if (pattern_.Finds(kernel)) {
          names.push_back(kernel);
          return true;
        }
        if (others_.size() < kMostOthers) others_.insert(FunctionName(kernel));
        return false;
      });
      // The image's architecture is part of the result, and may have a letter that the cubin lacks.
      part.hash = Sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) + image.architecture;
      RefuseWithoutExponentials(bytes, part);
    });
  }

  /// Most kernels in most packages use no exponential: they are refused here, as analyze::InferPhases() would. Not
  /// those whose inline functions name the phases.
  void RefuseWithoutExponentials(std::span<const std::uint8_t> cubin, Part& part) const {
    if (request_.options.phase_map) return;
    std::map<std::string_view, std::string_view> refused;  // the word, by symbol
    for (const sass::CubinFunction& function : part.info.functions) {
      if (function.has_exponentials.value_or(true)) continue;
      refused.emplace(function.name, function.has_matrix_products ? "gemm" : "other");
    }
    std::vector<std::string> named;
    std::ranges::copy_if(part.symbols, std::back_inserter(named),
                         [&](const std::string& symbol) { return refused.contains(symbol); });
    if (part.info.has_line_information && !named.empty()) {
      sass::ReadInlineStacks(cubin, 0, named, [&](const DeviceFunction& function) {
        if (analyze::ChoosePhaseMap({&function}).name != kOpcodePhasesName) refused.erase(function.name);
      });
    }
    std::erase_if(part.symbols, [&](const std::string& symbol) {
      const auto word = refused.find(symbol);
      if (word == refused.end()) return false;
      ++part.kernels;
      ++part.refused[std::string(word->second)];
      return true;
    });
  }

  void Divide(Part& part) const {
    std::map<std::string_view, std::uint64_t> bytes_of;
    for (const sass::CubinFunction& function : part.info.functions) bytes_of[function.name] = function.code_bytes;
    for (const std::string& symbol : part.symbols) {
      const std::uint64_t bytes = bytes_of[symbol];
      if (part.pieces.empty() || part.pieces.back().code_bytes + bytes > limits_.run_code_bytes) {
        part.pieces.emplace_back().part = &part;
      }
      part.pieces.back().symbols.push_back(symbol);
      part.pieces.back().code_bytes += bytes;
    }
    part.pieces_left = part.pieces.size();
  }

  /// Adds a cubin to the rows, and its pieces to the batches of its architecture. A batch starts when it has enough
  /// code for the start of nvdisasm to cost little, or when rows wait too long for its first cubin, or too many do.
  void Queue(Part queued) {
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 24U;
    constexpr std::size_t kMostWaiting = 1024;
    std::vector<Batch> full;
    {
      const std::lock_guard lock(mutex_);
      if (parts_.empty()) moved_ = Clock::now();
      Part& part = parts_.emplace_back(std::move(queued));
      if (part.cubin.empty()) {
        SetDone(part);
      } else {
        Divide(part);
        for (Piece& piece : part.pieces) {
          Batch& batch = open_[part.architecture];
          if (batch.pieces.empty() || batch.pieces.back()->part != &part) batch.cubin_bytes += part.cubin.size();
          batch.pieces.push_back(&piece);
          batch.code_bytes += piece.code_bytes;
          if (batch.code_bytes < limits_.run_code_bytes && batch.cubin_bytes < kMostBytes) continue;
          full.push_back(open_.extract(part.architecture).mapped());
        }
      }
      ShowDone();
      const auto is_waited_for = [&](const auto& open) { return open.second.pieces.front()->part == &parts_.front(); };
      const std::chrono::duration<double> waited = Clock::now() - moved_;
      const bool is_late = parts_.size() >= kMostWaiting || waited.count() >= limits_.row_wait_s;
      if (const auto first = std::ranges::find_if(open_, is_waited_for); is_late && first != open_.end()) {
        full.push_back(open_.extract(first).mapped());
        moved_ = Clock::now();
      }
    }
    for (Batch& batch : full) Start(std::move(batch));
  }

  /// Waits while as many batches run as there are threads. Rethrows their exceptions.
  void Start(Batch batch) {
    slots_.acquire();
    std::erase_if(running_, [](std::future<void>& one) {
      if (one.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
      one.get();
      return true;
    });
    running_.push_back(std::async(std::launch::async, [this, batch = std::move(batch)] {
      const std::unique_ptr<std::counting_semaphore<>, ReleaseSlot> slot(&slots_);
      LintBatch(batch);
      const std::lock_guard lock(mutex_);
      for (const Piece* const piece : batch.pieces) {
        if (--piece->part->pieces_left == 0) Join(*piece->part);
      }
      ShowDone();
    }));
  }

  // These three need the lock.
  void Join(Part& part) {
    for (Piece& piece : part.pieces) {
      if (part.error.empty()) part.error = std::move(piece.error);
      part.kernels += static_cast<int>(piece.symbols.size());
      for (const auto& [word, count] : piece.refused) part.refused[word] += count;
      std::ranges::move(piece.attention, std::back_inserter(part.attention));
    }
    if (!part.error.empty()) part.attention.clear();
    part.pieces = {};
    part.cubin = {};
    SetDone(part);
  }
  void SetDone(Part& part) {
    part.is_done = true;
    if (watch_.progress) watch_.progress(++done_, counter_->total());
  }
  void ShowDone() {
    for (; !parts_.empty() && parts_.front().is_done; parts_.pop_front()) {
      Add(parts_.front());
      moved_ = Clock::now();
    }
  }

  void LintBatch(const Batch& batch) const {
    std::vector<sass::CubinPart> wanted;
    for (const Piece* const piece : batch.pieces) wanted.push_back({piece->part->cubin, piece->symbols});
    try {
      sass::DisassembleTogether(wanted, nvdisasm_, [&](std::size_t k, DeviceFunction function) {
        LintKernel(*batch.pieces[k], std::move(function));
      });
    } catch (const Error&) {  // caused by one of them: run each by itself
      for (Piece* const piece : batch.pieces) {
        piece->attention.clear();
        piece->refused.clear();
        Try(piece->error, [&] {
          sass::Disassemble(piece->part->cubin, 0, nvdisasm_, piece->symbols,
                            [&](DeviceFunction function) { LintKernel(*piece, std::move(function)); });
        });
      }
    }
  }

  /// Puts an exception from `work` into `message`.
  template <typename Work>
  static void Try(std::string& message, const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      message = error.message();
    }
  }

  void LintKernel(Piece& piece, DeviceFunction function) const {
    const Part& part = *piece.part;
    const auto described = std::ranges::find(part.info.functions, function.name, &sass::CubinFunction::name);
    analyze::KernelCode kernel = ToKernelCode(part.file->name, part.architecture, part.info, *described);
    kernel.function = std::move(function);
    KernelLint lint = analyze::Lint(kernel, request_.options);
    const std::string word = lint.inference ? lint.inference->refusal_word : "other";
    if (!IsAttention(lint, word)) {
      ++piece.refused[word];
      return;
    }
    lint.label = LabelOf(part, lint.name);
    piece.attention.push_back(std::move(lint));
  }

  static std::string LabelOf(const Part& part, const std::string& kernel) {
    const auto label = part.file->labels.find(kernel);
    return label == part.file->labels.end() ? "" : label->second;
  }

  /// Inferred, or refused by a check that only attention reaches, or both of its products are named: by the code's own
  /// functions, or by a phase map.
  static bool IsAttention(const KernelLint& lint, std::string_view word) {
    if (lint.inference) return word != "gemm" && word != "other" && word != "code" && word != "branches";
    const auto has = [&lint](std::string_view phase) {
      return std::ranges::any_of(lint.phases, [phase](const PhaseCode& row) { return row.phase == phase; });
    };
    return has("qk") && has("pv");
  }

  /// A cubin's results, kept for equal ones.
  struct Known {
    std::size_t first = 0;  // index of its kernels in package_.attention
    std::size_t attention = 0;
    std::map<std::string, int> refused;
    int kernels = 0;
    std::string error;
  };

  void Add(Part& part) {
    if (part.is_again) {
      const Known& before = known_.at(part.hash);
      part.kernels = before.kernels;
      part.refused = before.refused;
      part.error = before.error;
      for (std::size_t i = 0; i < before.attention; ++i) {
        part.attention.push_back(package_.attention[before.first + i]);
        part.attention.back().file = part.file->name;
        part.attention.back().label = LabelOf(part, part.attention.back().name);
      }
    } else if (!part.hash.empty()) {
      known_[part.hash] = {package_.attention.size(), part.attention.size(), part.refused, part.kernels, part.error};
    }
    ++package_.found;
    if (!part.error.empty()) return AddSkipped(part);
    ++package_.read;
    package_.kernels += part.kernels;
    for (const auto& [word, count] : part.refused) package_.refused[word] += count;
    for (KernelLint& lint : part.attention) {
      if (watch_.kernel) watch_.kernel(lint);
      package_.attention.push_back(std::move(lint));
    }
  }

  void AddSkipped(const Part& part) {
    constexpr std::size_t kMostListed = 10'000;
    ++package_.skipped_files;
    if (package_.skipped.size() < kMostListed) package_.skipped.push_back({part.name, part.error});
  }

  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostOthers = 10'000;  // names to suggest where none matches

  const LintRequest& request_;
  const PackageWatch& watch_;
  const PackageLimits& limits_;
  const FoundCounter* const counter_;  // nullptr: progress is not watched
  const KernelPattern pattern_;
  const std::string nvdisasm_;
  std::set<std::string> others_;
  std::set<std::string> hashes_;       // for all cubins so far
  std::map<std::string, Batch> open_;  // by architecture

  std::mutex mutex_;  // for everything below, `watch_`, and what parts share
  PackageLint package_;
  int done_ = 0;
  Clock::time_point moved_ = Clock::now();  // when the first of `parts_` came first, or its batch started
  std::deque<Part> parts_;                  // in package order, from the first that is not done
  std::map<std::string, Known> known_;      // by hash

  std::counting_semaphore<> slots_{Threads()};
  std::vector<std::future<void>> running_;  // the last member: its destructor waits for them
};

}  // namespace

PackageLint LintPackage(const std::string& package, const LintRequest& request, const PackageWatch& watch,
                        const PackageLimits& limits) {
  std::optional<FoundCounter> counter;
  if (watch.progress) counter.emplace(package, request.architecture, limits);
  PackageLinter linter(request, watch, limits, counter ? &*counter : nullptr);
  ForEachCodeFile(
      package, [&](const std::string& name, const std::string& path) { linter.LintFile(name, path); },
      [&](const std::string& name, const std::string& why) { linter.Skip(name, why); }, limits);
  PackageLint result = linter.Take(package);
  result.package = package;
  return result;
}

}  // namespace fa_profile::load
