#include "fa_profile/gpu_code.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "cuda_tool.h"
#include "elf_file.h"
#include "fa_profile/cubin.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/private_folder.h"

namespace fa_profile::sass {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> ReadBytes(const fs::path& path) {
  const std::string bytes = ReadFile(path.string(), kLargestProgram);
  return {bytes.begin(), bytes.end()};
}

constexpr std::string_view kStaticLibrary = "!<arch>\n";

/// The first bytes of a file: as many as tell a cubin.
std::string ReadHead(const std::string& path) {
  const Descriptor file = OpenFile(path);
  std::array<char, 64> head{};
  return {head.data(), ReadSome(file.get(), path, head)};
}

/// Throws Error where an ELF file ends before its section table does. The names of the sections are at the end too, so
/// that a cut library cannot tell whether it has GPU code.
void RequireWholeElf(const std::string& path, std::string_view head) {
  constexpr std::size_t kTableOffset = 0x28;  // e_shoff, e_shentsize, e_shnum of a 64-bit file
  constexpr std::size_t kEntryBytes = 0x3a;
  constexpr std::size_t kEntries = 0x3c;
  constexpr std::size_t kHeaderBytes = 64;
  constexpr char kLittleEndian = 1;
  if (!head.starts_with(kElfMagic) || head.size() < kHeaderBytes || head[5] != kLittleEndian) return;
  const auto number = [head](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    while (bytes > 0) value = value << 8U | static_cast<unsigned char>(head[at + --bytes]);
    return value;
  };
  const std::uint64_t size = fs::file_size(path);
  const std::uint64_t table = number(kTableOffset, 8);
  if (table > size || number(kEntryBytes, 2) * number(kEntries, 2) > size - table) {
    throw Error(path + " is cut off: its section table is missing", "build it again, or copy it again");
  }
}

// "sm_90a" of "prog.1.sm_90a.cubin".
std::string ArchitectureOf(const std::string& name) {
  const std::string stem = fs::path(name).stem().string();
  return stem.substr(stem.rfind('.') + 1);
}

// Whether code of `architecture` is what was asked for. "90" and "sm_90" ask for 90a too; a cubin that does not tell
// its letter is taken for any.
bool IsFor(std::string_view architecture, std::string_view asked) {
  if (architecture.starts_with("sm_")) architecture.remove_prefix(3);
  if (asked.starts_with("sm_")) asked.remove_prefix(3);
  const auto digits = [](std::string_view text) { return text.substr(0, text.find_first_not_of("0123456789")); };
  if (digits(architecture) != digits(asked)) return false;
  return architecture == asked || digits(asked) == asked || digits(architecture) == architecture;
}

[[noreturn]] void RefuseWithoutCode(const std::string& path) {
  throw NoGpuCode(path + " holds no GPU code",
                  path.ends_with(".cu") ? "compile it first, and give the object file"
                                        : "give the cubin, object file, program or library with the kernels; a "
                                          "recording is read by fa-profile report");
}

[[noreturn]] void RefuseWithoutCubins(const std::string& path, const std::string& cuobjdump, double limit_s) {
  const ChildEnd ptx = RunCudaTool({cuobjdump, "-lptx", fs::absolute(path).string()}, {}, limit_s);
  if (ptx.out.find("PTX file") != std::string::npos) {
    throw Error(path + " holds only PTX, no machine code",
                "build it with machine code, for instance nvcc -gencode arch=compute_90a,code=sm_90a");
  }
  RefuseWithoutCode(path);
}

}  // namespace

void InFile(const std::string& file, const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.message().find(file) != std::string::npos) throw;
    throw Error(error.api(), error.code(), file + ": " + error.message(), error.hint());
  }
}

std::optional<std::string> FindCuobjdump() { return FindCudaTool("cuobjdump", "FA_PROFILE_CUOBJDUMP"); }

bool BeginsLikeGpuCode(std::string_view bytes) {
  constexpr std::string_view kFatbin = "\x50\xed\x55\xba";
  return bytes.starts_with(kElfMagic) || bytes.starts_with(kFatbin) || bytes.starts_with(kStaticLibrary);
}

bool MayHoldGpuCode(const std::string& path) {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 20U;
  constexpr std::string_view kSection = ".nv_fatbin";
  const Descriptor file = OpenFile(path);
  std::string text;  // what is left of the chunk before, and this chunk
  std::vector<char> chunk(kChunkBytes);
  for (bool first = true;; first = false) {
    const std::size_t got = ReadSome(file.get(), path, chunk);
    if (got == 0) return false;
    text.append(chunk.data(), got);
    if (first) {
      if (!BeginsLikeGpuCode(text)) return false;
      if (IsCubin(text) || !(text.starts_with(kElfMagic) || text.starts_with(kStaticLibrary))) return true;
      RequireWholeElf(path, text);
    }
    if (text.find(kSection) != std::string::npos) return true;
    text.erase(0, text.size() - std::min(text.size(), kSection.size() - 1));
  }
}

CubinSet::CubinSet(const std::string& path, const std::string& architecture, double limit_s) {
  {
    const std::string head = ReadHead(path);
    if (IsCubin(head)) {
      const std::string sm = "sm_" + std::to_string(ReadCubin(ReadBytes(path)).sm);
      files_.push_back({fs::path(path).filename().string(), sm, path, fs::file_size(path)});
    }
  }
  if (files_.empty()) {
    const std::string head = ReadHead(path);
    RequireWholeElf(path, head);
    if (!BeginsLikeGpuCode(head)) RefuseWithoutCode(path);  // cuobjdump reads a file to its end, however large it is
    const auto cuobjdump = FindCuobjdump();
    if (!cuobjdump) {
      throw Error("cuobjdump is missing: it extracts the GPU code of " + path,
                  "install the CUDA toolkit's binary utilities (or `pip install nvidia-cuda-cuobjdump`), set "
                  "FA_PROFILE_CUOBJDUMP=/path/to/cuobjdump, or give a .cubin");
    }
    folder_ = std::make_unique<PrivateFolder>();
    (void)RunCudaTool({*cuobjdump, "-xelf", "all", fs::absolute(path).string()}, folder_->path().string(), limit_s);
    for (const auto& entry : fs::directory_iterator(folder_->path())) {
      const std::string name = entry.path().filename().string();
      files_.push_back({name, ArchitectureOf(name), entry.path().string(), entry.file_size()});
    }
    if (files_.empty()) RefuseWithoutCubins(path, *cuobjdump, limit_s);
    std::ranges::sort(files_, {}, &File::name);
  }
  if (architecture.empty()) return;
  std::string others;
  for (const File& file : files_) {
    if (others.find(file.architecture) == std::string::npos) others += (others.empty() ? "" : ", ") + file.architecture;
  }
  std::erase_if(files_, [&](const File& file) { return !IsFor(file.architecture, architecture); });
  if (files_.empty()) {
    throw Error(path + " holds no code for " + architecture + ", only for " + others, "choose one of them with --arch");
  }
}

EmbeddedCubin CubinSet::Read(std::size_t i) const {
  const File& file = files_[i];
  return {file.name, file.architecture, ReadBytes(file.path)};
}

std::vector<EmbeddedCubin> ReadGpuCode(const std::string& path, const std::string& architecture) {
  const CubinSet set(path, architecture);
  std::vector<EmbeddedCubin> cubins;
  for (std::size_t i = 0; i < set.size(); ++i) cubins.push_back(set.Read(i));
  return cubins;
}

}  // namespace fa_profile::sass
