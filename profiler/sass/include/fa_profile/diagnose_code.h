#pragma once

#include <string>

#include "fa_profile/diagnosis.h"

namespace fa_profile::sass {

/// Whether the GPU code in `file` (a cubin, object, library or program) carries line information (nvcc -lineinfo),
/// without which nothing can be attributed to source lines. Throws Error when the file cannot be read.
Diagnosis DiagnoseLineInfo(const std::string& file);

/// Whether FindNvdisasm() finds nvdisasm. Does not throw.
Diagnosis DiagnoseNvdisasm();

}  // namespace fa_profile::sass
