#include "fa_profile/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "fa_profile/error.h"

namespace fa_profile::serve {
namespace {

namespace fs = std::filesystem;

struct Found {
  timespec changed;
  std::string name;
  std::uintmax_t bytes = 0;  // size on disk
};

bool Older(const Found& a, const Found& b) {
  return std::tie(a.changed.tv_sec, a.changed.tv_nsec, a.name) < std::tie(b.changed.tv_sec, b.changed.tv_nsec, b.name);
}

std::vector<std::string> Names(std::vector<Found> found) {
  std::ranges::sort(found, Older);
  std::vector<std::string> names;
  names.reserve(found.size());
  for (Found& file : found) names.push_back(std::move(file.name));
  return names;
}

std::string WhatItIs(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Spool::Spool(std::string folder, const SpoolLimits& limits)
    : folder_(std::move(folder)), limits_(limits), lock_(folder_, "spool", "--spool") {
  lock_.Hold();
}

Spool::Listing Spool::List() {
  std::error_code error;
  fs::directory_iterator entries(folder_, error);
  if (error) {
    throw Error("the spool " + folder_ + " cannot be read: " + error.message(),
                "it must be a folder that this user can read and write; the next collection tries again");
  }
  lock_.Hold();
  std::vector<Found> recordings;
  std::vector<Found> failures;
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (error) break;  // the next call lists the rest
    const std::string name = entries->path().filename().string();
    const bool recording = name.ends_with(".fap");
    if (!recording && !name.ends_with(".failure")) continue;  // such as a run's *.part
    struct stat status {};
    if (lstat(entries->path().c_str(), &status) != 0) continue;
    (recording ? recordings : failures).push_back({status.st_mtim, name});
  }
  return {Names(std::move(recordings)), Names(std::move(failures))};
}

Descriptor Spool::Open(const std::string& name) const {
  const std::string path = folder_ + "/" + name;
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw Error("it is " + WhatItIs(status.st_mode) + ", not a file");
  }
  // It may have changed between the two calls: a link is not followed, a FIFO is not waited for.
  Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) {
    const std::string reason = std::string("it cannot be opened: ") + std::strerror(errno);
    if (errno == ELOOP || errno == ENXIO) throw Error(reason);
    throw NotNow(reason);
  }
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) throw Error("it is not a file");
  if (static_cast<std::uintmax_t>(status.st_size) > limits_.most_bytes) {
    throw Error("it has " + std::to_string(status.st_size) + " bytes, more than the " +
                std::to_string(limits_.most_bytes) + " allowed (--max-recording-bytes)");
  }
  return file;
}

std::string Spool::Identity(const std::string& name) const {
  struct stat status {};
  if (lstat((folder_ + "/" + name).c_str(), &status) != 0) return {};
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
}

// Through descriptors: a link in the spool must not move or remove files elsewhere.
Descriptor Spool::OpenSubfolder(const std::string& subfolder) const {
  const Descriptor spool(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return Descriptor(openat(spool.get(), subfolder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

void Spool::MoveTo(const std::string& subfolder, const std::string& name) const {
  const Descriptor spool(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  (void)mkdirat(spool.get(), subfolder.c_str(), 0770);
  const Descriptor target = OpenSubfolder(subfolder);
  if (!target || renameat(spool.get(), name.c_str(), target.get(), name.c_str()) != 0) {
    throw Error(name + " cannot be moved to " + folder_ + "/" + subfolder + ": " + std::strerror(errno));
  }
}

void Spool::Prune() const {
  for (const std::string subfolder : {"done", "bad"}) {
    const Descriptor folder = OpenSubfolder(subfolder);
    DIR* const entries = folder ? fdopendir(dup(folder.get())) : nullptr;
    if (entries == nullptr) continue;
    std::vector<Found> files;
    while (const dirent* const entry = readdir(entries)) {
      const std::string name = entry->d_name;
      if (!name.ends_with(".fap") && !name.ends_with(".failure")) continue;
      struct stat status {};
      if (fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      files.push_back({status.st_ctim, name, static_cast<std::uintmax_t>(status.st_blocks) * 512});
    }
    closedir(entries);
    std::ranges::sort(files, [](const Found& a, const Found& b) { return Older(b, a); });
    int kept = 0;
    std::uintmax_t bytes = 0;
    for (const Found& file : files) {                             // newest first
      if (file.bytes <= limits_.keep_bytes) bytes += file.bytes;  // a larger one is removed by itself
      const bool fits = file.bytes <= limits_.keep_bytes && bytes <= limits_.keep_bytes;
      if (fits && ++kept <= limits_.keep) continue;
      // A folder with a recording's name is removed only if it is empty.
      if (unlinkat(folder.get(), file.name.c_str(), 0) == 0 ||
          unlinkat(folder.get(), file.name.c_str(), AT_REMOVEDIR) == 0) {
        spdlog::info("{}/{} is deleted: --keep {}, --keep-bytes {}", subfolder, file.name, limits_.keep,
                     limits_.keep_bytes);
      }
    }
  }
}

}  // namespace fa_profile::serve
