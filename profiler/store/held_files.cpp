#include "held_files.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <system_error>

namespace fa_profile::store {
namespace {

bool IsSame(int number, dev_t device, ino_t inode) {
  struct stat status {};
  return ::fstat(number, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

}  // namespace

void HeldFiles::Add(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string name = entry.path().filename().string();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number < 0 || !IsSame(number, status.st_dev, status.st_ino)) continue;
    files_.push_back({number, status.st_dev, status.st_ino});
    return;
  }
}

bool HeldFiles::Held() const {
  return std::ranges::all_of(files_, [](const File& file) { return IsSame(file.number, file.device, file.inode); });
}

}  // namespace fa_profile::store
