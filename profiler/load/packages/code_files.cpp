#include "fa_profile/code_files.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <locale.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "fa_profile/descriptor.h"
#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/nameless_file.h"
#include "fa_profile/units.h"

namespace fa_profile::load {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunkBytes = std::size_t{1} << 16U;

std::string SizeText(std::uint64_t bytes) { return FormatValue(static_cast<double>(bytes), "bytes"); }

/// The path of an unpacked file means nothing to a user.
std::string WithoutPath(std::string text, const std::string& path) {
  if (const std::size_t at = text.find(path); at != std::string::npos) text.replace(at, path.size(), "it");
  return text;
}

/// The regular files below a folder. Folders that cannot be read are skipped.
std::vector<std::string> ListFiles(const std::string& package, const TakeSkippedFile& skip, int most_depth) {
  struct Folder {
    fs::path path;
    int depth = 0;
  };
  std::vector<std::string> files;
  std::vector<Folder> folders = {{package}};
  while (!folders.empty()) {
    const Folder folder = std::move(folders.back());
    folders.pop_back();
    const std::string name = folder.path.lexically_relative(package).string();
    std::error_code error;
    fs::directory_iterator entry(folder.path, error);
    if (error && folder.depth == 0) throw Error(package + ": " + error.message(), "give a folder that you may read");
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      std::error_code unknown;
      if (entry->is_symlink(unknown)) continue;
      if (entry->is_regular_file(unknown)) files.push_back(entry->path().string());
      if (!entry->is_directory(unknown)) continue;
      if (folder.depth < most_depth) {
        folders.push_back({entry->path(), folder.depth + 1});
      } else {
        skip(entry->path().lexically_relative(package).string(),
             fmt::format("it lies more than {} folders deep", most_depth));
      }
    }
    if (error) skip(name, "the folder cannot be read: " + error.message());
  }
  std::ranges::sort(files);  // an order that does not depend on the file system
  return files;
}

struct ArchiveDeleter {
  void operator()(archive* handle) const { archive_read_free(handle); }
};

/// The archive's file, as read by libarchive. Before the first header, for which libarchive reads the archive's whole
/// list of files, only a limited amount is handed over: the list is kept in memory.
struct Source {
  Descriptor file;
  std::string path;
  std::uint64_t left = 0;  // before the first header
  bool is_listed = false;
  std::array<char, kChunkBytes> buffer{};
};

la_ssize_t ReadSource(archive* handle, void* data, const void** bytes) {
  auto& source = *static_cast<Source*>(data);
  const ssize_t got = ::read(source.file.get(), source.buffer.data(), source.buffer.size());
  if (got < 0) {
    archive_set_error(handle, errno, "%s", std::strerror(errno));
    return ARCHIVE_FATAL;
  }
  if (!source.is_listed) {
    if (static_cast<std::uint64_t>(got) > source.left) {
      archive_set_error(handle, EFBIG, "its list of files is too large");
      return ARCHIVE_FATAL;
    }
    source.left -= static_cast<std::uint64_t>(got);
  }
  *bytes = source.buffer.data();
  return got;
}

la_int64_t SeekSource(archive* handle, void* data, la_int64_t offset, int whence) {
  auto& source = *static_cast<Source*>(data);
  const off_t at = ::lseek(source.file.get(), offset, whence);
  if (at >= 0) return at;
  archive_set_error(handle, errno, "%s", std::strerror(errno));
  return ARCHIVE_FATAL;
}

std::string WhyOf(archive* handle) {
  const char* const why = archive_error_string(handle);
  return why == nullptr ? "damaged" : why;
}

bool IsUnsafeName(std::string_view name) {
  if (name.empty() || name.starts_with('/') || name.find('\0') != std::string_view::npos) return true;
  const fs::path path(name);
  return std::ranges::any_of(path, [](const fs::path& part) { return part == ".."; });
}

