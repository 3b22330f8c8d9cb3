#include "fa_profile/static_evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "build_files.h"
#include "build_log.h"
#include "code_facts.h"
#include "fa_profile/cubin.h"
#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/host_code.h"
#include "fa_profile/kernel_code.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/line_table.h"
#include "fa_profile/lint.h"
#include "fa_profile/phase_map.h"
#include "fa_profile/ptx.h"
#include "fa_profile/repository.h"
#include "fa_profile/text.h"
#include "hot_lines.h"

namespace fa_profile::gate {
namespace {

// Saved evidence contains this text.
constexpr const char* kNoBuildLog = "no compiler log: its warnings are not known";
constexpr std::size_t kMostLogBytes = std::size_t{256} << 20U;

constexpr std::string_view kRung = "rung";

// Code does not reveal it. What registers and threads allow can still be compared, because both builds are read this
// way.
analyze::LintOptions WithoutDynamicSharedMemory() {
  analyze::LintOptions options;
  options.dynamic_shared_memory_bytes = 0;
  return options;
}

/// A kernel function of a build and its case.
struct BuiltKernel {
  std::string kernel;  ///< the case's
  std::string source;  ///< name of the file it was compiled from; empty: unknown
  std::string host_code_hash;
  std::string phase_model;
  CodeFacts facts;
  DeviceFunction function;
  std::string architecture;
  std::string code_hash;  ///< sass::CubinFunction's
};

/// A cubin and its selected kernels. Its bytes are read on demand: those of a whole build may not fit into memory.
struct Work {
  std::string file;
  std::shared_ptr<const sass::MachineCode> code;
  sass::CodeImage image;
  sass::CubinInfo info;
  std::vector<BuiltKernel> kernels;  ///< function.name set, the rest of function and facts to be filled
};

// "rung7_mma.cu" from the namespace "_GLOBAL__N__21b11bff_12_rung7_mma_cu_07245e80" that nvcc gives to a file's own
// names.
std::string SourceInSymbol(const std::string& symbol) {
  for (const std::string_view mark : {std::string_view("_GLOBAL__N__"), std::string_view("_INTERNAL_")}) {
    const std::size_t at = symbol.find(mark);
    if (at == std::string::npos) continue;
    const std::size_t size_at = symbol.find('_', at + mark.size());
    if (size_at == std::string::npos) continue;
    const std::size_t name_at = symbol.find('_', size_at + 1);
    const std::size_t size = std::strtoul(symbol.c_str() + size_at + 1, nullptr, 10);
    if (name_at == std::string::npos || size == 0 || size > symbol.size() - name_at - 1) continue;
    std::string name = symbol.substr(name_at + 1, size);
    if (const std::size_t dot = name.rfind('_'); dot != std::string::npos) name[dot] = '.';
    return name;
  }
  return {};
}

// The source that a kernel was compiled from: from its symbol, else from the line table.
std::string SourceOf(const sass::LineTable& lines, const sass::CubinFunction& function) {
  if (std::string source = SourceInSymbol(function.name); !source.empty()) return source;
  constexpr std::uint64_t kStep = 16;
  for (std::uint64_t offset = 0; offset < std::min<std::uint64_t>(function.code_bytes, 64 * kStep); offset += kStep) {
    const std::vector<InlineFrame> frames = lines.Frames(function.name, offset);
    if (!frames.empty()) return std::filesystem::path(frames.back().file).filename().string();
  }
  return {};
}

// "mma" for "rung7_mma.cu", as rungs are named (kernels/); empty for other files.
std::string RungOf(const std::string& source) {
  std::string id;
  (void)RE2::FullMatch(source, R"(rung[0-9]+_(.+)\.cu.*)", &id);
  return id;
}

// A kernel function's name, short enough for a table. A hash distinguishes long template names.
std::string ShortName(const std::string& demangled) {
  constexpr std::size_t kMost = 100;
  std::string name = FunctionName(demangled);
  RE2::GlobalReplace(&name, R"(\(anonymous namespace\)::)", "");
  if (name.size() <= kMost) return name;
  return fmt::format("{}~{:08x}", name.substr(0, kMost), Fnv1a(name) >> 32);
}

// Which of two architectures a GPU that can run both runs: "sm_90a" before "sm_90", "sm_100a" before "sm_100f".
std::pair<int, int> ArchitectureRank(const std::string& architecture) {
  int number = 0;
  std::string letter;
  (void)RE2::PartialMatch(architecture, "([0-9]+)([a-z]?)", &number, &letter);
  return {number, letter == "a" ? 2 : letter == "f" ? 1 : 0};
}

/// -G produces different code from what is shipped: each variable in memory, nothing optimised.
void RefuseDeviceDebug(const std::string& file, const std::string& kernel) {
  throw Error(file + ": " + kernel + " is device debug code (nvcc -G), which is not optimised: it differs from " +
                  "the code that will run",
              "build it without -G; for source lines use -lineinfo, which leaves the machine code as it is");
}

const std::string& Shown(const BuildFile& file) { return file.name.empty() ? file.path : file.name; }

template <typename Read>
void InFile(const std::string& file, const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    throw sass::InFile(file, error);
  }
}

/// A library that was found in a folder may be host code alone.
sass::CodeSelection SelectCode(const sass::MachineCode& code, const BuildFile& file, const std::string& architecture) {
  sass::CodeSelection selection = sass::SelectCode(code, architecture);
  try {
    sass::RequireCubins(selection, code, Shown(file), architecture);
  } catch (const sass::NoGpuCode&) {
    if (file.given) throw;
    return {};
  }
  return selection;
}

/// Finds the kernels of a build's files; Disassemble() then reads their code.
class Build {
 public:
  explicit Build(const StaticOptions& options) : options_(options), pattern_(options.kernel_pattern) {}

