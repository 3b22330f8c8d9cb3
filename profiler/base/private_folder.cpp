#include "fa_profile/private_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "fa_profile/error.h"

namespace fa_profile {

PrivateFolder::PrivateFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) {
    const char* const given = std::getenv("TMPDIR");
    throw Error(std::string("cannot create a temporary folder in ") + (given == nullptr ? "/tmp" : given) + ": " +
                    error.message(),
                "set TMPDIR to a writable folder");
  }
  std::string name = (parent / "fa-profile-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error("mkdtemp", std::strerror(errno), "cannot create the temporary folder " + name,
                "set TMPDIR to a writable folder");
  }
  path_ = name;
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace fa_profile
