#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fa_profile/descriptor.h"

namespace fa_profile {

/// A temporary file under TMPDIR that has no name: it is gone when this object or the process ends, even by SIGKILL.
class NamelessFile {
 public:
  /// Throws Error when none can be made.
  NamelessFile();

  /// False, with errno, when it cannot.
  bool Append(std::string_view bytes) noexcept { return WriteAll(file_.get(), bytes); }
  /// Zeros, which take no space. False, with errno, when it cannot.
  bool AppendZeros(std::uint64_t bytes) noexcept;
  /// Opens the file again, from its start, in this process and its children, as long as this object lives.
  std::string path() const;

 private:
  Descriptor file_;
};

}  // namespace fa_profile