  void Find(const BuildFile& file) {
    std::vector<Work> works;
    bool has_rungs = file.ladder;
    const std::string& shown = Shown(file);
    const std::string host_code_hash = sass::HostCodeHash(file.path);
    const auto code = std::make_shared<const sass::MachineCode>(file.path);
    sass::CodeSelection selection = SelectCode(*code, file, options_.architecture);
    for (const sass::CodeImage& image : selection.unread) AddUnread(shown, image, Error(image.unread));
    std::set<std::string> symbols;                         // of its machine code
    std::set<std::pair<std::size_t, std::uint64_t>> seen;  // equal cubins are read once
    for (sass::CodeImage& image : selection.cubins) {
      Work work{shown, code, std::move(image), {}, {}};
      try {
        const std::vector<std::uint8_t> bytes = code->Read(work.image);
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        if (!seen.emplace(text.size(), Fnv1a(text)).second) continue;
        FindKernels(bytes, work);
        AddKnown(work.info);
        for (const sass::CubinFunction& function : work.info.functions) symbols.insert(function.name);
      } catch (const Error& error) {
        AddUnread(shown, work.image, error);
        continue;
      }
      has_rungs |= std::ranges::any_of(work.kernels, [](const BuiltKernel& kernel) { return !kernel.kernel.empty(); });
      works.push_back(std::move(work));
    }
    for (Work& work : works) {
      // A file with rungs is the ladder or an object of it: its other kernels are helpers.
      std::erase_if(work.kernels, [&](const BuiltKernel& kernel) { return has_rungs && kernel.kernel.empty(); });
      for (BuiltKernel& kernel : work.kernels) {
        const std::string demangled = Demangle(kernel.function.name.c_str());
        kernel.host_code_hash = host_code_hash;
        kernel.kernel = file.prefix + (kernel.kernel.empty() ? ShortName(LastingName(demangled)) : kernel.kernel);
        if (!pattern_.Finds(kernel.kernel) && !pattern_.Finds(demangled)) {
          others_.insert(std::exchange(kernel.kernel, {}));
        }
      }
      std::erase_if(work.kernels, [](const BuiltKernel& kernel) { return kernel.kernel.empty(); });
    }
    // A name without what differs between two builds.
    const std::string name = file.prefix.substr(0, file.prefix.find_last_of('/'));
    AddCompiledLater(name.empty() ? "the PTX" : "the PTX of " + name, *code, works, symbols);
    KeepNewest(works);
    for (Work& work : works) {
      if (work.kernels.empty()) continue;
      if (work.info.is_device_debug) RefuseDeviceDebug(shown, work.kernels.front().kernel);
      works_.push_back(std::move(work));
    }
  }

