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

Spool::Spool(std::string folder, std::uintmax_t most_bytes, int keep)
    : folder_(std::move(folder)), most_bytes_(most_bytes), keep_(keep) {}

Spool::Listing Spool::List() const {
  std::error_code error;
  fs::directory_iterator entries(folder_, error);
  if (error) {
    throw Error("the spool " + folder_ + " cannot be read: " + error.message(),
                "it must be a folder that this user can read and write; the next collection tries again");
  }
  std::vector<Found> recordings;
  std::vector<Found> failures;
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (error) break;  // the next call lists the rest
    const std::string name = entries->path().filename().string();
    const bool recording = name.ends_with(".fap");
    if (!recording && !name.ends_with(".failure")) continue;  // such as *.part of a run
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
  if (static_cast<std::uintmax_t>(status.st_size) > most_bytes_) {
    throw Error("it has " + std::to_string(status.st_size) + " bytes, more than the " + std::to_string(most_bytes_) +
                " allowed (--max-recording-bytes)");
  }
  return file;
}

std::string Spool::Identity(const std::string& name) const {
  struct stat status {};
  if (lstat((folder_ + "/" + name).c_str(), &status) != 0) return {};
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
}

bool Spool::MoveTo(const std::string& subfolder, const std::string& name) const {
  // By descriptors: a link in the spool must not move or remove files elsewhere.
  const Descriptor spool(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  (void)mkdirat(spool.get(), subfolder.c_str(), 0770);
  const Descriptor target(openat(spool.get(), subfolder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (target.get() < 0 || renameat(spool.get(), name.c_str(), target.get(), name.c_str()) != 0) {
    spdlog::warn("{} cannot be moved to {}/{}: {}", name, folder_, subfolder, std::strerror(errno));
    return false;
  }
  Prune(target.get(), subfolder);
  return true;
}

void Spool::Prune(int folder, const std::string& name_of_folder) const {
  DIR* const entries = fdopendir(dup(folder));
  if (entries == nullptr) return;
  std::vector<Found> files;
  rewinddir(entries);
  while (const dirent* const entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (!name.ends_with(".fap") && !name.ends_with(".failure")) continue;
    struct stat status {};
    if (fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) files.push_back({status.st_ctim, name});
  }
  closedir(entries);
  if (files.size() <= static_cast<std::size_t>(keep_)) return;
  const std::vector<std::string> names = Names(std::move(files));
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep_) < names.size(); ++i) {
    // A folder with the name of a recording goes only when it is empty.
    if (unlinkat(folder, names[i].c_str(), 0) == 0 || unlinkat(folder, names[i].c_str(), AT_REMOVEDIR) == 0) {
      spdlog::info("{}/{} is deleted: --keep {}", name_of_folder, names[i], keep_);
    }
  }
}

}  // namespace fa_profile::serve