/// libarchive gives no name at all for one that the locale cannot represent: this thread's is UTF-8 meanwhile.
class Utf8Names {
 public:
  Utf8Names() : utf8_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_ != nullptr) before_ = uselocale(utf8_);
  }
  ~Utf8Names() {
    if (utf8_ == nullptr) return;
    uselocale(before_);
    freelocale(utf8_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t utf8_;
  locale_t before_ = nullptr;
};

/// What to pass instead of a file that is not a zip archive.
std::string PackageCure(const std::string& path) {
  std::array<char, 64> head{};
  const Descriptor file = OpenFile(path);
  if (sass::BeginsLikeGpuCode({head.data(), ReadSome(file.get(), path, head)})) {
    return "read one file with: fa-profile lint " + path;
  }
  return "give a whole wheel (FILE.whl), or the folder of a Python package";
}

std::string_view Suffix(std::string_view bytes, std::size_t most) {
  return bytes.substr(bytes.size() - std::min(bytes.size(), most));
}

/// Whether a tar archive, or a compressed file, begins like this.
bool BeginsLikeStream(std::string_view bytes) {
  constexpr std::size_t kTarMagicOffset = 257;
  constexpr std::array<std::string_view, 4> kMagics = {"\x1f\x8b\x08",
                                                       std::string_view("\xfd"
                                                                        "7zXZ\0",
                                                                        6),
                                                       "BZh", "\x28\xb5\x2f\xfd"};
  return std::ranges::any_of(kMagics, [&](std::string_view magic) { return bytes.starts_with(magic); }) ||
         (bytes.size() > kTarMagicOffset && bytes.substr(kTarMagicOffset).starts_with("ustar"));
}

/// Whether a Debian package begins like this: an archive by ar, as static libraries are, with this first file.
bool BeginsLikeDebianPackage(std::string_view bytes) { return bytes.starts_with("!<arch>\ndebian-binary "); }

constexpr std::string_view kZipMagic = "PK\x03\x04";

enum class ArchiveKind {
  kNone,
  kWhole,     ///< all of the file
  kAppended,  ///< a zip archive after other content, as in a program that unpacks itself
};

ArchiveKind ArchiveKindOf(const std::string& path) {
  const Descriptor file = OpenFile(path);
  std::vector<char> bytes(512);
  const std::string_view head(bytes.data(), ReadSome(file.get(), path, bytes));
  if (head.starts_with(kZipMagic) || BeginsLikeStream(head) || BeginsLikeDebianPackage(head))
    return ArchiveKind::kWhole;
  constexpr off_t kMostEndBytes = 16384;  // in which libarchive looks for the end of a zip archive
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size < 0 || ::lseek(file.get(), std::max<off_t>(0, size - kMostEndBytes), SEEK_SET) < 0)
    return ArchiveKind::kNone;
  bytes.resize(kMostEndBytes);
  const std::string_view end(bytes.data(), ReadSome(file.get(), path, bytes));
  return end.find("PK\x05\x06") != std::string_view::npos ? ArchiveKind::kAppended : ArchiveKind::kNone;
}

/// Collects a file's content in a temporary file if it may hold GPU code, or is an archive. What comes before the first
/// sign of either is left out: zeros take its place.
class SuspectContent {
 public:
  /// False, with errno, if it cannot be written. Throws Error.
  bool Append(std::string_view bytes) {
    const bool is_first = !is_begun_;
    is_begun_ = true;
    if (file_) return file_->Append(bytes);
    const std::string edge = end_ + std::string(bytes.substr(0, kMarkBytes - 1));
    const bool is_suspect =
        HasMark(edge) || HasMark(bytes) || (is_first && (BeginsLikeStream(bytes) || sass::BeginsLikeGpuCode(bytes)));
    if (!is_suspect) {
      left_out_ += bytes.size();
      end_ = Suffix(end_ + std::string(Suffix(bytes, kMarkBytes - 1)), kMarkBytes - 1);
      return true;
    }
    file_.emplace();
    return file_->AppendZeros(left_out_ - end_.size()) && file_->Append(end_) && file_->Append(bytes);
  }

  std::optional<NamelessFile> Take() { return std::move(file_); }

 private:
  static constexpr std::size_t kMarkBytes = 4;
  static bool HasMark(std::string_view bytes) {
    constexpr std::array<std::string_view, 3> kMarks = {
        "\x7f"
        "ELF",
        "\x50\xed\x55\xba", kZipMagic};
    return std::ranges::any_of(kMarks,
                               [&](std::string_view mark) { return bytes.find(mark) != std::string_view::npos; });
  }

  bool is_begun_ = false;
  std::uint64_t left_out_ = 0;
  std::string end_;  // of what was left out: a mark may cross into the next bytes
  std::optional<NamelessFile> file_;
};