  /// A file that is neither a library nor a cubin, called `name`: its code is hashed.
  void AddOther(const std::string& name, const std::string& path) {
    const sass::MachineCode code(path);
    for (const sass::CodeImage& image : code.images()) {
      const bool is_machine_code = !IsCompiledLater(image);
      const std::string& asked = options_.architecture;
      const bool is_known = is_machine_code && !image.architecture.empty();
      if (is_known && !asked.empty() && !sass::IsForArchitecture(image.architecture, asked)) continue;
      if (is_machine_code && !image.unread.empty()) {
        AddUnread(name, image, Error(image.unread));
        continue;
      }
      try {
        if (is_machine_code) {
          AddOtherCubin(name, code.Read(image));
        } else if (asked.empty()) {
          for (const auto& [kernel, hash] : CompiledLaterOf(code, image)) {
            if (IsSelected(kernel)) other_[name].insert(hash);
          }
        }
      } catch (const Error& error) {
        AddUnread(name, image, error);
      }
    }
  }

  /// What a wheel holds, and could not be unpacked.
  void AddSkipped(const std::string& name, const std::string& why) {
    const bool is_named = name.empty() || why.starts_with(name);
    AddUnread(is_named ? why : name + ": " + why);
    if (!first_unread_) first_unread_ = Error(is_named ? why : name + ": " + why);
  }

  /// No file had a kernel, whatever its name.
  bool IsEmpty() const { return works_.empty() && others_.empty() && unread_.empty(); }

  /// Evidence::unread_code, unread_more and other_code.
  void TellRest(Evidence& evidence) const {
    evidence.unread_code = {unread_.begin(), unread_.end()};
    evidence.unread_more = unread_count_ - static_cast<std::int64_t>(unread_.size());
    evidence.other_code.emplace();
    for (const auto& [file, hashes] : other_) {
      std::vector<std::uint64_t> left;
      std::ranges::set_difference(hashes, known_, std::back_inserter(left));
      if (!left.empty()) evidence.other_code->emplace(file, HashOf(left));
    }
    for (const auto& [file, hashes] : alone_) evidence.other_code->emplace(file, HashOf(hashes));
  }

  /// CaseFacts::architectures of a case.
  std::map<std::string, std::string> ArchitecturesOf(const std::string& kernel) const {
    std::map<std::string, std::string> hashes;
    const auto found = architectures_.find(kernel);
    if (found == architectures_.end() || !options_.architecture.empty()) return hashes;
    for (const auto& [architecture, functions] : found->second) hashes.emplace(architecture, HashOf(functions));
    return hashes;
  }

  /// The disassembled kernels, by case. nvdisasm takes most of the time, so several run at once.
  std::vector<BuiltKernel> Disassemble() {
    if (works_.empty() && others_.empty()) throw Error(*first_unread_);
    if (works_.empty()) RefusePattern(options_.kernel_pattern, {others_.begin(), others_.end()});
    const std::string nvdisasm = sass::RequireNvdisasm();
    // The largest first: a large one that starts last would delay the end.
    std::ranges::stable_sort(works_, std::greater<>(), [](const Work& work) { return work.image.bytes; });
    std::atomic<std::size_t> next = 0;
    std::exception_ptr problem;
    std::mutex mutex;
    const auto run = [&] {
      for (std::size_t i = next++; i < works_.size(); i = next++) {
        try {
          Read(works_[i], nvdisasm);
        } catch (const Error& error) {
          const std::lock_guard lock(mutex);
          AddUnread(works_[i].file, works_[i].image, error);
          works_[i].kernels.clear();
        } catch (...) {
          const std::lock_guard lock(mutex);
          problem = std::current_exception();
        }
      }
    };
    {
      const std::size_t most = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < std::min(most, works_.size()); ++i) threads.emplace_back(run);
    }
    if (problem) std::rethrow_exception(problem);
    std::vector<BuiltKernel> kernels;
    for (Work& work : works_) std::ranges::move(work.kernels, std::back_inserter(kernels));
    if (kernels.empty()) throw Error(*first_unread_);
    return kernels;
  }

 private:
  static std::string HashOf(const auto& parts) {
    return fmt::format("{:016x}", Fnv1a(fmt::format("{}", fmt::join(parts, " "))));
  }

