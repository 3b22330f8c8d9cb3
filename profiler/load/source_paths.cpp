#include "fa_profile/source_paths.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include "fa_profile/error.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/line_table.h"
#include "fa_profile/sha256.h"
#include "fa_profile/source_text.h"

namespace fa_profile::load {
namespace {

namespace fs = std::filesystem;

// The path of a file relative to its git work tree; unchanged if there is none.
std::string BelowWorkTree(const std::string& file) {
  const fs::path path = fs::path(file).lexically_normal();
  std::error_code ignored;
  for (fs::path folder = path.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::exists(folder / ".git", ignored)) return path.lexically_relative(folder).string();
  }
  return file;
}

bool IsSource(const std::string& file) {
  std::error_code missing;
  return fs::is_regular_file(file, missing) && fs::file_size(file, missing) <= kMostSourceBytes && !missing;
}

}  // namespace

std::map<std::string, std::string> HashesOfSources(const std::string& library) {
  std::set<std::string> files;
  try {
    for (const sass::EmbeddedCubin& cubin : sass::ReadGpuCode(library)) {
      const std::vector<std::string> named = sass::LineTable(cubin.bytes).Files();
      files.insert(named.begin(), named.end());
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): code that cannot be read names no source
  }
  std::map<std::string, std::string> hashes;
  const fs::path folder = fs::weakly_canonical(library).parent_path();
  for (const std::string& file : files) {
    const bool foreign = !file.starts_with('/') || file.starts_with("/usr/") || file.starts_with("/opt/");
    if (foreign || !IsSource(file)) continue;
    try {
      hashes.emplace(fs::weakly_canonical(file).lexically_relative(folder).string(), Sha256OfFile(file));
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): what cannot be read has no hash
    }
  }
  return hashes;
}

const std::string& PortableSink::NameOf(const std::string& file) {
  const auto [entry, is_new] = names_.try_emplace(file, file);
  if (!is_new || !file.starts_with('/')) return entry->second;
  entry->second = BelowWorkTree(file);
  if (!IsSource(file)) return entry->second;
  try {
    next_.Write(SourceHash{entry->second, Sha256OfFile(file)});
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): what cannot be read here is not shown elsewhere
  }
  return entry->second;
}

void PortableSink::Pass(Cubin cubin) {
  try {
    (void)sass::RewriteSourcePaths(cubin.bytes, BelowWorkTree);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): whoever reads its code says what is wrong with it
  }
  next_.Write(cubin);
}

void PortableSink::Pass(DeviceFunction function) {
  for (Instruction& instruction : function.instructions) {
    for (InlineFrame& frame : instruction.frames) frame.file = NameOf(frame.file);
  }
  next_.Write(function);
}

void PortableSink::Take(const RecordingPiece& piece) {
  std::visit(
      [this](const auto* each) {
        using Piece = std::remove_cvref_t<decltype(*each)>;
        if constexpr (std::is_same_v<Piece, Cubin> || std::is_same_v<Piece, DeviceFunction>) {
          Pass(*each);
        } else {
          next_.Write(*each);
        }
      },
      piece);
}

}  // namespace fa_profile::load