/// Reads a package's files, and the archives among them.
class PackageWalk {
 public:
  PackageWalk(const TakeCodeFile& take, const TakeSkippedFile& skip, const PackageLimits& limits)
      : take_(take),
        skip_(skip),
        limits_(limits),
        left_(limits.unpacked_bytes),
        entries_left_(limits.archive_entries) {}

  void ReadFolder(const std::string& package) {
    for (const std::string& file : ListFiles(package, skip_, limits_.folder_depth)) {
      const std::string name = fs::path(file).lexically_relative(package).string();
      std::error_code unknown;
      if (const auto bytes = fs::file_size(file, unknown); !unknown && bytes > limits_.file_bytes) {
        skip_(name, fmt::format("it has more than {}", SizeText(limits_.file_bytes)));
        continue;
      }
      ReadOne(name, file, 0);
    }
  }

  void ReadWheel(const std::string& path) {
    const Handle wheel = Open(path, /*zip_only=*/true);
    ReadEntries(wheel, "", "", 0);
  }

  /// `depth`: archives around it.
  void ReadOne(const std::string& name, const std::string& path, int depth) {
    try {
      const ArchiveKind kind = ArchiveKindOf(path);
      if (kind != ArchiveKind::kNone && depth >= limits_.archive_depth) {
        return skip_(name, fmt::format("it lies more than {} archives deep", limits_.archive_depth));
      }
      const bool is_read =
          kind != ArchiveKind::kNone && ReadArchive(name, path, kind == ArchiveKind::kWhole, depth + 1);
      if (is_read && kind == ArchiveKind::kWhole) return;
      if (sass::MayHoldGpuCode(path)) take_(name, path);
    } catch (const Error& error) {
      skip_(name, WithoutPath(error.message(), path));
    }
  }

 private:
  struct Handle {
    std::unique_ptr<Source> source = std::make_unique<Source>();
    std::unique_ptr<archive, ArchiveDeleter> reader{archive_read_new()};
    archive_entry* first = nullptr;  ///< its header was read; absent: it has none
  };

  /// Reads the first header. Throws Error.
  Handle Open(const std::string& path, bool zip_only) const {
    Handle handle;
    archive* const reader = handle.reader.get();
    handle.source->file = OpenFile(path);
    handle.source->path = path;
    handle.source->left = limits_.directory_bytes;
    archive_read_support_format_zip_seekable(reader);
    if (!zip_only) {
      archive_read_support_format_tar(reader);
      archive_read_support_format_ar(reader);
      archive_read_support_format_raw(reader);
      // Without the library libarchive would run a program.
      if (archive_zlib_version() != nullptr) archive_read_support_filter_gzip(reader);
      if (archive_liblzma_version() != nullptr) archive_read_support_filter_xz(reader);
      if (archive_bzlib_version() != nullptr) archive_read_support_filter_bzip2(reader);
      if (archive_libzstd_version() != nullptr) archive_read_support_filter_zstd(reader);
    }
    archive_read_set_callback_data(reader, handle.source.get());
    archive_read_set_read_callback(reader, ReadSource);
    archive_read_set_seek_callback(reader, SeekSource);
    if (archive_read_open1(reader) != ARCHIVE_OK) {
      throw Error(path + " is not a zip archive, or is cut off: " + WhyOf(reader), PackageCure(path));
    }
    const Utf8Names names;
    const int result = archive_read_next_header(reader, &handle.first);
    handle.source->is_listed = true;
    if (result == ARCHIVE_EOF) handle.first = nullptr;
    if (result < ARCHIVE_WARN) {
      throw Error(path + " cannot be read as a zip archive: " + WhyOf(reader), PackageCure(path));
    }
    return handle;
  }

  /// False if it is not an archive that can be opened: its bytes are searched. `is_whole`: it begins like one.
  bool ReadArchive(const std::string& name, const std::string& path, bool is_whole, int depth) {
    std::optional<Handle> handle;
    try {
      handle = Open(path, /*zip_only=*/false);
    } catch (const Error& error) {
      const bool is_other = error.message().find("Unrecognized archive format") != std::string::npos;  // or empty
      if (is_whole && !is_other) skip_(name, "it cannot be unpacked: " + WithoutPath(error.message(), path));
      return false;
    }
    const bool is_raw = archive_format(handle->reader.get()) == ARCHIVE_FORMAT_RAW;
    if (is_raw && archive_filter_count(handle->reader.get()) < 2) return false;  // not compressed
    ReadEntries(*handle, name + "/", is_raw ? fs::path(name).stem().string() : "", depth);
    return true;
  }