  static bool IsCompiledLater(const sass::CodeImage& image) {
    return image.kind == sass::CodeImage::Kind::kPtx || image.kind == sass::CodeImage::Kind::kIntermediate;
  }

  /// Whether the pattern selects a kernel, by its symbol. All code without a name is, unless there is a pattern.
  bool IsSelected(const std::string& symbol) const {
    if (options_.kernel_pattern.empty()) return true;
    const std::string name = Demangle(symbol.c_str());
    return !symbol.empty() && (pattern_.Finds(name) || pattern_.Finds(ShortName(name)));
  }

  static std::uint64_t HashOfFunction(const sass::CubinFunction& function) {
    std::string text = fmt::format("{} {:016x}", function.name, function.code_hash);
    sass::HidePathHashes(text);
    return Fnv1a(text);
  }

  void AddKnown(const sass::CubinInfo& info) {
    for (const sass::CubinFunction& function : info.functions) known_.insert(HashOfFunction(function));
  }

  void AddOtherCubin(const std::string& name, const std::vector<std::uint8_t>& cubin) {
    try {
      for (const sass::CubinFunction& function : sass::ReadCubin(cubin).functions) {
        if (IsSelected(function.name)) other_[name].insert(HashOfFunction(function));
      }
    } catch (const Error&) {  // without symbols, for instance
      other_[name].insert(Fnv1a({reinterpret_cast<const char*>(cubin.data()), cubin.size()}));
    }
  }

  /// The hash of each kernel of PTX, and of LTO-IR as a whole, which has no name here.
  static std::vector<std::pair<std::string, std::uint64_t>> CompiledLaterOf(const sass::MachineCode& code,
                                                                            const sass::CodeImage& image) {
    const std::vector<std::uint8_t> bytes = code.Read(image);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (image.kind != sass::CodeImage::Kind::kPtx) return {{"", Fnv1a(text)}};
    std::vector<std::pair<std::string, std::uint64_t>> hashes;
    for (const sass::PtxKernel& kernel : sass::ReadPtx(text)) hashes.emplace_back(kernel.name, kernel.hash);
    return hashes;
  }

  /// PTX and LTO-IR next to machine code: a kernel's belongs to its case, LTO-IR to all cases of the file. `works` has
  /// the file's cases, `symbols` its functions: PTX of other kernels has no case.
  void AddCompiledLater(const std::string& file, const sass::MachineCode& code, const std::vector<Work>& works,
                        const std::set<std::string>& symbols) {
    if (!options_.architecture.empty()) return;
    std::map<std::string, std::string> cases;  // by symbol
    for (const Work& work : works) {
      for (const BuiltKernel& kernel : work.kernels) cases.emplace(kernel.function.name, kernel.kernel);
    }
    for (const sass::CodeImage& image : code.images()) {
      if (image.kind == sass::CodeImage::Kind::kRelocatable) {
        AddLinked(code, image);
        continue;
      }
      if (!IsCompiledLater(image) || !image.unread.empty()) continue;
      const bool is_ptx = image.kind == sass::CodeImage::Kind::kPtx;
      const std::string name = std::string(is_ptx ? kPtxPrefix : kLtoIrPrefix) + image.architecture;
      try {
        for (const auto& [symbol, hash] : CompiledLaterOf(code, image)) {
          known_.insert(hash);
          const std::string text = fmt::format("{:016x}", hash);
          if (!is_ptx) {
            for (const auto& [any, kernel] : cases) architectures_[kernel][name].insert(text);
          } else if (const auto found = cases.find(symbol); found != cases.end()) {
            architectures_[found->second][name].insert(text);
          } else if (!symbols.contains(symbol) && IsSelected(symbol)) {
            alone_[file].insert(hash);
          }
        }
      } catch (const Error& error) {
        AddUnread(file, image, error);
      }
    }
  }

  /// What was linked into other machine code of the file may also be in an object.
  void AddLinked(const sass::MachineCode& code, const sass::CodeImage& image) {
    if (!image.unread.empty()) return;
    try {
      AddKnown(sass::ReadCubin(code.Read(image)));
    } catch (const Error&) {  // the linked code is what runs
    }
  }

