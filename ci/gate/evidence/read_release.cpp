#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "build_files.h"
#include "code_facts.h"
#include "fa_profile/code_outline.h"
#include "fa_profile/count_code.h"
#include "fa_profile/cubin.h"
#include "fa_profile/demangle.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/host_code.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/lint.h"
#include "fa_profile/machine_code.h"
#include "fa_profile/occupancy.h"
#include "fa_profile/ptx.h"
#include "fa_profile/release_evidence.h"
#include "fa_profile/text.h"

namespace fa_profile::gate {
namespace {

namespace fs = std::filesystem;

/// Names of a kernel in two releases are equal, and not too long for a table of thousands.
std::string ReleaseName(const std::string& symbol) {
  constexpr std::size_t kMost = 400;
  std::string name = LastingName(Demangle(symbol.c_str()));
  RE2::GlobalReplace(&name, R"(\b_+[0-9]+::)", "");  // libcu++: "cuda::std::__4::plus"
  name = Printable(name);
  if (name.size() <= kMost) return name;
  return fmt::format("{}~{:08x}", name.substr(0, kMost), Fnv1a(name) >> 32U);
}

void SetOccupancy(int sm, ReleaseCode& code) {
  const std::optional<Device> limits = analyze::SmLimits(sm);
  if (!limits || !code.registers_per_thread) return;
  code.occupancy_by_registers_ratio = analyze::OccupancyByRegisters(*limits, *code.registers_per_thread);
  if (!code.threads_per_block) return;
  Launch launch;
  launch.block = {*code.threads_per_block, 1, 1};
  launch.grid = {1, 1, 1};
  launch.registers_per_thread = *code.registers_per_thread;
  launch.static_shared_memory_bytes = code.static_shared_memory_bytes;
  if (const auto occupancy = analyze::TheoreticalOccupancy(*limits, launch)) {
    code.occupancy_ratio = occupancy->theoretical_ratio;
  }
}

class ReleaseReader {
 public:
  explicit ReleaseReader(const ReleaseOptions& options) : options_(options), pattern_(options.kernel_pattern) {}

  /// `name`: in the package; empty for the package itself.
  void Read(const std::string& name, const std::string& path) {
    const sass::MachineCode code(path);
    if (code.images().empty()) return;
    ++release_.files;
    std::set<std::pair<std::size_t, std::uint64_t>> seen;
    for (const sass::CodeImage& image : code.images()) {
      const bool is_later =
          image.kind == sass::CodeImage::Kind::kPtx || image.kind == sass::CodeImage::Kind::kIntermediate;
      const bool is_known = image.kind == sass::CodeImage::Kind::kCubin && !image.architecture.empty();
      if (!options_.architecture.empty()) {
        if (is_later) continue;
        if (is_known) architectures_.insert(image.architecture);
        if (is_known && !sass::IsForArchitecture(image.architecture, options_.architecture)) continue;
      }
      if (is_later) {
        Try(name, image, path, [&] { ReadLater(name, code, image); });
      } else if (!image.unread.empty()) {
        AddUnread(Place(name, image) + image.unread);
      } else if (image.kind == sass::CodeImage::Kind::kCubin) {
        Try(name, image, path, [&] {
          const std::vector<std::uint8_t> bytes = code.Read(image);
          const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
          if (seen.emplace(text.size(), Fnv1a(text)).second) ReadCubin(name, image, bytes);
        });
      }
    }
    if (options_.progress) options_.progress(release_.files);
  }

  void AddUnread(const std::string& what) {
    constexpr std::size_t kMostNamed = 100;
    if (release_.unread.size() < kMostNamed) {
      release_.unread.push_back(SafeLine(what));
    } else {
      ++release_.unread_more;
    }
  }

  Release Take(const std::string& package) {
    if (release_.code.empty() && release_.later.empty()) Refuse(package);
    const auto key = [](const ReleaseCode& code) {
      return std::tie(code.kernel, code.architecture, code.file, code.code_hash);
    };
    std::ranges::sort(release_.code, {}, key);
    const auto again = std::ranges::unique(release_.code, {}, key);
    release_.code.erase(again.begin(), again.end());
    const auto later_key = [](const ReleaseLaterCode& code) {
      return std::tie(code.kernel, code.architecture, code.file, code.hash);
    };
    std::ranges::sort(release_.later, {}, later_key);
    const auto later_again = std::ranges::unique(release_.later, {}, later_key);
    release_.later.erase(later_again.begin(), later_again.end());
    return std::move(release_);
  }

 private:
  [[noreturn]] void Refuse(const std::string& package) const {
    if (!others_.empty()) RefusePattern(options_.kernel_pattern, {others_.begin(), others_.end()});
    if (!release_.unread.empty()) {
      throw Error(package + " has no GPU code that can be read: " + release_.unread.front(),
                  "build it again, or copy it again");
    }
    if (!architectures_.empty()) {
      std::string list;
      for (const std::string& one : architectures_) list += (list.empty() ? "" : ", ") + one;
      throw Error(package + " holds no code for " + options_.architecture + ", only for " + list,
                  "choose one of them with --arch");
    }
    throw Error(
        "no GPU code in " + package,
        "give a wheel, a Debian package, a library, a cubin, or the folder with them; a source folder has none");
  }

  static std::string Place(const std::string& name, const sass::CodeImage& image) {
    return (name.empty() ? "" : name + " ") + "(" + image.name + "): ";
  }

  template <typename Work>
  void Try(const std::string& name, const sass::CodeImage& image, const std::string& path, const Work& work) {
    try {
      work();
    } catch (const Error& error) {  // the path of an unpacked file means nothing to a user
      std::string why = error.message();
      if (const std::size_t at = why.find(path); at != std::string::npos) why.replace(at, path.size(), "it");
      AddUnread(Place(name, image) + why);
    }
  }