  /// `only`: the name of the only file in it, for a format without names.
  void ReadEntries(const Handle& handle, const std::string& prefix, const std::string& only, int depth) {
    const Utf8Names names;
    archive* const reader = handle.reader.get();
    int number = 0;
    for (archive_entry* entry = handle.first; entry != nullptr && !is_full_;) {
      const char* const raw = archive_entry_pathname(entry);
      ++number;
      const std::string name = !only.empty()    ? only
                               : raw == nullptr ? fmt::format("file {} of the archive, whose name is not UTF-8", number)
                                                : raw;
      if (archive_entry_filetype(entry) == AE_IFREG) ReadEntry(reader, entry, prefix, name, depth);
      const int result = archive_read_next_header(reader, &entry);
      if (result == ARCHIVE_EOF) return;
      if (result < ARCHIVE_WARN) {
        return skip_(WithoutSlash(prefix), "the rest of the archive cannot be read: " + WhyOf(reader));
      }
    }
  }

  static std::string WithoutSlash(const std::string& prefix) { return prefix.substr(0, prefix.find_last_of('/')); }

  void ReadEntry(archive* reader, archive_entry* entry, const std::string& prefix, const std::string& name, int depth) {
    if (entries_left_-- == 0) {
      is_full_ = true;
      return skip_(WithoutSlash(prefix), fmt::format("the archives have more than {} files, and the rest was not read",
                                                     limits_.archive_entries));
    }
    if (IsUnsafeName(name)) return skip_(prefix + name, "its name is empty, is an absolute path or has '..'");
    if (archive_entry_is_encrypted(entry) != 0) return skip_(prefix + name, "it is encrypted");
    if (const auto file = Unpack(reader, prefix + name)) ReadOne(prefix + name, file->path(), depth);
  }

  /// The file's content, if it may hold code or is an archive, and is not skipped.
  std::optional<NamelessFile> Unpack(archive* reader, const std::string& name) {
    std::vector<char> chunk(kChunkBytes);
    SuspectContent content;
    std::uint64_t size = 0;
    for (;;) {
      const la_ssize_t got = archive_read_data(reader, chunk.data(), chunk.size());
      if (got == 0) break;
      if (got < 0) {
        skip_(name, "it is damaged: " + WhyOf(reader));
        return std::nullopt;
      }
      const std::string_view bytes(chunk.data(), static_cast<std::size_t>(got));
      size += bytes.size();
      if (size > limits_.file_bytes) {
        skip_(name, fmt::format("it has more than {}", SizeText(limits_.file_bytes)));
        return std::nullopt;
      }
      if (bytes.size() > left_) {
        is_full_ = true;
        skip_(name, fmt::format("the package unpacks to more than {}, and the rest was not read",
                                SizeText(limits_.unpacked_bytes)));
        return std::nullopt;
      }
      left_ -= bytes.size();
      if (!content.Append(bytes)) {
        throw Error(fmt::format("{} cannot be unpacked into a temporary file: {}", name, std::strerror(errno)),
                    "set TMPDIR to a folder with more space");
      }
    }
    return content.Take();
  }

  const TakeCodeFile& take_;
  const TakeSkippedFile& skip_;
  const PackageLimits& limits_;
  std::uint64_t left_;
  std::uint64_t entries_left_;
  bool is_full_ = false;
};

}  // namespace

void ForEachCodeFile(const std::string& package, const TakeCodeFile& take, const TakeSkippedFile& skip,
                     const PackageLimits& limits) {
  PackageWalk walk(take, skip, limits);
  std::error_code error;
  fs::is_directory(package, error) ? walk.ReadFolder(package) : walk.ReadWheel(package);
}

bool MayBeArchive(const std::string& path) { return ArchiveKindOf(path) != ArchiveKind::kNone; }

void ForEachCodeInFile(const std::string& name, const std::string& path, const TakeCodeFile& take,
                       const TakeSkippedFile& skip, const PackageLimits& limits) {
  PackageWalk(take, skip, limits).ReadOne(name, path, 0);
}

}  // namespace fa_profile::load