  static void FindKernels(std::span<const std::uint8_t> cubin, Work& work) {
    work.info = sass::ReadCubin(cubin);
    const sass::LineTable lines(cubin);
    for (const sass::CubinFunction& function : work.info.functions) {
      if (!function.is_kernel) continue;
      BuiltKernel kernel;
      kernel.source = SourceOf(lines, function);
      kernel.kernel = RungOf(kernel.source);
      kernel.function.name = function.name;
      kernel.architecture = work.image.architecture;
      kernel.code_hash = fmt::format("{:016x}", function.code_hash);
      work.kernels.push_back(std::move(kernel));
    }
  }

  /// Leaves each function of a file for the architecture that the newest GPU runs; of the others the hash is kept.
  void KeepNewest(std::vector<Work>& works) {
    std::map<std::string, std::pair<int, int>> newest;  // by symbol
    for (const Work& work : works) {
      for (const BuiltKernel& kernel : work.kernels) {
        std::pair<int, int>& rank = newest[kernel.function.name];
        rank = std::max(rank, ArchitectureRank(kernel.architecture));
      }
    }
    for (Work& work : works) {
      std::erase_if(work.kernels, [&](const BuiltKernel& kernel) {
        std::set<std::string>& not_judged = architectures_[kernel.kernel][kernel.architecture];
        const bool is_older = ArchitectureRank(kernel.architecture) < newest[kernel.function.name];
        if (is_older) not_judged.insert(kernel.code_hash);
        return is_older;
      });
    }
  }

  void AddUnread(const std::string& file, const sass::CodeImage& image, const Error& error) {
    if (!first_unread_) first_unread_ = Error(error.api(), error.code(), file + ": " + error.message(), error.hint());
    const std::string name = std::filesystem::path(file).filename().string();
    AddUnread(name + " (" + image.name + "): " + error.message());
  }

  /// Counts all, and keeps the first by name.
  void AddUnread(std::string text) {
    constexpr std::size_t kMostNamed = 100;
    ++unread_count_;
    unread_.insert(std::move(text));
    if (unread_.size() > kMostNamed) unread_.erase(std::prev(unread_.end()));
  }

  static void Read(Work& work, const std::string& nvdisasm) {
    std::vector<std::string> wanted;
    for (const BuiltKernel& kernel : work.kernels) wanted.push_back(kernel.function.name);
    std::vector<analyze::KernelCode> codes =
        load::DisassembleKernels(work.file, {work.image.name, work.image.architecture, work.code->Read(work.image)},
                                 work.info, wanted, nvdisasm);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const KernelLint lint = analyze::Lint(codes[i], WithoutDynamicSharedMemory());
      work.kernels[i].facts = ToCodeFacts(lint);
      work.kernels[i].phase_model = PhaseModelOf(lint.attribution);
      work.kernels[i].function = std::move(codes[i].function);
    }
  }

  const StaticOptions& options_;
  KernelPattern pattern_;
  std::vector<Work> works_;
  std::map<std::string, std::map<std::string, std::set<std::string>>>
      architectures_;                                     // hashes of each case's code that is not judged
  std::set<std::string> others_;                          // kernels that the pattern does not select
  std::map<std::string, std::set<std::uint64_t>> other_;  // hashes of code, by file: not compared
  std::map<std::string, std::set<std::uint64_t>> alone_;  // the same of PTX that has no case, of compared files
  std::set<std::uint64_t> known_;                         // the same of all code in compared files
  std::multiset<std::string> unread_;
  std::int64_t unread_count_ = 0;
  std::optional<Error> first_unread_;
};

// Each kernel once: objects share inline kernels, and a library may have one for sm_90 and one for sm_90a.
void Unify(std::vector<BuiltKernel>& kernels) {
  const auto rank = [](const BuiltKernel& kernel) {
    const int rung = RungOf(kernel.source).empty() ? 0 : std::atoi(kernel.source.c_str() + kRung.size());
    return std::tuple(rung, kernel.kernel, kernel.facts.name, ArchitectureRank(kernel.facts.architecture),
                      kernel.facts.code_hash, kernel.facts.symbol);
  };
  std::ranges::sort(kernels, {}, rank);
  const auto supersedes = [](const BuiltKernel& one, const BuiltKernel& next) {
    if (one.kernel != next.kernel || one.facts.name != next.facts.name) return false;
    return one.facts.architecture != next.facts.architecture || one.facts.code_hash == next.facts.code_hash;
  };
  std::vector<BuiltKernel> kept;
  for (BuiltKernel& kernel : kernels) {
    while (!kept.empty() && supersedes(kept.back(), kernel)) kept.pop_back();
    kept.push_back(std::move(kernel));
  }
  kernels = std::move(kept);
}

