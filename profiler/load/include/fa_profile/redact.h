#pragma once

#include <cstddef>
#include <string>

#include "fa_profile/recording.h"

namespace fa_profile::load {

/// What to leave out of a copy of a recording that is to be shared.
struct Redaction {
  bool code = false;         ///< machine code, and the samples and counts of its instructions
  std::string kernels;       ///< regular expression for the kernels whose code is meant; empty: all
  bool closed_code = false;  ///< `code` for functions of closed libraries: IsClosedCode()
  bool paths = false;        ///< absolute paths, and the command line
  bool names = false;        ///< names of kernels, functions, NVTX ranges and parts, which get numbers; and the GPU's
                             ///< UUID
  bool raw = false;          ///< raw counter data
};

/// How much was left out.
struct Redacted {
  std::size_t functions = 0;  ///< functions whose code is gone
  std::size_t cubins = 0;
  std::size_t names = 0;  ///< names that became numbers
};

/// Whether a function, by its name in the machine code, is known to belong to a library whose licence forbids passing
/// its code on: cuBLAS, cuDNN, and others by NVIDIA.
bool IsClosedCode(const std::string& function);

/// Leaves these out, and adds a DataLoss "redacted" for each kind of thing that a reader loses by it. Absolute paths
/// keep their last name, also in the line information of cubins; a cubin with other absolute paths is left out. Cubins
/// contain names, so `names` removes all cubins; so does raw counter data, which `names` also removes: no range then
/// refers to it. Equal names get equal numbers. Throws Error: an invalid expression.
Redacted Redact(Recording& recording, const Redaction& redaction);

/// Writes a redacted copy of the recording `from` to `to`. Throws Error: `from` cannot be read or comes from a killed
/// run; `to` exists and `overwrite` is false, or cannot be written.
Redacted RedactFile(const std::string& from, const std::string& to, const Redaction& redaction, bool overwrite);

}  // namespace fa_profile::load
