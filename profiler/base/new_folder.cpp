#include "fa_profile/new_folder.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "fa_profile/error.h"

namespace fa_profile {
namespace {

[[noreturn]] void CannotMake(const std::string& path, const std::string& why) {
  throw Error(path + " cannot be made: " + why, "give a new folder, or an empty one, in a folder that is writable");
}

}  // namespace

NewFolder::NewFolder(std::string path) : path_(std::move(path)) {
  namespace fs = std::filesystem;
  if (path_.find('\0') != std::string::npos) CannotMake(path_, "its name has a NUL in it");
  std::error_code code;
  fs::create_directories(path_, code);  // an existing folder is accepted
  if (code) CannotMake(path_, code.message());
  folder_ = Descriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) CannotMake(path_, std::strerror(errno));
  const bool empty = fs::is_empty(path_, code);
  if (code) CannotMake(path_, code.message());
  if (!empty) throw Error(path_ + " is not empty", "give a new folder, or an empty one: no file is written over");
}

void NewFolder::Write(const std::string& name, std::string_view content) const {
  const std::string path = path_ + "/" + name;
  const bool plain = !name.empty() && name != "." && name != ".." &&
                     name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  if (!plain) throw Error(path + " is not the name of a file in " + path_);
  constexpr int kNewAlone = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Descriptor file(openat(folder_.get(), name.c_str(), kNewAlone, 0666));
  if (!file || !WriteAll(file.get(), content)) {
    throw Error(path + " cannot be written: " + std::strerror(errno),
                "check that its folder is writable, and that the disk is not full");
  }
}

}  // namespace fa_profile
