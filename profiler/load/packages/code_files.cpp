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

void TakeIfCode(const std::string& name, const std::string& path, const TakeCodeFile& take,
                const TakeSkippedFile& skip) {
  try {
    if (sass::MayHoldGpuCode(path)) take(name, path);
  } catch (const Error& error) {
    skip(name, WithoutPath(error.message(), path));
  }
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

void WalkFolder(const std::string& package, const TakeCodeFile& take, const TakeSkippedFile& skip,
                const PackageLimits& limits) {
  for (const std::string& file : ListFiles(package, skip, limits.folder_depth)) {
    const std::string name = fs::path(file).lexically_relative(package).string();
    std::error_code unknown;
    if (const auto bytes = fs::file_size(file, unknown); !unknown && bytes > limits.file_bytes) {
      skip(name, fmt::format("it has more than {}", SizeText(limits.file_bytes)));
      continue;
    }
    TakeIfCode(name, file, take, skip);
  }
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

class WheelReader {
 public:
  WheelReader(const std::string& path, const TakeCodeFile& take, const TakeSkippedFile& skip,
              const PackageLimits& limits)
      : take_(take), skip_(skip), limits_(limits), handle_(archive_read_new()), left_(limits.unpacked_bytes) {
    source_->file = OpenFile(path);
    source_->path = path;
    source_->left = limits.directory_bytes;
    archive_read_support_format_zip_seekable(handle_.get());
    archive_read_set_callback_data(handle_.get(), source_.get());
    archive_read_set_read_callback(handle_.get(), ReadSource);
    archive_read_set_seek_callback(handle_.get(), SeekSource);
    if (archive_read_open1(handle_.get()) != ARCHIVE_OK) {
      throw Error(path + " is not a zip archive, or is cut off: " + WhyOf(handle_.get()), PackageCure(path));
    }
  }

  void Read() {
    const Utf8Names names;
    archive_entry* entry = nullptr;
    for (bool first = true;; first = false) {
      const int result = archive_read_next_header(handle_.get(), &entry);
      source_->is_listed = true;
      if (result == ARCHIVE_EOF) return;
      if (result < ARCHIVE_WARN) {
        const std::string why = WhyOf(handle_.get());
        if (first) {
          throw Error(source_->path + " cannot be read as a zip archive: " + why, PackageCure(source_->path));
        }
        skip_("", "the rest of the archive cannot be read: " + why);
        return;
      }
      if (!ReadEntry(entry)) return;
    }
  }

 private:
  /// False if nothing more can be read.
  bool ReadEntry(archive_entry* entry) {
    if (archive_entry_filetype(entry) != AE_IFREG) return true;
    const char* const raw = archive_entry_pathname(entry);
    ++entries_;
    const std::string name =
        raw == nullptr ? fmt::format("file {} of the archive, whose name is not UTF-8", entries_) : raw;
    if (IsUnsafeName(name)) {
      skip_(name, "its name is empty, is an absolute path or has '..'");
      return true;
    }
    if (archive_entry_is_encrypted(entry) != 0) {
      skip_(name, "it is encrypted");
      return true;
    }
    if (const auto file = Unpack(name)) TakeIfCode(name, file->path(), take_, skip_);
    return !is_full_;
  }

  /// The file's content, if it begins like a file with code, and is not skipped.
  std::optional<NamelessFile> Unpack(const std::string& name) {
    std::vector<char> chunk(kChunkBytes);
    std::optional<NamelessFile> out;
    std::uint64_t size = 0;
    for (;;) {
      const la_ssize_t got = archive_read_data(handle_.get(), chunk.data(), chunk.size());
      if (got == 0) break;
      if (got < 0) {
        skip_(name, "it is damaged: " + WhyOf(handle_.get()));
        return std::nullopt;
      }
      const std::string_view bytes(chunk.data(), static_cast<std::size_t>(got));
      if (size == 0) {
        if (!sass::BeginsLikeGpuCode(bytes)) return std::nullopt;
        out.emplace();
      }
      size += bytes.size();
      if (size > limits_.file_bytes) {
        skip_(name, fmt::format("it has more than {}", SizeText(limits_.file_bytes)));
        return std::nullopt;
      }
      if (bytes.size() > left_) {
        is_full_ = true;
        skip_(name, fmt::format("the archive has more than {} of code, and the rest was not read",
                                SizeText(limits_.unpacked_bytes)));
        return std::nullopt;
      }
      left_ -= bytes.size();
      if (!out->Append(bytes)) {
        throw Error(fmt::format("{} cannot be unpacked into a temporary file: {}", name, std::strerror(errno)),
                    "set TMPDIR to a folder with more space");
      }
    }
    return out;
  }

  const TakeCodeFile& take_;
  const TakeSkippedFile& skip_;
  const PackageLimits& limits_;
  std::unique_ptr<Source> source_ = std::make_unique<Source>();
  std::unique_ptr<archive, ArchiveDeleter> handle_;
  std::uint64_t left_;
  bool is_full_ = false;
  int entries_ = 0;
};

}  // namespace

void ForEachCodeFile(const std::string& package, const TakeCodeFile& take, const TakeSkippedFile& skip,
                     const PackageLimits& limits) {
  std::error_code error;
  if (fs::is_directory(package, error)) {
    WalkFolder(package, take, skip, limits);
  } else {
    WheelReader(package, take, skip, limits).Read();
  }
}

}  // namespace fa_profile::load
