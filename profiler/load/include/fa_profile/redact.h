#pragma once

#include <cstddef>
#include <string>

#include "fa_profile/recording.h"

namespace fa_profile::load {

/// What a copy of a recording that is shared does not hold.
struct Redaction {
  bool code = false;         ///< machine code, and the samples and counts of its instructions
  std::string kernels;       ///< regular expression of the kernels whose code is meant; empty: all
  bool closed_code = false;  ///< `code` of functions of closed libraries: IsClosedCode()
  bool paths = false;        ///< absolute paths, and the command line
  bool names = false;        ///< of kernels, functions, NVTX ranges and parts: they get numbers; and the GPU's UUID
  bool raw = false;          ///< raw counter data
};

/// How much was left out.
struct Redacted {
  std::size_t functions = 0;  ///< whose code is gone
  std::size_t cubins = 0;
  std::size_t names = 0;  ///< that became numbers
};

/// Whether a function, by its name in the machine code, is known to belong to a library whose licence forbids to pass
/// its code on: cuBLAS, cuDNN, and others of NVIDIA.
bool IsClosedCode(const std::string& function);

/// Leaves that out, and adds a DataLoss "redacted" for each kind of thing that a reader loses by it. Of an absolute
/// path the last name stays, in the line information of cubins too; a cubin that holds other absolute paths is left
/// out. A cubin holds names, so `names` takes all cubins; raw counter data holds names, so `names` takes it: ranges
/// then refer to none. Equal names get equal numbers. Throws Error: an invalid expression.
Redacted Redact(Recording& recording, const Redaction& redaction);

/// Writes a redacted copy of the recording `from` as `to`. Throws Error: `from` cannot be read or is of a run that was
/// killed; `to` exists and `overwrite` is false, or cannot be written.
Redacted RedactFile(const std::string& from, const std::string& to, const Redaction& redaction, bool overwrite);

}  // namespace fa_profile::load