// What all kernels of a case have in common; absent: they differ.
std::optional<std::string> OneOf(const std::vector<BuiltKernel*>& kernels, std::string BuiltKernel::*field) {
  const std::string& first = kernels.front()->*field;
  const bool same = std::ranges::all_of(kernels, [&](const BuiltKernel* kernel) { return kernel->*field == first; });
  return same ? std::optional(first) : std::nullopt;
}

// The line with most instructions in each phase: like HotLines of a recording that sampled each instruction once.
std::map<std::string, SourcePlace> PlacesOf(const std::vector<BuiltKernel*>& kernels, const std::string& repository) {
  Recording recording;
  ProfileEntry entry;
  PcSampling sampling;
  for (BuiltKernel* kernel : kernels) {
    kernel->function.id = static_cast<std::int64_t>(recording.functions.size()) + 1;
    for (const Instruction& instruction : kernel->function.instructions) {
      sampling.samples.push_back({kernel->function.id, instruction.offset, {{"selected", 1}}});
    }
    recording.functions.push_back(std::move(kernel->function));
  }
  recording.samplings.push_back(std::move(sampling));
  return HotLines(recording, repository).Of(entry);
}

/// Adds each warning to the kernel it names, else to the kernels of its source file, else to a case of the file.
/// Warnings of kernels that are not selected are dropped.
class WarningSorter {
 public:
  /// `sources`: names of the files that contain each case's kernels.
  WarningSorter(Evidence& evidence, const std::vector<std::set<std::string>>& sources, const std::string& repository)
      : evidence_(evidence), sources_(sources), repository_(repository) {}

  void Add(const CompilerWarning& warning) {
    const std::string file = std::filesystem::path(warning.file).filename().string();
    bool placed = !warning.symbol.empty();
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      CaseFacts& facts = evidence_.cases[i];
      const bool is_of = warning.symbol.empty()
                             ? sources_[i].contains(file) || sources_[i].contains(warning.unit)
                             : std::ranges::find(facts.code, warning.symbol, &CodeFacts::symbol) != facts.code.end();
      if (!is_of) continue;
      AddTo(facts, warning.text);
      placed = true;
    }
    if (placed) return;
    CaseFacts& facts = CaseOfFile(!warning.unit.empty() ? warning.unit : !file.empty() ? file : "build");
    AddTo(facts, warning.text);
    if (warning.line) facts.places.emplace("", SourcePlace{RelativeSource(warning.file, repository_), *warning.line});
  }

 private:
  CaseFacts& CaseOfFile(const std::string& name) {
    if (const auto found = FindCase(evidence_, name, {})) return evidence_.cases[*found];
    return evidence_.cases.emplace_back(CaseFacts{.kernel = name});
  }

  static void AddTo(CaseFacts& facts, const std::string& text) {
    std::vector<std::string>& warnings = facts.compiler_warnings;
    if (std::ranges::find(warnings, text) == warnings.end()) warnings.push_back(text);
  }

  Evidence& evidence_;
  const std::vector<std::set<std::string>>& sources_;
  const std::string& repository_;
};

// Evidence of a run has no compiler warnings.
bool HasNoLog(const Evidence& evidence) {
  return !evidence.processes.empty() || std::ranges::find(evidence.losses, kNoBuildLog) != evidence.losses.end();
}

// A case for a file with warnings, not for a kernel.
bool IsOfFile(const CaseFacts& facts) {
  return facts.code.empty() && facts.shape.empty() && facts.launches.empty() && !facts.verification;
}

