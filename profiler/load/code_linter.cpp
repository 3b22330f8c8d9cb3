#include "fa_profile/code_linter.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
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
#include "fa_profile/descriptor.h"
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

/// Waits for a descriptor to become readable, and calls `stop` then.
class StopThread {
 public:
  StopThread(int descriptor, std::function<void()> stop)
      : end_(MakePipe()), thread_([this, descriptor, stop = std::move(stop)] {
          std::array<pollfd, 2> ready{{{descriptor, POLLIN, 0}, {end_.read_end.get(), POLLIN, 0}}};
          while (poll(ready.data(), ready.size(), -1) < 0 && errno == EINTR) {
          }
          if (ready[1].revents == 0 && ready[0].revents != 0) stop();
        }) {}
  ~StopThread() {
    end_.write_end.Close();
    thread_.join();
  }
  StopThread(const StopThread&) = delete;
  StopThread& operator=(const StopThread&) = delete;

 private:
  Pipe end_;
  std::thread thread_;
};

}  // namespace

class CodeLinter::Work {
 public:
  Work(const LintRequest& request, Rows rows, const LintWatch& watch, const LintLimits& limits,
       std::function<int()> count)
      : request_(request),
        rows_(rows),
        watch_(watch),
        limits_(limits),
        count_(std::move(count)),
        pattern_(request.kernel_pattern),
        nvdisasm_(sass::RequireNvdisasm()) {
    if (watch.stop >= 0) stopping_.emplace(watch.stop, [this] { Stop(); });
  }

  void LintFile(const std::string& name, const std::string& path) {
    try {
      const sass::MachineCode code(path);
      const sass::CodeSelection selection = sass::SelectCode(code, request_.architecture);
      const bool is_only_unread = selection.cubins.empty() && !selection.unread.empty();
      if (rows_ == Rows::kAll || !is_only_unread) sass::RequireCubins(selection, code, path, request_.architecture);
      const bool is_one = is_only_unread && selection.unread.size() == 1;
      for (const sass::CodeImage& image : selection.unread) {
        Skip(is_one ? name : name + " (" + image.name + ")", image.unread);
      }
      if (is_only_unread) return;
      {
        const std::lock_guard lock(mutex_);
        ++package_.files;
      }
      LintCubins(name, code, selection.cubins);
    } catch (const Error& error) {
      SkipFile(name, path, error);
    }
  }

  void SkipFile(const std::string& name, const std::string& path, const Error& why) {
    const std::lock_guard lock(mutex_);
    Part& part = parts_.emplace_back();
    part.file = std::make_shared<File>();
    part.file->name = name;
    part.file->path = path;
    part.file->cubins = 1;
    part.name = name;
    part.error = why;
    SetDone(part);
    ShowDone();
  }

  void Skip(const std::string& name, const std::string& why) {
    const std::lock_guard lock(mutex_);
    Part& part = parts_.emplace_back();
    part.name = name;
    part.error = Error(why);
    SetDone(part);
    ShowDone();
  }

  PackageLint Take() {
    while (!open_.empty()) Start(open_.extract(open_.begin()).mapped());
    for (std::future<void>& batch : running_) batch.get();
    stopping_.reset();
    if (!request_.kernel_pattern.empty() && package_.kernels == 0 && !others_.empty()) {
      RefusePattern(request_.kernel_pattern, {others_.begin(), others_.end()});
    }
    return std::move(package_);
  }

 private:
  /// A file with GPU code.
  struct File {
    std::string name;
    std::string path;                           // if it was skipped as a whole
    std::map<std::string, std::string> labels;  // labels of its kernels, by name
    std::set<std::string> hashes;               // of its cubins
    // How many of its cubins have a kernel, by architecture and symbol.
    std::map<std::pair<std::string, std::string>, int> cubins_with;
    std::size_t cubins = 0;
    // These of the cubins whose results were added.
    std::size_t added = 0;
    std::size_t failed = 0;
    std::optional<Error> why;  // the first failed
  };

  struct Part;

  /// A cubin's kernels that are disassembled in one run, and the results.
  struct Piece {
    Part* part = nullptr;
    std::vector<std::string> symbols;
    std::uint64_t code_bytes = 0;

    std::vector<KernelLint> attention;
    std::map<std::string, int> refused;
    std::optional<Error> error;
  };