  static std::string FileKey(const std::string& name, const std::string& path) {
    if (name.empty()) return {};
    std::string prefix = FileOfWheel(name, path).prefix;
    prefix.pop_back();
    return prefix;
  }

  bool IsWanted(const std::string& kernel) {
    if (pattern_.Finds(kernel)) return true;
    constexpr std::size_t kMostOthers = 10'000;  // names to suggest where none matches
    if (others_.size() < kMostOthers) others_.insert(FunctionName(kernel));
    return false;
  }

  void ReadCubin(const std::string& name, const sass::CodeImage& image, const std::vector<std::uint8_t>& bytes) {
    const sass::CubinInfo info = sass::ReadCubin(bytes);
    std::map<std::string_view, ReleaseCode> codes;  // by symbol
    std::vector<std::string> symbols;
    for (const sass::CubinFunction& function : info.functions) {
      if (!function.is_kernel) continue;
      std::string kernel = ReleaseName(function.name);
      if (!IsWanted(kernel)) continue;
      ReleaseCode& code = codes[function.name];
      code.kernel = std::move(kernel);
      code.architecture = image.architecture.empty() ? fmt::format("sm_{}", info.sm) : image.architecture;
      code.file = FileKey(name, {});
      code.code_hash = fmt::format("{:016x}", function.code_hash);
      code.code_bytes = static_cast<std::int64_t>(function.code_bytes);
      code.registers_per_thread = function.registers_per_thread;
      code.stack_frame_bytes = function.stack_frame_bytes;
      code.static_shared_memory_bytes = function.static_shared_memory_bytes;
      if (function.max_threads) code.threads_per_block = analyze::ThreadsOf(*function.max_threads);
      if (function.required_threads) code.threads_per_block = analyze::ThreadsOf(*function.required_threads);
      code.is_device_debug = info.is_device_debug;
      SetOccupancy(info.sm, code);
      symbols.push_back(function.name);
    }
    for (auto& [symbol, code] : codes) {  // where instructions cannot be read: local memory is in the frame
      if (code.stack_frame_bytes == 0) code.local_accesses = code.loop_local_accesses = 0;
    }
    if (sass::HasOutline(info.sm)) {
      sass::ReadOutline(bytes, symbols, [&](const DeviceFunction& function) {
        const analyze::CodeCounts counts = analyze::CountCode(function);
        ReleaseCode& code = codes.at(function.name);
        code.instructions = counts.instructions;
        code.loop_instructions = counts.loop_instructions;
        code.local_accesses = counts.local_accesses;
        code.loop_local_accesses = counts.loop_local_accesses;
        code.tensor_instructions = counts.tensor_instructions;
        code.loops_known = counts.unknown_branches == 0;
      });
    }
    for (auto& [symbol, code] : codes) release_.code.push_back(std::move(code));
  }

  void ReadLater(const std::string& name, const sass::MachineCode& code, const sass::CodeImage& image) {
    const std::vector<std::uint8_t> bytes = code.Read(image);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto add = [&](std::string kernel, std::uint64_t hash) {
      release_.later.push_back(
          {std::move(kernel), image.architecture, FileKey(name, {}), fmt::format("{:016x}", hash)});
    };
    if (image.kind != sass::CodeImage::Kind::kPtx) return add("", Fnv1a(text));
    for (const sass::PtxKernel& kernel : sass::ReadPtx(text)) {
      std::string shown = kernel.name.empty() ? "" : ReleaseName(kernel.name);
      if (shown.empty() ? options_.kernel_pattern.empty() : IsWanted(shown)) add(std::move(shown), kernel.hash);
    }
  }

  const ReleaseOptions& options_;
  const KernelPattern pattern_;
  Release release_;
  std::set<std::string> others_;         // kernels that the pattern does not select
  std::set<std::string> architectures_;  // of all cubins, with --arch
};

std::int64_t BytesOf(const std::string& package) {
  std::error_code error;
  if (!fs::is_directory(package, error)) return static_cast<std::int64_t>(fs::file_size(package));
  std::int64_t bytes = 0;
  for (fs::recursive_directory_iterator entry(package, fs::directory_options::skip_permission_denied, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    if (!entry->is_symlink(unknown) && entry->is_regular_file(unknown)) {
      bytes += static_cast<std::int64_t>(entry->file_size(unknown));
    }
  }
  return bytes;
}

}  // namespace

Release ReadRelease(const std::string& package, const ReleaseOptions& options) {
  ReleaseReader reader(options);
  std::error_code error;
  const bool is_folder = fs::is_directory(package, error);
  if (!is_folder) (void)OpenFile(package);  // its errors are the clearest
  const std::string own = fs::path(package).filename().string();
  const bool is_wheel = !is_folder && (package.ends_with(".whl") || IsWheel(package));
  const auto take = [&](const std::string& name, const std::string& path) {
    std::string inside = name;  // in another release the package has another name
    if (!is_folder && !is_wheel) {
      inside = name == own ? "" : name.substr(std::min(name.size(), own.size() + 1));
    }
    try {
      reader.Read(inside, path);
    } catch (const Error& why) {
      throw sass::InFile(name, why);
    }
  };
  const auto skip = [&](const std::string& name, const std::string& why) {
    reader.AddUnread(name.empty() || why.starts_with(name) ? why : name + ": " + why);
  };
  if (is_folder || is_wheel) {
    options.read_package(package, take, skip);
  } else {
    options.read_file(own, package, take, skip);
  }
  Release release = reader.Take(package);
  release.origin = own.empty() ? fs::path(package).parent_path().filename().string() : own;
  release.package_bytes = BytesOf(package);
  return release;
}

}  // namespace fa_profile::gate
