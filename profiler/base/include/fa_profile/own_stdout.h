#pragma once

#include <string_view>

#include "fa_profile/descriptor.h"

namespace fa_profile {

/// Keeps stdout for this program's own results while foreign code runs in this process: until the end of this object,
/// everything written to stdout goes to stderr. Child processes do not inherit the kept stdout.
class OwnStdout {
 public:
  /// Throws Error.
  OwnStdout();
  /// Restores stdout.
  ~OwnStdout();
  OwnStdout(const OwnStdout&) = delete;
  OwnStdout& operator=(const OwnStdout&) = delete;

  /// Writes to the kept stdout. Throws Error.
  void Write(std::string_view bytes) const;

 private:
  Descriptor kept_;
};

}  // namespace fa_profile