/// Finds the kernels of a build.
void FindIn(const std::string& build, const StaticOptions& options, Build& found, std::vector<Descriptor>& opened) {
  bool has_ladder = false;
  const auto find = [&](const BuildFile& file, const std::string& name) {
    if (file.compared) {
      InFile(Shown(file), [&] { found.Find(file); });
    } else if (!has_ladder || !IsLinked(file.path)) {
      InFile(Shown(file), [&] { found.AddOther(name, file.path); });
    }
  };
  const auto take = [&](const std::string& name, const std::string& path) {
    BuildFile file = FileOfWheel(name, path);
    if (file.compared) {  // read again later: unpacked files have no name on disk, and stay while they are open
      opened.push_back(OpenFile(path));
      file.path = fmt::format("/proc/self/fd/{}", opened.back().get());
    }
    find(file, name);
  };
  const auto skip = [&](const std::string& name, const std::string& why) { found.AddSkipped(name, why); };
  if (options.read_wheel && IsWheel(build)) return options.read_wheel(build, take, skip);
  for (const BuildFile& file : FindBuildFiles(build, options.read_archive ? options.is_archive : IsArchive())) {
    has_ladder |= file.ladder;
    const std::string name = std::filesystem::path(file.path).lexically_relative(build).generic_string();
    if (!file.archive) {
      find(file, name);
      continue;
    }
    // A library that is or ends with an archive was found as one.
    const auto take_inner = [&](const std::string& inner, const std::string& path) {
      if (inner != name || !FileOfWheel(inner, path).compared) take(inner, path);
    };
    options.read_archive(name, file.path, take_inner, skip);
  }
}

}  // namespace

Evidence StaticEvidence(const std::string& build, const StaticOptions& options) {
  Build found(options);
  std::vector<Descriptor> opened;
  FindIn(build, options, found, opened);
  if (found.IsEmpty()) RefuseWithoutKernels(build);
  // Read before the code, which takes longer: a missing log is an immediate error.
  const auto log = options.build_log ? options.build_log : FindBuildLog(build);
  const std::string log_text = log ? ReadFile(*log, kMostLogBytes) : std::string();
  std::vector<BuiltKernel> kernels = found.Disassemble();
  Unify(kernels);

  Evidence evidence;
  evidence.origin = build;
  found.TellRest(evidence);
  const std::string repository = FindRepository();
  std::vector<std::set<std::string>> sources;
  for (auto kernel = kernels.begin(); kernel != kernels.end();) {
    CaseFacts facts;
    facts.kernel = kernel->kernel;
    sources.emplace_back();
    std::vector<BuiltKernel*> own;
    for (; kernel != kernels.end() && kernel->kernel == facts.kernel; ++kernel) {
      if (!kernel->source.empty()) sources.back().insert(kernel->source);
      facts.code.push_back(std::move(kernel->facts));
      own.push_back(&*kernel);
    }
    facts.architectures = found.ArchitecturesOf(facts.kernel);
    facts.host_code_hash = OneOf(own, &BuiltKernel::host_code_hash).value_or("");
    facts.phase_model = OneOf(own, &BuiltKernel::phase_model).value_or("several");
    facts.places = PlacesOf(own, repository);
    evidence.cases.push_back(std::move(facts));
  }

  if (!log) {
    evidence.losses.emplace_back(kNoBuildLog);
    return evidence;
  }
  const std::string architecture = evidence.cases.front().code.front().architecture;
  WarningSorter sorter(evidence, sources, repository);
  for (const CompilerWarning& warning : ParseBuildLog(log_text, architecture)) sorter.Add(warning);
  return evidence;
}

void AlignWarnings(Evidence& base, Evidence& candidate) {
  if (HasNoLog(base) != HasNoLog(candidate)) {
    Evidence& other = HasNoLog(base) ? candidate : base;
    for (CaseFacts& facts : other.cases) facts.compiler_warnings.clear();
    if (other.processes.empty()) std::erase_if(other.cases, IsOfFile);
    other.losses.push_back(std::string("the ")
                               .append(HasNoLog(base) ? "base" : "candidate")
                               .append(" has no compiler log: warnings are not compared"));
    return;
  }
  const auto add = [](const Evidence& from, Evidence& to) {
    for (const CaseFacts& facts : from.cases) {
      if (IsOfFile(facts) && !FindCase(to, facts.kernel, {})) to.cases.push_back(CaseFacts{.kernel = facts.kernel});
    }
  };
  add(base, candidate);
  add(candidate, base);
}

}  // namespace fa_profile::gate