  /// A cubin of a file, and the results for its kernels; or, without a file, what was skipped.
  struct Part {
    std::shared_ptr<File> file;
    std::string image;  // the cubin's name
    std::string name;   // "FILE (CUBIN)"
    std::string architecture;
    std::vector<std::uint8_t> cubin;  // from queueing until it is disassembled
    std::string hash;                 // SHA-256 of the cubin; empty: it was not read
    sass::CubinInfo info;
    std::vector<std::string> symbols;  // those of its kernels that are to be disassembled
    std::vector<Piece> pieces;         // for these, from queueing until all are done
    std::size_t pieces_left = 0;
    bool is_again = false;          // an equal cubin came before
    bool is_again_in_file = false;  // in the same file
    bool is_done = false;

    std::vector<KernelLint> attention;
    std::map<std::string, int> refused;
    int kernels = 0;
    std::optional<Error> error;
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
    file->cubins = cubins.size();
    std::vector<Part> parts(cubins.size());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < cubins.size(); ++i) {
      Part& part = parts[i];
      part.file = file;
      part.image = cubins[i].name;
      part.name = name + " (" + part.image + ")";
      part.architecture = cubins[i].architecture;
      ReadHeaders(code, cubins[i], part, names);
      if (part.hash.empty()) continue;
      part.is_again = !hashes_.insert(part.hash).second;
      part.is_again_in_file = !file->hashes.insert(part.hash).second;
    }
    if (rows_ == Rows::kAttention) file->labels = DistinctNames(names);
    for (const Part& part : parts) {
      for (const std::string& symbol : part.symbols) ++file->cubins_with[{part.architecture, symbol}];
    }
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
      part.error = Error("it has more than " + FormatValue(static_cast<double>(limits_.cubin_bytes), "bytes"));
      return;
    }
    Try(part.error, [&] {
      const std::vector<std::uint8_t> bytes = code.Read(image);
      // Most cubins of most packages have no kernel left below, and hashes of code take longer than the rest.
      part.info = sass::ReadCubin(bytes, sass::CodeHashes::kNo);
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
      if (!part.symbols.empty()) part.info = sass::ReadCubin(bytes);
    });
  }

  /// Most kernels in most packages use no exponential: they are refused here, as analyze::InferPhases() would. Not
  /// those whose inline functions name the phases.
  void RefuseWithoutExponentials(std::span<const std::uint8_t> cubin, Part& part) const {
    if (request_.options.phase_map || rows_ == Rows::kAll) return;
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
      if (!part.error) part.error = std::move(piece.error);
      part.kernels += static_cast<int>(piece.symbols.size());
      for (const auto& [word, count] : piece.refused) part.refused[word] += count;
      std::ranges::move(piece.attention, std::back_inserter(part.attention));
    }
    if (part.error) part.attention.clear();
    part.pieces = {};
    part.cubin = {};
    SetDone(part);
  }
  void SetDone(Part& part) {
    part.is_done = true;
    if (watch_.progress) watch_.progress(++done_, count_ ? count_() : 0);
  }
  void ShowDone() {
    for (; !parts_.empty() && parts_.front().is_done; parts_.pop_front()) {
      Add(parts_.front());
      moved_ = Clock::now();
    }
  }

  void LintBatch(const Batch& batch) {
    std::vector<sass::CubinPart> wanted;
    for (const Piece* const piece : batch.pieces) wanted.push_back({piece->part->cubin, piece->symbols});
    try {
      sass::DisassembleTogether(wanted, nvdisasm_, texts_, [&](std::size_t k, DeviceFunction function) {
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

  /// Puts an exception from `action` into `failure`.
  template <typename Action>
  static void Try(std::optional<Error>& failure, const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      failure = error;
    }
  }

  void LintKernel(Piece& piece, DeviceFunction function) const {
    const Part& part = *piece.part;
    const auto described = std::ranges::find(part.info.functions, function.name, &sass::CubinFunction::name);
    analyze::KernelCode kernel = ToKernelCode(part.file->name, part.architecture, part.info, *described);
    kernel.function = std::move(function);
    if (rows_ == Rows::kAll) {
      if (kernel.function.instructions.empty()) throw Error("nvdisasm did not list the kernel " + kernel.function.name);
      piece.attention.push_back(analyze::Lint(kernel, request_.options));
      return;
    }
    KernelLint lint = analyze::Lint(kernel, request_.options);
    const std::string word = lint.inference ? lint.inference->refusal_word : "other";
    if (!IsAttention(lint, word)) {
      ++piece.refused[word];
      return;
    }
    lint.label = LabelOf(part, lint);
    piece.attention.push_back(std::move(lint));
  }

  static std::string LabelOf(const Part& part, const KernelLint& kernel) {
    const auto label = part.file->labels.find(kernel.name);
    if (label == part.file->labels.end()) return "";
    const auto cubins = part.file->cubins_with.find({part.architecture, kernel.symbol});
    if (cubins == part.file->cubins_with.end() || cubins->second < 2) return label->second;
    return label->second + " (" + part.image + ")";
  }

  /// Inferred, or refused by a check that only attention reaches, or both of its products are named: by the code's own
  /// functions, or by a phase map.
  static bool IsAttention(const KernelLint& lint, std::string_view word) {
    static const std::set<std::string_view> kOthers = {"gemm", "other", "code", "branches", "size"};
    if (lint.inference) return !kOthers.contains(word);
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
    std::optional<Error> error;
  };

  void Add(Part& part) {
    if (part.is_again_in_file && rows_ == Rows::kAll) {
      part.error = known_.at(part.hash).error;
    } else if (part.is_again) {
      const Known& before = known_.at(part.hash);
      part.kernels = before.kernels;
      part.refused = before.refused;
      part.error = before.error;
      for (std::size_t i = 0; i < before.attention; ++i) {
        part.attention.push_back(package_.attention[before.first + i]);
        part.attention.back().file = part.file->name;
        part.attention.back().label = LabelOf(part, part.attention.back());
      }
    } else if (!part.hash.empty()) {
      known_[part.hash] = {package_.attention.size(), part.attention.size(), part.refused, part.kernels, part.error};
    }
    ++package_.found;
    if (part.file) AddToFile(*part.file, part.error);
    if (part.error) return AddSkipped(part);
    ++package_.read;
    package_.kernels += part.kernels;
    for (const auto& [word, count] : part.refused) package_.refused[word] += count;
    for (KernelLint& lint : part.attention) {
      if (watch_.kernel) watch_.kernel(lint);
      package_.attention.push_back(std::move(lint));
    }
  }

  void AddToFile(File& file, const std::optional<Error>& error) const {
    ++file.added;
    file.failed += error ? 1 : 0;
    if (!file.why) file.why = error;
    if (file.added == file.cubins && file.failed == file.cubins && watch_.unread_file) {
      watch_.unread_file(file.name, *file.why);
    }
  }

  /// The reason. The path of an unpacked file means nothing to a user, and a file's name is next to the reason.
  static std::string WithoutPath(const Part& part) {
    std::string why = part.error->message();
    const std::string path = part.file ? part.file->path : "";
    if (path.empty()) return why;
    if (why.starts_with(path + ": ")) return why.substr(path.size() + 2);
    if (const std::size_t at = why.find(path); at != std::string::npos) why.replace(at, path.size(), "it");
    return why;
  }

  void AddSkipped(const Part& part) {
    constexpr std::size_t kMostListed = 10'000;
    ++package_.skipped_files;
    if (package_.skipped.size() < kMostListed) package_.skipped.push_back({part.name, WithoutPath(part)});
  }

  void Stop() {
    const std::lock_guard lock(mutex_);
    package_.is_complete = false;
    package_.total = count_ ? count_() : 0;
    watch_.stopped(package_);
  }

  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostOthers = 10'000;  // names to suggest where none matches

  const LintRequest& request_;
  const Rows rows_;
  const LintWatch& watch_;
  const LintLimits& limits_;
  const std::function<int()> count_;
  const KernelPattern pattern_;
  const std::string nvdisasm_;
  sass::InstructionTexts texts_;
  std::set<std::string> others_;
  std::set<std::string> hashes_;       // for all cubins so far
  std::map<std::string, Batch> open_;  // by architecture

  std::mutex mutex_;  // for everything below, `watch_`, and what parts share
  PackageLint package_;
  int done_ = 0;
  Clock::time_point moved_ = Clock::now();  // when the first of `parts_` came first, or its batch started
  std::deque<Part> parts_;                  // in package order, from the first that is not done
  std::map<std::string, Known> known_;      // by hash

  std::counting_semaphore<> slots_{Threads() + 1};
  std::vector<std::future<void>> running_;  // its destructor waits for them
  std::optional<StopThread> stopping_;      // the last member: its destructor waits for it
};

CodeLinter::CodeLinter(const LintRequest& request, Rows rows, const LintWatch& watch, const LintLimits& limits,
                       std::function<int()> count)
    : work_(std::make_unique<Work>(request, rows, watch, limits, std::move(count))) {}
CodeLinter::~CodeLinter() = default;

void CodeLinter::LintFile(const std::string& name, const std::string& path) { work_->LintFile(name, path); }
void CodeLinter::Skip(const std::string& name, const std::string& why) { work_->Skip(name, why); }
void CodeLinter::SkipFile(const std::string& file, const Error& why) { work_->SkipFile(file, file, why); }
PackageLint CodeLinter::Take() { return work_->Take(); }

}  // namespace fa_profile::load
