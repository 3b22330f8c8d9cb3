#include "fa_profile/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "fa_profile/error.h"

namespace fa_profile::serve {

FolderLock::FolderLock(std::string folder, const char* what, const char* option)
    : folder_(std::move(folder)), path_(folder_ + "/exporter.lock"), what_(what), option_(option) {}

// Whether the locked file is the one that another exporter would find.
bool FolderLock::IsHeld() const {
  struct stat held {};
  struct stat found {};
  return file_ && fstat(file_.get(), &held) == 0 && lstat(path_.c_str(), &found) == 0 && held.st_dev == found.st_dev &&
         held.st_ino == found.st_ino;
}

void FolderLock::Hold() {
  const std::string place = std::string("the ") + what_ + " " + folder_;
  if (!IsHeld()) {
    file_ = Descriptor(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file_) {
      throw Error(
          place + " cannot be written to: " + path_ + ": " + std::strerror(errno),
          std::string("it must be a folder that this user can read and write; or give another one with ") + option_);
    }
    if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
      const int reason = errno;
      file_.Close();
      if (reason != EWOULDBLOCK) throw Error(place + " cannot be locked: " + path_ + ": " + std::strerror(reason));
      throw Error("another exporter uses " + place,
                  std::string("stop it, or give this one another folder with ") + option_);
    }
    if (!IsHeld()) throw Error(place + " was replaced while it was locked", "start again");
  }
  if (faccessat(AT_FDCWD, folder_.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    throw Error(place + " cannot be written to: " + std::strerror(errno),
                "it must be a folder that this user can read and write");
  }
}

}  // namespace fa_profile::serve
