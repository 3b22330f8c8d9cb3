#include "fa_profile/nameless_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "fa_profile/error.h"

namespace fa_profile {

NamelessFile::NamelessFile() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (!error) file_ = Descriptor(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!error && !file_) {  // the file system does not support such files: the name is removed at once
    std::string name = (folder / "fa-profile-XXXXXX").string();
    file_ = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
    if (file_) (void)::unlink(name.c_str());
  }
  if (file_) return;
  const char* const given = std::getenv("TMPDIR");
  throw Error(std::string("cannot create a temporary file in ") + (given == nullptr ? "/tmp" : given) + ": " +
                  (error ? error.message() : std::strerror(errno)),
              "set TMPDIR to a writable folder");
}

bool NamelessFile::AppendZeros(std::uint64_t bytes) noexcept {
  return ::lseek(file_.get(), static_cast<off_t>(bytes), SEEK_CUR) >= 0;  // what follows makes them part of the file
}

std::string NamelessFile::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_.get());
}

}  // namespace fa_profile
