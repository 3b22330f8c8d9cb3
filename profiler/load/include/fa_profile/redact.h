#pragma once

#include <cstddef>
#include <string>

#include "fa_profile/recording.h"

namespace fa_profile::load {

/// What a copy of a recording that is shared does not hold.
struct Redaction {
  bool code = false;    ///< machine code, and the samples and counts of its instructions
  std::string kernels;  ///< regular expression of the kernels whose code is meant; empty: all
  bool paths = false;   ///< folders of files, and the command line
  bool names = false;   ///< of kernels, functions, NVTX ranges and parts: they get numbers; and the GPU's UUID
  bool raw = false;     ///< raw counter data
};

/// How much was left out.
struct Redacted {
  std::size_t functions = 0;  ///< whose code is gone
  std::size_t cubins = 0;
  std::size_t names = 0;  ///< that became numbers
};

/// Leaves that out, and adds a DataLoss "redacted" for each kind of thing that a reader loses by it. A cubin holds
/// names and paths, so `paths` and `names` take all cubins; raw counter data holds names, so `names` takes it: ranges
/// then refer to none. Equal names get equal numbers. Throws Error: an invalid expression.
Redacted Redact(Recording& recording, const Redaction& redaction);

/// Writes a redacted copy of the recording `from` as `to`. Throws Error: `from` cannot be read or is of a run that was
/// killed; `to` exists and `overwrite` is false, or cannot be written.
Redacted RedactFile(const std::string& from, const std::string& to, const Redaction& redaction, bool overwrite);

}  // namespace fa_profile::load
