#include "fa_profile/new_folder.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/output_path.h"
#include "fa_profile/text.h"

namespace fa_profile {
namespace {

[[noreturn]] void CannotMake(const std::string& path, const std::string& why) {
  throw Error(path + " cannot be made: " + why, "give a new folder, or an empty one, in a folder that is writable");
}

/// The folder's absolute path. Throws Error: it holds something already.
std::filesystem::path RequireFree(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code gone;
  fs::path path = fs::absolute(folder, gone).lexically_normal();
  if (gone) {
    throw Error(Printable(folder) + " cannot be made: this folder was deleted", "change to an existing folder with cd");
  }
  if (!path.has_filename()) path = path.parent_path();
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(path, ignored);
  if (path.has_filename() && !fs::exists(status)) {
    CheckOutputPath(path.string());
    return path;
  }
  const bool is_free = fs::is_directory(status) && fs::is_empty(path, ignored) && path != fs::current_path(ignored);
  if (path.has_filename() && is_free) return path;
  throw Error(
      Printable(folder) + (fs::is_directory(status) ? " is not empty, or is in use" : " exists and is not a folder"),
      "name a folder that does not exist yet");
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

FolderBeside::FolderBeside(const std::string& wanted)
    : wanted_(RequireFree(wanted)), path_(wanted_.string() + ".XXXXXX") {
  if (mkdtemp(path_.data()) != nullptr) return;
  CannotMake(Printable(wanted_.string()), std::strerror(errno));
}

FolderBeside::~FolderBeside() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

void FolderBeside::PutInPlace() {
  using std::filesystem::perms;
  std::error_code error;
  std::filesystem::permissions(
      path_, perms::owner_all | perms::group_read | perms::group_exec | perms::others_read | perms::others_exec, error);
  std::filesystem::rename(path_, wanted_, error);  // over an empty folder, too
  if (error) CannotMake(Printable(wanted_.string()), error.message());
  path_.clear();
}

}  // namespace fa_profile
